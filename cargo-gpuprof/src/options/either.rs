//! Pairs of flags: `--verify` and `--no-verify`.

/// The value of a pair of flags: the last one wins, which clap ensures.
pub(super) fn either(yes: bool, no: bool) -> Option<bool> {
    if yes { Some(true) } else { no.then_some(false) }
}
