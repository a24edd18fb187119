use super::*;
use proptest::prelude::*;

const AXES: [(&str, Type); 5] = [
    ("block", Type::Int),
    ("n", Type::Int),
    ("dtype", Type::Word),
    ("tile", Type::Dims),
    ("zero", Type::Int),
];

fn axis<'v>(name: &str) -> Result<Option<Value<'v>>, ParseError> {
    Ok(Some(match name {
        "block" => Value::Int(256),
        "n" => Value::Int(1 << 20),
        "dtype" => Value::Word("f16"),
        "tile" => Value::Dims([16, 8, 1]),
        "zero" => Value::Int(0),
        _ => return Ok(None),
    }))
}

fn holds(text: &str) -> bool {
    let expression = Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    expression.check_condition(&AXES).unwrap_or_else(|e| panic!("{text}: {e}"));
    expression.holds(&axis).unwrap()
}

fn number(text: &str) -> i128 {
    let expression = Expression::parse(text).unwrap();
    assert_eq!(expression.check(&AXES), Ok(Type::Int), "{text}");
    match expression.evaluate(&axis).unwrap() {
        Value::Int(n) => n,
        other => panic!("{other:?}"),
    }
}

#[test]
fn arithmetic_is_that_of_rust() {
    assert_eq!(number("1 + 2 * 3 - 4"), 3);
    assert_eq!(number("10 - 4 - 3"), 3);
    assert_eq!(number("7 / 2 * 2 + 7 % 2"), 7);
    assert_eq!(number("(1 + 2) * -block"), -768);
    assert_eq!(number("1 << 10 + 2"), 1 << 12);
    assert_eq!(number("tile.x * tile.y + block.y"), 129);
    assert_eq!(number("2K + 1M"), 2048 + (1 << 20));
}

#[test]
fn conditions_bind_looser_than_comparisons() {
    assert!(holds("block >= 256 && n == 1M"));
    assert!(holds("block < 256 || dtype == f16"));
    assert!(holds("!(block < 256) && dtype != \"f32-acc\""));
    assert!(!holds("dtype == f32"));
    assert!(holds("f16 == dtype"));
    assert!(holds("tile == 16x8 && tile != 8x16"));
    assert!(holds("n < 1 << 21"));
    assert!(holds("zero == 0 || n / zero > 1"), "the second condition is not looked at");
}

#[test]
fn mistakes_have_their_place() {
    let error = |text: &str| {
        Expression::parse(text)
            .and_then(|e| e.check_condition(&AXES))
            .unwrap_err()
            .render("--filter", text)
            .replace("\n  --> --filter\n   |\n   | ", " @ ")
            .replace("\n   | ", " @ ")
            .replace("\n   = help: ", " ? ")
    };
    assert_eq!(
        error("blok >= 256"),
        "no axis is named `blok` @ blok >= 256 @ ^^^^ ? did you mean `block`?"
    );
    assert_eq!(
        error("block = 256"),
        "expected an operator @ block = 256 @       ^ ? equality is written =="
    );
    assert_eq!(
        error("block * 2"),
        "expected a condition, and this is a whole number @ block * 2 @ ^^^^^^^^^ ? compare it: block <= 256"
    );
    assert_eq!(
        error("1 < block < 3"),
        "comparisons do not chain @ 1 < block < 3 @ ^^^^^^^^^ ? join them: 64 <= block && block <= 256"
    );
    assert_eq!(
        error("tile <= 16"),
        "expected a whole number, and this is an extent @ tile <= 16 @ ^^^^ ? compare it with an extent, tile == 16x16, or a part of it: tile.x, .y or .z"
    );
    assert_eq!(
        error("16 == tile"),
        "a whole number is never equal to an extent @ 16 == tile @ ^^^^^^^^^^ ? compare it with an extent, tile == 16x16, or a part of it: tile.x, .y or .z"
    );
    assert_eq!(
        error("dtype == 16"),
        "a word is never equal to a whole number @ dtype == 16 @ ^^^^^^^^^^^"
    );
    assert_eq!(
        error("block == blocksize"),
        "no axis is named `blocksize` @ block == blocksize @          ^^^^^^^^^ ? the axes are \
         block, n, dtype, tile, zero"
    );
    assert!(error("block >=").starts_with("expected a number or an axis"));
    for nothing in ["", "  "] {
        assert!(error(nothing).starts_with("the expression is empty"));
        assert!(
            error(nothing).ends_with("? write a condition such as block >= 256, or leave it out")
        );
    }
    assert!(error("(block > 1").starts_with("expected `)`"));
    assert!(error("dtype == \"f16").starts_with("the quote is not closed"));
    assert!(error("dtype.x > 1").starts_with("`dtype` is a word: it has no extents"));
    assert!(error("tile.w > 1").starts_with("expected x, y or z"));
}

