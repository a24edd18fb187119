//! Formulas of derived metrics: `+ - * /`, parentheses, `max(a, b)`, `min(a, b)`, `floor(a)`,
//! `ceil(a)`, numbers and metric names; and of several operands `largest(a, b, …)` and
//! `next_largest(a, b, …)`, their places from 1 on, `second(a, b, …)`, the value of the second
//! largest, and `either(a, b, …)`, the first that has a value.
//!
//! Input: text such as `bytes / duration * 1e9` and a look-up of values. Output: a number, or
//! why there is none: an operand is not there, a division by zero, or a part that is more than the
//! whole it is divided by.

use std::ops::Range;

use super::share::{are_parts, part_of};
use crate::quantity::parse_number;
use crate::text::{Cursor, ParseError, of_fair_length};

/// A parsed formula, and the text that it was parsed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    text: String,
    root: Node,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(f64),
    Metric(String),
    Binary(Operator, Box<Node>, Box<Node>),
    Rounded(Rounding, Box<Node>),
    Ranked(Ranked, Vec<Node>),
    Either(Vec<Node>),
}

/// Which whole number a value becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// The next one below.
    Floor,
    /// The next one above.
    Ceil,
}

impl Rounding {
    const ALL: [(&str, Self); 2] = [("floor", Self::Floor), ("ceil", Self::Ceil)];
}

/// The result of ranking several operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ranked {
    /// The place of the largest.
    Largest,
    /// The place of the one after it.
    NextLargest,
    /// The value of the one after it.
    Second,
}

impl Ranked {
    const ALL: [(&str, Self); 3] =
        [("largest", Self::Largest), ("next_largest", Self::NextLargest), ("second", Self::Second)];

    /// Of at least two values; of equals the first counts as the larger.
    fn of(self, values: &[f64]) -> f64 {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        #[expect(clippy::cast_precision_loss, reason = "a few operands")]
        let place = |at: usize| (at + 1) as f64;
        match self {
            Self::Largest => place(order[0]),
            Self::NextLargest => place(order[1]),
            Self::Second => values[order[1]],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Max,
    Min,
}

/// Why a formula has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undefined {
    /// This operand has no value.
    Operand(String),
    /// A divisor made of these metrics is zero.
    DivisionByZero(Vec<String>),
    /// A share of the counts of the second metrics that the first ones are parts of, is above 1.
    MoreThanWhole(Vec<String>, Vec<String>),
}

impl Formula {
    /// Parses a formula.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        of_fair_length(text)?;
        let mut cursor = Cursor::new(text);
        let root = sum(&mut cursor, 0)?;
        if cursor.at_end() {
            return Ok(Self { text: text.to_owned(), root });
        }
        Err(ParseError::new("expected an operator (+ - * /)", cursor.next_span()))
    }

    /// Parses the formula at `cursor`, up to the first character that belongs to no formula.
    ///
    /// # Errors
    /// The place that does not follow the grammar.
    pub(super) fn take(cursor: &mut Cursor<'_>) -> Result<Self, ParseError> {
        let before = cursor.rest();
        let root = sum(cursor, 0)?;
        let text = before[..before.len() - cursor.rest().len()].trim().to_owned();
        Ok(Self { text, root })
    }

    /// The text that it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The metric that the formula is a positive multiple of.
    pub fn multiple_of(&self) -> Option<&str> {
        match unscaled(&self.root) {
            Node::Metric(name) => Some(name),
            _ => None,
        }
    }

    /// The metrics it is made of, in order of appearance.
    pub fn names(&self) -> Vec<&str> {
        let mut out = Vec::new();
        names_in(&self.root, &mut out);
        out
    }

