use super::*;
use proptest::prelude::*;

fn ints(text: &str) -> Vec<u64> {
    Axis::from_values_text("n", text)
        .unwrap()
        .values
        .into_iter()
        .map(|v| match v {
            AxisValue::Int(n) => n,
            other => panic!("{other} is no number"),
        })
        .collect()
}

fn error(text: &str) -> String {
    Axis::parse(text).unwrap_err().render("--series", text)
}

#[test]
fn a_range_doubles_and_holds_both_ends() {
    assert_eq!(ints("64..1024"), [64, 128, 256, 512, 1024]);
    assert_eq!(ints("64..64"), [64]);
    assert_eq!(ints("64..1024 * 4"), [64, 256, 1024]);
    assert_eq!(ints("64..160 step 32"), [64, 96, 128, 160]);
    assert_eq!(ints("[1 << 20, 1<<24]"), [1 << 20, 1 << 24]);
    assert_eq!(ints("1K,16M,1G,1_000"), [1 << 10, 16 << 20, 1 << 30, 1000]);
    assert_eq!(ints("[64, 96,]"), [64, 96]);
}

#[test]
fn extents_and_words_are_values_too() {
    let axis = Axis::parse("block=16x16, 32x8x2").unwrap();
    assert_eq!(axis.values, [AxisValue::Dims([16, 16, 1]), AxisValue::Dims([32, 8, 2])]);
    assert_eq!(axis.values[1].to_string(), "32x8x2");
    assert_eq!(Axis::parse("dtype=f32,f16").unwrap().kind(), AxisKind::Word);
}

#[test]
fn a_descending_range_says_how_to_turn_it_round() {
    assert_eq!(
        error("block=1024..64"),
        "the range 1024..64 is empty: it runs downwards\n  --> --series\n   |\n   | block=1024..64\n   \
         |       ^^^^^^^^\n   = help: write 64..=1024"
    );
}

#[test]
fn a_range_that_misses_its_end_is_refused() {
    assert!(error("block=64..1000").contains("the last value below it is 512"));
    assert!(error("n=1..10 step 4").contains("the last value below it is 9"));
}

#[test]
fn zero_is_refused_for_launch_parameters() {
    assert!(error("block=0,64").contains("`block` cannot be 0"));
    assert!(error("block=0..64").contains("stays 0"));
    assert!(error("block=16x0").contains("every extent must be at least 1"));
    assert_eq!(ints("0..4 step 2"), [0, 2, 4]);
    assert_eq!(ints("0..=4 step 2"), [0, 2, 4]);
    assert_eq!(ints("64..=256"), ints("64..256"));
    assert_eq!(ints("[4..=64 * 4]"), [4, 16, 64]);
    assert!(Axis::parse("shared=0,1K").is_ok());
}

#[test]
fn mistakes_are_named_at_their_place() {
    for (text, message) in [
        ("block", "expected `=`"),
        ("=64", "expected an axis name"),
        ("block=", "expected values"),
        ("block=64..=", "expected a value"),
        ("block=64..==128", "expected a value"),
        ("block=64..=100", "never reaches its end 100"),
        ("block=64 128", "unexpected `128`"),
        ("block=64,f32", "mixes whole numbers with words"),
        ("block=64,64", "the value 64 twice"),
        ("block=f32", "cannot be the word"),
        ("block=64..128 step 0", "a step of 0"),
        ("block=64..128 * 1", "a factor of 1"),
        ("block=12q", "`12q` is not a whole number"),
        ("n=512.5", "`512.5` is not a whole number"),
        ("n=[1, 2.25K]", "`2.25K` is not a whole number"),
        ("n=-5", "cannot be negative"),
        ("n=1 << 64", "does not fit in 64 bits"),
        ("n=99999999999G", "does not fit in 64 bits"),
        ("n=16x16..32x32", "whole numbers at both ends"),
        ("block=5000000000", "above the 32 bits"),
    ] {
        assert!(error(text).contains(message), "{text}: {}", error(text));
    }
}

proptest! {
    #[test]
    fn no_text_panics_and_spans_stay_inside(text in "[ -~µ]{0,24}") {
        if let Err(error) = Axis::parse(&text) {
            prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
            error.render("x", &text);
        }
    }

    #[test]
    fn values_survive_their_text(values in proptest::collection::hash_set(0_u64..1 << 40, 1..8)) {
        let text = values.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let axis = Axis::from_values_text("n", &text).unwrap();
        let json = serde_json::to_string(&axis).unwrap();
        prop_assert_eq!(serde_json::from_str::<Axis>(&json).unwrap(), axis);
    }
}
