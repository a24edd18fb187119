//! Exchange between the lanes of a warp.

use super::integer::Binary;
use super::operations::operations;
use super::slot::File::{self, Pred, R32};
use super::slot::Slot;

/// `shfl` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `vote`, `match` and `redux` modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's")]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

impl Vote {
    /// The file of its result.
    pub fn result_file(self) -> File {
        if self == Self::Ballot { R32 } else { Pred }
    }
}

operations! {
    /// An exchange.
    pub enum ExchangeOp {
        Shuffle { mode: Shuffle } (a: R32, b: R32, c: R32, members: R32) -> (d: R32, p: Pred);
        Vote { mode: Vote, negate: bool } (a: Pred, members: R32) -> (d: mode.result_file());
        Match { wide: bool, all: bool }
            (a: File::by_width(wide), members: R32) -> (d: R32, p: Pred);
        Redux { op: Binary } (a: R32, members: R32) -> (d: R32);
        /// `elect.sync`: the lane in `d`, and the predicate set in that lane alone.
        Elect {} (members: R32) -> (d: R32, p: Pred);
        WarpSync {} (members: R32) -> ();
    }
}

/// The qualifiers of an exchange, which all of its members have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the exchanges")]
pub enum ExchangeKey {
    Shuffle(Shuffle),
    Vote(Vote),
    Match { wide: bool, all: bool },
    Redux(Binary),
    Elect,
    WarpSync,
}

impl ExchangeOp {
    /// Its qualifiers.
    pub fn key(&self) -> ExchangeKey {
        match *self {
            Self::Shuffle { mode, .. } => ExchangeKey::Shuffle(mode),
            Self::Vote { mode, .. } => ExchangeKey::Vote(mode),
            Self::Match { wide, all, .. } => ExchangeKey::Match { wide, all },
            Self::Redux { op, .. } => ExchangeKey::Redux(op),
            Self::Elect { .. } => ExchangeKey::Elect,
            Self::WarpSync { .. } => ExchangeKey::WarpSync,
        }
    }

    /// The register of its member mask.
    pub fn members(&self) -> Slot {
        match *self {
            Self::Shuffle { members, .. }
            | Self::Vote { members, .. }
            | Self::Match { members, .. }
            | Self::Redux { members, .. }
            | Self::Elect { members, .. }
            | Self::WarpSync { members } => members,
        }
    }
}