#[test]
fn an_undefined_value_is_an_error_at_its_position() {
    let error = |text: &str| match Expression::parse(text).unwrap().evaluate(&axis) {
        Err(error) => error,
        Ok(value) => panic!("{value:?}"),
    };
    assert_eq!(error("1 + n / zero"), ParseError::new("division by zero", 4..12));
    assert_eq!(error(" n % zero"), ParseError::new("division by zero", 0..8));
    assert_eq!(
        error("17179869183G * 17179869183G * 17179869183G").message,
        "the number is too large"
    );
    assert_eq!(error("1 << n").message, "the number is too large");
}

#[test]
fn deep_nesting_is_refused_and_names_are_listed() {
    assert!(Expression::parse(&"(".repeat(4000)).is_err());
    assert!(Expression::parse(&format!("{}1", "-".repeat(4000))).is_err());
    let names = Expression::parse("block * tile.x <= n && dtype == f16").unwrap();
    assert_eq!(names.names(), ["block", "tile", "n", "dtype", "f16"]);
}

/// Arithmetic text with its value, from a random tree.
fn tree() -> impl Strategy<Value = (String, Option<i128>)> {
    let leaf = (0_u32..50).prop_map(|n| (n.to_string(), Some(i128::from(n))));
    leaf.prop_recursive(5, 40, 2, |inner| {
        (inner.clone(), 0..5_usize, inner).prop_map(|((a, x), op, (b, y))| {
            let symbol = ["+", "-", "*", "/", "%"][op];
            let value = x.zip(y).and_then(|(x, y)| match op {
                0 => x.checked_add(y),
                1 => x.checked_sub(y),
                2 => x.checked_mul(y),
                3 => x.checked_div(y),
                _ => x.checked_rem(y),
            });
            (format!("({a} {symbol} {b})"), value)
        })
    })
}

proptest! {
    #[test]
    fn a_tree_evaluates_as_it_was_made((text, value) in tree()) {
        let expression = Expression::parse(&text).unwrap();
        match (expression.evaluate(&axis), value) {
            (Ok(found), Some(value)) => prop_assert_eq!(found, Value::Int(value)),
            (found, None) => prop_assert!(found.is_err()),
            (Err(error), Some(_)) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn no_text_panics_and_checked_expressions_evaluate_or_give_a_reason(text in "[a-z0-9 ()<>=!&|+*/%.\"-]{0,24}|(block|n|dtype|tile|zero|[0-9]{1,3}|==|<=|<|&&|\\|\\||!|\\(|\\)|\\+|-|\\*|/| ){0,12}") {
        match Expression::parse(&text) {
            Err(error) => prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len()),
            Ok(expression) => {
                let checked = expression.check(&AXES);
                if let Ok(ty) = checked {
                    match expression.evaluate(&axis) {
                        Ok(Value::Bool(_)) => prop_assert_eq!(ty, Type::Bool),
                        Ok(Value::Int(_)) => prop_assert_eq!(ty, Type::Int),
                        Ok(Value::Word(_)) => prop_assert_eq!(ty, Type::Word),
                        Ok(Value::Dims(_)) => prop_assert_eq!(ty, Type::Dims),
                        Err(error) => prop_assert!(error.message.contains("zero") || error.message.contains("large"), "{}", error),
                    }
                }
            }
        }
    }
}

/// The code that walks a chain recurses once per link.
#[test]
fn only_chains_that_would_overflow_the_stack_are_refused() {
    let chain = |operators: usize| format!("0 < 1{}", "+1".repeat(operators));
    let long = Expression::parse(&chain(1_500)).unwrap();
    assert_eq!(long.clone(), long);
    let refused = Expression::parse(&chain(30_000)).unwrap_err();
    assert_eq!(refused.message, "the expression has 60005 bytes, and 10000 is the most");
}
