//! Pairs of flags: `--verify` and `--no-verify`.

/// What a pair of flags says: the one that is given later wins, and clap sees to that.
pub(super) fn either(yes: bool, no: bool) -> Option<bool> {
    if yes { Some(true) } else { no.then_some(false) }
}
