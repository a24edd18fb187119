//! Exchange between the lanes of a warp.

use super::integer::Binary;
use super::slot::{File, Slot, Visitor, show};

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

/// An exchange. Fields: `d` (and `p`) destinations, the others sources.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "fields are operands in PTX order")]
pub enum ExchangeOp {
    Shuffle {
        mode: Shuffle,
        d: Slot,
        p: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        members: Slot,
    },
    Vote {
        mode: Vote,
        d: Slot,
        a: Slot,
        negate: bool,
        members: Slot,
    },
    Match {
        wide: bool,
        all: bool,
        d: Slot,
        p: Slot,
        a: Slot,
        members: Slot,
    },
    Redux {
        op: Binary,
        d: Slot,
        a: Slot,
        members: Slot,
    },
    /// `elect.sync`: the lane in `d`, and the predicate set in that lane alone.
    Elect {
        d: Slot,
        p: Slot,
        members: Slot,
    },
    WarpSync {
        members: Slot,
    },
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

    /// Shows every slot.
    pub fn slots(&mut self, see: &mut Visitor<'_>) {
        use File::{Pred, R32};
        match self {
            Self::Shuffle { d, p, a, b, c, members, .. } => {
                let sources = [(R32, a), (R32, b), (R32, c), (R32, members)];
                show(see, sources, [(R32, d), (Pred, p)]);
            }
            Self::Vote { mode, d, a, members, .. } => {
                let file = if *mode == Vote::Ballot { R32 } else { Pred };
                show(see, [(Pred, a), (R32, members)], [(file, d)]);
            }
            Self::Match { wide, d, p, a, members, .. } => {
                let sources = [(File::by_width(*wide), a), (R32, members)];
                show(see, sources, [(R32, d), (Pred, p)]);
            }
            Self::Redux { d, a, members, .. } => show(see, [(R32, a), (R32, members)], [(R32, d)]),
            Self::Elect { d, p, members } => show(see, [(R32, members)], [(R32, d), (Pred, p)]),
            Self::WarpSync { members } => show(see, [(R32, members)], []),
        }
    }
}
