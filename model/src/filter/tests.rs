use super::*;
use crate::axis::AxisValue;
use crate::configuration::Configuration;
use crate::expression::Type;
use crate::series::SeriesId;
use crate::text::ParseError;
use proptest::prelude::*;

const AXES: [(&str, Type); 2] = [("n", Type::Int), ("dtype", Type::Word)];

fn point(n: u64) -> Configuration {
    let word = AxisValue::Word("f16".into());
    Configuration(vec![("n".into(), AxisValue::Int(n)), ("dtype".into(), word)])
}

/// Both keys of the series with the full key `key`.
fn keys(key: &str) -> [String; 2] {
    let mut names = key.splitn(3, "::");
    let [package, target, kernel] = [(); 3].map(|()| names.next().unwrap());
    SeriesId::new(package, target, kernel).keys()
}

fn takes(filters: &Filters, series: &str, n: u64) -> bool {
    filters.take(&keys(series), &AXES, &point(n)).unwrap()
}

fn expression(text: &str) -> FilterExpression {
    text.parse().unwrap_or_else(|e: ParseError| panic!("{}", e.render("-E", text)))
}

fn holds(text: &str, series: &str, n: u64) -> bool {
    let filters = Filters { expressions: vec![expression(text)], ..Filters::default() };
    takes(&filters, series, n)
}

#[test]
fn a_pattern_matches_from_the_start_of_a_name() {
    let matches = |pattern: &str| pattern.parse::<Pattern>().unwrap().matches("lab::gpu::kmeans");
    for pattern in ["kmeans", "kme*", "gpu::kmeans", "lab::*", "lab::gpu::k?eans", "*", "*means"] {
        assert!(matches(pattern), "{pattern}");
    }
    for pattern in ["means", "kmean", "kmeans?", "gpu", "gp?::k", "KMEANS", "ab::*"] {
        assert!(!matches(pattern), "{pattern}");
    }
    let wide = |pattern: &str| pattern.parse::<Pattern>().unwrap().matches("a::b::größe_ab_ab");
    assert!(wide("gr??e*ab") && !wide("gr?e*") && wide("*ab_ab"));
}

#[test]
fn expressions_are_those_of_nextest() {
    for text in [
        "series(kme*) & !axis(n > 1M)",
        "series(kme*) and not axis(n > 1M)",
        "series(kme*) - axis(n > 1M)",
        "series( kmeans ) && !(axis(n > 1M) || none())",
        "none() | series(kmeans) & axis(n <= 1M && dtype == f16)",
        "none() + all() - series(scan)",
        "not(series(scan)) or none()",
    ] {
        assert!(holds(text, "p::t::kmeans", 1 << 20), "{text}");
        assert!(!holds(text, "p::t::scan", 1 << 20), "{text}");
    }
    assert!(!holds("series(kme*) & !axis(n > 1M)", "p::t::kmeans", 1 << 21));
    // `&` binds tighter than `|`.
    assert!(holds("all() | all() & none()", "p::t::a", 1));
    // A series without the axis meets no condition on it.
    assert!(!holds("axis(tile == 16x16)", "p::t::a", 1) && holds("!axis(m > 1)", "p::t::a", 1));
}

#[test]
fn several_expressions_are_a_union_and_texts_narrow_it() {
    let filters = Filters {
        expressions: vec![expression("series(a)"), expression("axis(n == 1)")],
        ..Filters::of_texts(["t::"])
    };
    assert!(takes(&filters, "p::t::a", 2) && takes(&filters, "p::t::b", 1));
    assert!(!takes(&filters, "p::t::b", 2) && !takes(&filters, "p::u::a", 1));
    let without = Filters { excluded: vec!["a".parse().unwrap()], ..filters };
    assert!(!takes(&without, "p::t::a", 1) && takes(&without, "p::t::b", 1));
}