    /// Evaluates it; `value` looks a metric up.
    ///
    /// # Errors
    /// An operand without a value, or a division by zero.
    pub fn evaluate(&self, value: impl Fn(&str) -> Option<f64>) -> Result<f64, Undefined> {
        fn walk(node: &Node, value: &dyn Fn(&str) -> Option<f64>) -> Result<f64, Undefined> {
            Ok(match node {
                Node::Number(n) => *n,
                Node::Metric(name) => {
                    value(name).ok_or_else(|| Undefined::Operand(name.clone()))?
                }
                Node::Binary(op, a, b) => {
                    let (left, right) = (walk(a, value)?, walk(b, value)?);
                    match op {
                        Operator::Add => left + right,
                        Operator::Subtract => left - right,
                        Operator::Multiply => left * right,
                        Operator::Max => left.max(right),
                        Operator::Min => left.min(right),
                        Operator::Divide if right == 0.0 => {
                            let mut names = Vec::new();
                            names_in(b, &mut names);
                            return Err(Undefined::DivisionByZero(owned(&names)));
                        }
                        Operator::Divide => left * possible(a, b, value)? / right,
                    }
                }
                Node::Rounded(rounding, inner) => {
                    let inner = walk(inner, value)?;
                    match rounding {
                        Rounding::Floor => inner.floor(),
                        Rounding::Ceil => inner.ceil(),
                    }
                }
                Node::Ranked(ranked, operands) => {
                    let values: Result<Vec<f64>, _> =
                        operands.iter().map(|operand| walk(operand, value)).collect();
                    ranked.of(&values?)
                }
                Node::Either(operands) => {
                    let mut values = operands.iter().map(|operand| walk(operand, value));
                    let first = values.next().unwrap_or(Ok(f64::NAN));
                    values.fold(first, |found, next| found.or(next))?
                }
            })
        }
        walk(&self.root, &value)
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The counters of a share: those of `part`, a positive multiple of a sum, and those of `whole`, a
/// sum, if the first count parts of the second.
fn counted<'n>(part: &'n Node, whole: &'n Node) -> Option<(Vec<&'n str>, Vec<&'n str>)> {
    let (parts, wholes) = (added(unscaled(part))?, added(whole)?);
    are_parts(&parts, &wholes).then_some((parts, wholes))
}

/// How much of `part` there can be of `whole`: 1 unless it is a share that two passes of a kernel
/// counted.
fn possible(
    part: &Node,
    whole: &Node,
    value: &dyn Fn(&str) -> Option<f64>,
) -> Result<f64, Undefined> {
    let Some((parts, wholes)) = counted(part, whole) else { return Ok(1.0) };
    let all = |names: &[&str]| names.iter().filter_map(|name| value(name)).sum::<f64>();
    let (part, whole) = (all(&parts), all(&wholes));
    match part_of(part, whole) {
        Some(possible) if possible < part => Ok(possible / part),
        Some(_) => Ok(1.0),
        None => Err(Undefined::MoreThanWhole(owned(&parts), owned(&wholes))),
    }
}

/// What is multiplied or divided by a positive number, without that number.
fn unscaled(node: &Node) -> &Node {
    let positive = |node: &Node| matches!(node, Node::Number(n) if *n > 0.0);
    match node {
        Node::Binary(Operator::Multiply, a, b) if positive(a) => unscaled(b),
        Node::Binary(Operator::Multiply | Operator::Divide, a, b) if positive(b) => unscaled(a),
        _ => node,
    }
}

/// The metrics of a sum of nothing else.
fn added(node: &Node) -> Option<Vec<&str>> {
    match node {
        Node::Metric(name) => Some(vec![name]),
        Node::Binary(Operator::Add, a, b) => {
            let (mut left, right) = (added(a)?, added(b)?);
            left.extend(right);
            Some(left)
        }
        _ => None,
    }
}

fn names_in<'n>(node: &'n Node, out: &mut Vec<&'n str>) {
    match node {
        Node::Number(_) => {}
        Node::Metric(name) => out.push(name),
        Node::Binary(_, a, b) => {
            names_in(a, out);
            names_in(b, out);
        }
        Node::Rounded(_, inner) => names_in(inner, out),
        Node::Ranked(_, operands) | Node::Either(operands) => {
            operands.iter().for_each(|operand| names_in(operand, out));
        }
    }
}

const MAX_DEPTH: usize = 64;

