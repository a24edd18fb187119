//! Numbers of things, of which there must be one.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// The number that `text` is, of a type without 0.
///
/// # Errors
/// 0, and text that is not a whole number.
pub fn at_least_one<N: FromStr<Err = ParseIntError>>(text: &str) -> Result<N, String> {
    text.parse().map_err(|e: N::Err| match e.kind() {
        IntErrorKind::Zero => {
            "it must be at least 1; leave the option out for its default".to_owned()
        }
        _ => e.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn zero_is_refused_with_the_remedy() {
        assert_eq!(at_least_one::<NonZeroU32>("7").map(NonZeroU32::get), Ok(7));
        let refused = |text| at_least_one::<NonZeroU32>(text).unwrap_err();
        assert_eq!(refused("0"), "it must be at least 1; leave the option out for its default");
        assert_eq!(refused("soon"), "invalid digit found in string");
    }
}
