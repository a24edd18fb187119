//! Operators between operands: the grammar that expressions over axes, formulas over metrics and
//! filter expressions share.
//!
//! Input: a text, and a [`Language`], which reads operands and has its own arithmetic. Output: the
//! tree, each node with its position. From the loosest binding: `||`, `&&`, one comparison, then
//! the levels of the arithmetic.

use std::ops::Range;

use crate::text::{Cursor, ParseError};

/// How deeply parentheses may nest.
const MAX_DEPTH: usize = 64;

/// The level of the comparisons, which do not chain.
const COMPARISONS: usize = 2;

/// The first level of arithmetic.
pub(crate) const ARITHMETIC: usize = COMPARISONS + 1;

/// A node of a tree and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node<T> {
    pub(crate) term: T,
    pub(crate) span: Range<usize>,
}

impl<T> Node<T> {
    pub(crate) fn new(term: T, span: Range<usize>) -> Self {
        Self { term, span }
    }
}

/// An operator between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator<A> {
    Or,
    And,
    Compare(Comparison),
    Arithmetic(A),
}

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    LessEqual,
    GreaterEqual,
    Less,
    Greater,
}

impl Comparison {
    /// Each before its own prefixes.
    const ALL: [(&'static str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        ("<=", Self::LessEqual),
        (">=", Self::GreaterEqual),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    /// Whether it holds between two values.
    pub(crate) fn holds<V: PartialOrd>(self, left: &V, right: &V) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::LessEqual => left <= right,
            Self::GreaterEqual => left >= right,
            Self::Less => left < right,
            Self::Greater => left > right,
        }
    }
}

/// The operands and the arithmetic of a language, as the kinds of its nodes.
pub(crate) trait Language: Sized + 'static {
    /// An operator between two numbers.
    type Arithmetic: Copy;

    /// The signs of "or", each before its own prefixes.
    const OR: &'static [&'static str] = &["||"];

    /// The signs of "and", likewise.
    const AND: &'static [&'static str] = &["&&"];

    /// These operators by how tightly they bind.
    const ARITHMETIC: &'static [&'static [(&'static str, Self::Arithmetic)]];

    /// Reads one operand.
    fn operand(cursor: &mut Cursor<'_>, depth: usize) -> Result<Node<Self>, ParseError>;

    /// Joins two nodes.
    fn binary(
        operator: Operator<Self::Arithmetic>,
        left: Node<Self>,
        right: Node<Self>,
    ) -> Result<Self, ParseError>;
}

/// The expression at `cursor` from the operators of level `at` on.
///
/// # Errors
/// The place that does not follow the grammar.
pub(crate) fn level<T: Language>(
    cursor: &mut Cursor<'_>,
    at: usize,
    depth: usize,
) -> Result<Node<T>, ParseError> {
    if at == ARITHMETIC + T::ARITHMETIC.len() {
        return operand(cursor, depth);
    }
    let mut left = level::<T>(cursor, at + 1, depth)?;
    let mut compared = false;
    while let Some(operator) = eat_operator::<T>(cursor, at) {
        if compared {
            return Err(ParseError::new("comparisons do not chain", left.span)
                .with_help("join them: 64 <= block && block <= 256"));
        }
        compared = at == COMPARISONS;
        let right = level::<T>(cursor, at + 1, depth)?;
        let span = left.span.start..right.span.end;
        left = Node::new(T::binary(operator, left, right)?, span);
    }
    Ok(left)
}

fn eat_operator<T: Language>(
    cursor: &mut Cursor<'_>,
    at: usize,
) -> Option<Operator<T::Arithmetic>> {
    cursor.skip_space();
    match at {
        0 => eat_sign(cursor, T::OR).then_some(Operator::Or),
        1 => eat_sign(cursor, T::AND).then_some(Operator::And),
        // It binds more tightly, so the comparison must leave it alone.
        COMPARISONS if cursor.rest().starts_with("<<") => None,
        COMPARISONS => {
            let found = Comparison::ALL.iter().find(|(symbol, _)| cursor.eat(symbol));
            found.map(|&(_, comparison)| Operator::Compare(comparison))
        }
        _ => {
            let mut all = T::ARITHMETIC[at - ARITHMETIC].iter();
            let found = all.find(|(symbol, _)| cursor.eat(symbol));
            found.map(|&(_, arithmetic)| Operator::Arithmetic(arithmetic))
        }
    }
}

/// Takes one of `signs`, which are symbols or whole words.
fn eat_sign(cursor: &mut Cursor<'_>, signs: &[&str]) -> bool {
    let is_word = |sign: &str| sign.starts_with(|c: char| c.is_ascii_alphabetic());
    signs.iter().any(|sign| if is_word(sign) { cursor.eat_word(sign) } else { cursor.eat(sign) })
}

/// Reads an operand, which may be an expression in parentheses.
pub(crate) fn operand<T: Language>(
    cursor: &mut Cursor<'_>,
    depth: usize,
) -> Result<Node<T>, ParseError> {
    cursor.skip_space();
    let start = cursor.position();
    if depth > MAX_DEPTH {
        return Err(ParseError::new("the expression is nested too deeply", cursor.next_span()));
    }
    if !cursor.eat("(") {
        return T::operand(cursor, depth);
    }
    let inner = level::<T>(cursor, 0, depth + 1)?;
    if cursor.eat(")") {
        return Ok(Node::new(inner.term, start..cursor.position()));
    }
    Err(ParseError::new("expected `)`", cursor.next_span()))
}