fn sum(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node, ParseError> {
    let mut left = product(cursor, depth)?;
    loop {
        let op = if cursor.eat("+") {
            Operator::Add
        } else if cursor.eat("-") {
            Operator::Subtract
        } else {
            return Ok(left);
        };
        left = Node::Binary(op, Box::new(left), Box::new(product(cursor, depth)?));
    }
}

fn product(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node, ParseError> {
    let mut left = atom(cursor, depth)?;
    loop {
        let op = if cursor.eat("*") {
            Operator::Multiply
        } else if cursor.eat("/") {
            Operator::Divide
        } else {
            return Ok(left);
        };
        left = Node::Binary(op, Box::new(left), Box::new(atom(cursor, depth)?));
    }
}

fn atom(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node, ParseError> {
    if depth > MAX_DEPTH {
        return Err(ParseError::new("parentheses are nested too deeply", cursor.next_span()));
    }
    if cursor.eat("(") {
        let inner = sum(cursor, depth + 1)?;
        if cursor.eat(")") {
            return Ok(inner);
        }
        return Err(ParseError::new("expected `)`", cursor.next_span()));
    }
    let (word, span) = cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    match word.chars().next() {
        None => Err(ParseError::new("expected a number or a metric", cursor.next_span())),
        Some(c) if c.is_ascii_digit() => number(cursor, word, span).map(Node::Number),
        Some(_) => function(cursor, word, depth),
    }
}

/// The function `word`, if its operands follow, or else the metric of that name.
fn function(cursor: &mut Cursor<'_>, word: &str, depth: usize) -> Result<Node, ParseError> {
    const TWO: [(&str, Operator); 2] = [("max", Operator::Max), ("min", Operator::Min)];
    let two = TWO.into_iter().find(|(name, _)| *name == word);
    let rounding = Rounding::ALL.into_iter().find(|(name, _)| *name == word);
    let ranked = Ranked::ALL.into_iter().find(|(name, _)| *name == word);
    let either = word == "either";
    let known = two.is_some() || rounding.is_some() || ranked.is_some() || either;
    if !known || !cursor.eat("(") {
        return Ok(Node::Metric(word.to_owned()));
    }
    if let Some((_, ranked)) = ranked {
        return operands(cursor, depth).map(|all| Node::Ranked(ranked, all));
    }
    if either {
        return operands(cursor, depth).map(Node::Either);
    }
    let first = Box::new(sum(cursor, depth + 1)?);
    let node = match (two, rounding) {
        (Some((name, operator)), _) => {
            if !cursor.eat(",") {
                let message = format!("expected `,` and a second operand of {name}");
                return Err(ParseError::new(message, cursor.next_span()));
            }
            Node::Binary(operator, first, Box::new(sum(cursor, depth + 1)?))
        }
        (None, Some((_, rounding))) => Node::Rounded(rounding, first),
        (None, None) => *first,
    };
    match cursor.eat(")") {
        true => Ok(node),
        false => Err(ParseError::new("expected `)`", cursor.next_span())),
    }
}

/// Two operands or more, up to the closing parenthesis.
fn operands(cursor: &mut Cursor<'_>, depth: usize) -> Result<Vec<Node>, ParseError> {
    let mut all = vec![sum(cursor, depth + 1)?];
    while cursor.eat(",") {
        all.push(sum(cursor, depth + 1)?);
    }
    if all.len() < 2 {
        return Err(ParseError::new("expected `,` and a second operand", cursor.next_span()));
    }
    match cursor.eat(")") {
        true => Ok(all),
        false => Err(ParseError::new("expected `)`", cursor.next_span())),
    }
}

/// The number that begins with `word`, to which the sign and the digits of an exponent belong, as
/// in `1e-3`.
fn number(cursor: &mut Cursor<'_>, word: &str, span: Range<usize>) -> Result<f64, ParseError> {
    let rest = cursor.rest();
    let exponent = rest.strip_prefix(['+', '-']).filter(|_| word.ends_with(['e', 'E']));
    let digits =
        exponent.map_or(0, |rest| rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    if digits == 0 {
        return parse_number(word, span);
    }
    cursor.advance(1 + digits);
    parse_number(&format!("{word}{}", &rest[..=digits]), span.start..span.end + 1 + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_ranked() {
        let of = |text: &str| Formula::parse(text).map(|f| f.evaluate(value).unwrap());
        assert_eq!(of("largest(1, a.sum, b)"), Ok(2.0));
        assert_eq!(of("next_largest(1, a.sum, b)"), Ok(1.0));
        assert_eq!(of("second(1, a.sum, b)"), Ok(1.0));
        assert_eq!(of("largest(2, 2)"), Ok(1.0));
        assert_eq!(Formula::parse("largest(b, a.sum)").unwrap().names(), ["b", "a.sum"]);
        assert!(of("largest(1)").unwrap_err().to_string().contains("second operand"));
        assert_eq!(Formula::parse("largest").unwrap().names(), ["largest"]);
    }

    fn value(name: &str) -> Option<f64> {
        match name {
            "a.sum" => Some(6.0),
            "b" => Some(0.0),
            _ => None,
        }
    }

    #[test]
    fn products_bind_tighter_than_sums_and_operators_group_left() {
        let eval = |text: &str| Formula::parse(text).unwrap().evaluate(value).unwrap();
        assert_eq!(eval("1 + 2 * a.sum"), 13.0);
        assert_eq!(eval("10 - 4 - 3"), 3.0);
        assert_eq!(eval("100 * a.sum / (4 * 3)"), 50.0);
        assert_eq!(eval("10 - max(a.sum, 2 + 1)"), 4.0);
        assert_eq!(eval("min(a.sum, 2 + 1) + floor(a.sum / 4) + ceil(a.sum / 4)"), 6.0);
        assert_eq!(Formula::parse("floor").unwrap().names(), ["floor"]);
        assert_eq!(eval("1e-3 * a.sum + 2E+2-1e3"), 0.006 + 200.0 - 1000.0);
    }

    #[test]
    fn the_first_operand_that_has_a_value_is_taken() {
        let of = |text: &str| Formula::parse(text).unwrap().evaluate(value);
        assert_eq!(of("either(a.sum, gone)"), Ok(6.0));
        assert_eq!(of("1 + either(gone / 2, lost, a.sum)"), Ok(7.0));
        assert_eq!(of("either(gone, lost)"), Err(Undefined::Operand("lost".into())));
        assert_eq!(Formula::parse("either(gone, b)").unwrap().names(), ["gone", "b"]);
    }

    #[test]
    fn what_has_no_value_says_why() {
        let eval = |text: &str| Formula::parse(text).unwrap().evaluate(value).unwrap_err();
        assert_eq!(eval("a.sum / b"), Undefined::DivisionByZero(vec!["b".into()]));
        assert_eq!(eval("a.sum / gone"), Undefined::Operand("gone".into()));
    }

    /// Hits counted in another pass than the sectors: far apart, as an H200 reported for `jacobi`,
    /// and less far. The counts are made up.
    #[test]
    fn a_part_is_not_shown_as_more_than_its_whole() {
        let of = |text: &str, hits: f64, sectors: f64| {
            let value = |name: &str| Some(if name.contains("hit") { hits } else { sectors });
            Formula::parse(text).unwrap().evaluate(value)
        };
        let (hit, all) =
            ("lts__t_sectors_evict_first_lookup_hit.sum", "lts__t_sectors_evict_first.sum");
        let rate = format!("100 * {hit} / {all}");
        assert_eq!(of(&rate, 23.0, 92.0), Ok(25.0));
        assert!((of(&rate, 100.4, 100.0).unwrap() - 100.0).abs() < 1e-9);
        let wrong = Undefined::MoreThanWhole(vec![hit.into()], vec![all.into()]);
        assert_eq!(of(&rate, 227.0, 51.0), Err(wrong));
        let sum = format!("({hit} + {hit}) / ({all} + {all}) * 100");
        assert!(
            matches!(of(&sum, 2.0, 1.0), Err(Undefined::MoreThanWhole(parts, _)) if parts.len() == 2)
        );
        // Nothing says that these are parts.
        assert_eq!(of(&format!("{hit} / ({all} + 1)"), 6.0, 2.0), Ok(2.0));
        assert_eq!(of(&format!("{all} / {hit}"), 2.0, 6.0), Ok(3.0));
    }

    #[test]
    fn malformed_formulas_are_refused() {
        for bad in [
            "",
            "a +",
            "(a",
            "a b",
            "a ** b",
            "1e",
            "1e- 3",
            "max(a)",
            "min(a)",
            "floor(a, b)",
            "ceil(",
            "max(a, b",
            &"(".repeat(100),
        ] {
            assert!(Formula::parse(bad).is_err(), "{bad}");
        }
    }
}
