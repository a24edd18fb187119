//! The tree of an expression: output of the parser, input of check and evaluation.

use std::ops::Range;

/// A node of an expression and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) term: Term,
    pub(super) span: Range<usize>,
}

/// The kinds of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Term {
    Int(i128),
    Dims([u32; 3]),
    Word(String),
    Name(String),
    Component(String, usize),
    Negate(Box<Node>),
    Not(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
}

/// An operator between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    LessEqual,
    GreaterEqual,
    Shift,
    Less,
    Greater,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Operators by how tightly they bind; within a level, an operator comes before its own prefixes.
pub(super) const LEVELS: [&[(&str, Operator)]; 6] = [
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("<<", Operator::Shift)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

/// The level of the comparisons, which do not chain.
pub(super) const COMPARISONS: usize = 2;

impl Node {
    pub(super) fn new(term: Term, span: Range<usize>) -> Self {
        Self { term, span }
    }

    /// The same part, `by` bytes further to the left.
    pub(super) fn shifted_left(mut self, by: usize) -> Self {
        self.span = self.span.start - by..self.span.end - by;
        self.term = match self.term {
            Term::Negate(inner) => Term::Negate(Box::new(inner.shifted_left(by))),
            Term::Not(inner) => Term::Not(Box::new(inner.shifted_left(by))),
            Term::Binary(op, a, b) => {
                Term::Binary(op, Box::new(a.shifted_left(by)), Box::new(b.shifted_left(by)))
            }
            leaf => leaf,
        };
        self
    }
}