#[test]
fn texts_are_parts_of_keys_or_patterns_or_with_exact_whole_names() {
    let of = |text: &str, exact: bool| Filters { exact, ..Filters::of_texts([text]) };
    let taken = |text: &str, exact: bool| {
        ["p::t::kmeans", "p::t::kmeans_step"].map(|series| takes(&of(text, exact), series, 1))
    };
    assert_eq!(taken("means", false), [true, true]);
    assert_eq!(taken("kme*s", false), [true, false]);
    assert_eq!(taken("kmeans/n=?,*", false), [true, false]);
    assert_eq!(taken("means*", false), [false, false]);
    for name in ["kmeans", "t::kmeans", "p::t::kmeans", "p::kmeans", "kmeans/n=1,dtype=f16"] {
        assert_eq!(taken(name, true), [true, false], "{name}");
    }
    assert_eq!(taken("kme*", true), [false, false]);
}

#[test]
fn every_filter_takes_a_series_by_its_key_with_the_target_and_without() {
    for key in ["p::kmeans", "p::t::kmeans"] {
        let points = [key.to_owned(), format!("{key}/n=1,dtype=f16")];
        for text in points.iter().flat_map(|key| [key.clone(), key.replace("means", "m?ans")]) {
            assert!(takes(&Filters::of_texts([&text]), "p::t::kmeans", 1), "{text}");
        }
        for text in points {
            let exact = Filters { exact: true, ..Filters::of_texts([&text]) };
            assert!(takes(&exact, "p::t::kmeans", 1), "{text}");
            assert!(!takes(&exact, "p::t::kmeans_step", 1), "{text}");
        }
        assert!(holds(&format!("series({key})"), "p::t::kmeans", 1));
        assert!(!holds(&format!("!series({key})"), "p::t::kmeans", 1));
        let without = Filters { excluded: vec![key.parse().unwrap()], ..Filters::default() };
        assert!(!takes(&without, "p::t::kmeans", 1) && takes(&without, "p::t::k", 1));
    }
    assert!(!takes(&Filters::of_texts(["p::u::kmeans"]), "p::t::kmeans", 1));
}

#[test]
fn a_filter_is_decided_by_the_known_part_of_a_subject() {
    let select = |text: &str, series: Option<&str>| {
        let series = series.map(keys);
        let series = series.as_ref().map(|keys| &keys[..]);
        expression(text).holds(Subject { series, ..Subject::default() }).unwrap()
    };
    for text in ["none()", "series(a) & none()", "all() - all()", "!(axis(n > 1) | all())"] {
        assert_eq!(select(text, None), Some(false), "{text}");
    }
    assert_eq!(select("series(a) & axis(n > 1)", Some("p::t::b")), Some(false));
    assert_eq!(select("series(a) & axis(n > 1)", Some("p::t::a")), None);
    assert!(Filters::of_texts(["t::a"]).take_whole(&keys("p::t::a")));
    assert!(!Filters::of_texts(["n=1"]).take_whole(&keys("p::t::a")));
}

#[test]
fn mistakes_have_their_place() {
    let error = |text: &str| {
        let axes: [Vec<(&str, Type)>; 2] = [AXES.to_vec(), vec![("block", Type::Int)]];
        let parsed = text.parse::<FilterExpression>().and_then(|parsed| parsed.check(&axes));
        let rendered = parsed.unwrap_err().render("-E", text);
        let rendered = rendered.replace("\n  --> -E\n   |\n   | ", " @ ");
        rendered.replace("\n   | ", " @ ").replace("\n   = help: ", " ? ")
    };
    assert_eq!(
        error("serie(a)"),
        "no function is named `serie` @ serie(a) @ ^^^^^ ? did you mean `series`?"
    );
    assert_eq!(
        error("all() & test(a)"),
        format!(
            "no function is named `test` @ all() & test(a) @         ^^^^ ? {}",
            "the functions \
             are series(PATTERN), axis(CONDITION), all() and none()"
        )
    );
    assert_eq!(
        error("series(a) & axis( blok > 64)"),
        "no axis is named `blok` @ series(a) & axis( blok > 64) @                   ^^^^ ? did you \
         mean `block`?"
    );
    assert!(error("axis(n > 1 && block > 1)").starts_with("no series has all of these axes"));
    assert!(error("axis(n > 1Q)").contains(" @          ^^"), "{}", error("axis(n > 1Q)"));
    assert_eq!(
        error("axis(n = 1)"),
        "expected an operator @ axis(n = 1) @        ^ ? equality is written =="
    );
    assert!(error("axis(n)").starts_with("expected a condition, and this is a whole number"));
    assert_eq!(
        error("series(~ab)"),
        "no name has a `~` @ series(~ab) @        ^ ? *text* matches every name that contains text"
    );
    assert!(error("series()").starts_with("the pattern is empty"));
    assert!(error("series(a").starts_with("expected `)`"));
    assert!(error("series(a) series(b)").starts_with("expected an operator"));
    assert!(error("series(a) == all()").starts_with("sets are not compared"));
    assert!(error("n > 1").starts_with("no function is named `n`"));
    assert!(error(" ").starts_with("the expression is empty"));
    assert!(error("axis").starts_with("expected `(` after `axis`"));
    assert!(error(&"!".repeat(4000)).contains("nested too deeply"));
    assert!(error(&"(".repeat(4000)).contains("nested too deeply"));
}

