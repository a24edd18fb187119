//! The tree of an expression: output of the parser, input of check and evaluation.

use crate::operators::{self, Operator};

/// A node of an expression.
pub(super) type Node = operators::Node<Term>;

/// The kinds of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Term {
    Int(i128),
    Dims([u32; 3]),
    Word(String),
    Name(String),
    Component(String, usize),
    Negate(Box<Node>),
    Not(Box<Node>),
    Binary(Operator<Arithmetic>, Box<Node>, Box<Node>),
}

/// An operator between two whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Shift,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Node {
    /// The same part, `by` bytes further to the left.
    pub(super) fn shifted_left(mut self, by: usize) -> Self {
        self.span = self.span.start - by..self.span.end - by;
        self.term = match self.term {
            Term::Negate(inner) => Term::Negate(Box::new(inner.shifted_left(by))),
            Term::Not(inner) => Term::Not(Box::new(inner.shifted_left(by))),
            Term::Binary(op, a, b) => {
                Term::Binary(op, Box::new(a.shifted_left(by)), Box::new(b.shifted_left(by)))
            }
            leaf @ (Term::Int(_)
            | Term::Dims(_)
            | Term::Word(_)
            | Term::Name(_)
            | Term::Component(..)) => leaf,
        };
        self
    }
}