#[test]
fn a_condition_of_another_type_is_an_error_where_it_decides() {
    let axes = [("n", Type::Dims), ("dtype", Type::Word)];
    let select = |text: &str| {
        let series = keys("p::t::a");
        let subject = Subject { series: Some(&series), axes: Some(&axes), configuration: None };
        expression(text).holds(subject).map_err(|e| text[e.span].to_owned())
    };
    for text in ["axis(n > 1)", "!axis(dtype == f16 && n > 1)", "axis(n > 1) | series(b)"] {
        assert_eq!(select(text), Err("n".to_owned()), "{text}");
    }
    assert_eq!(select("axis(n == 16)"), Err("n == 16".to_owned()));
    assert_eq!(select("axis(n > 1) & series(b)"), Ok(Some(false)));
    assert_eq!(select("axis(n > 1) | series(a)"), Ok(Some(true)));
    assert_eq!(select("axis(m > 1 && n > 1)"), Ok(Some(false)));
    assert_eq!(select("axis(n.x > 1 && dtype == f16)"), Ok(None));
}

#[test]
fn a_condition_without_a_value_is_an_error_with_its_place() {
    let text = "all() & axis(1 / (n - 1) > 0)";
    let filters = Filters { expressions: vec![expression(text)], ..Filters::default() };
    let error = filters.take(&keys("p::t::a"), &AXES, &point(1)).unwrap_err();
    assert_eq!((error.message.as_str(), &text[error.span]), ("division by zero", "1 / (n - 1)"));
}

#[test]
fn filters_survive_their_stored_form_and_read_the_old_one() {
    let filters = Filters {
        expressions: vec![expression("series(a)")],
        excluded: vec!["b*".parse().unwrap()],
        ..Filters::of_texts(["t::"])
    };
    let text = serde_json::to_string(&filters).unwrap();
    assert_eq!(serde_json::from_str::<Filters>(&text).unwrap(), filters);
    let older: Filters = serde_json::from_str(r#"{"filters":["t::"],"exact":true}"#).unwrap();
    assert_eq!(older, Filters { exact: true, ..Filters::of_texts(["t::"]) });
}

proptest! {
    #[test]
    fn no_text_panics_and_every_error_has_a_place_in_it(
        text in "(series|axis|all|none|\\(|\\)|&|\\||!|-|\\+|and|or|not|n|>|1|k\\*|ü| ){0,14}"
    ) {
        if let Err(error) = text.parse::<FilterExpression>().and_then(|parsed| parsed.check(&[])) {
            prop_assert!(text.get(error.span.clone()).is_some(), "{error:?}");
        }
    }

    #[test]
    fn a_pattern_agrees_with_the_plain_definition(pattern in "[ab*?]{0,6}", text in "[ab]{0,8}") {
        fn plain(pattern: &[u8], text: &[u8]) -> bool {
            match (pattern.split_first(), text.split_first()) {
                (None, rest) => rest.is_none(),
                (Some((b'*', rest)), _) => (0..=text.len()).any(|at| plain(rest, &text[at..])),
                (Some(_), None) => false,
                (Some((&c, rest)), Some((&own, more))) => {
                    (c == b'?' || c == own) && plain(rest, more)
                }
            }
        }
        if let Ok(parsed) = pattern.parse::<Pattern>() {
            prop_assert_eq!(parsed.matches(&text), plain(pattern.as_bytes(), text.as_bytes()));
        }
    }
}
