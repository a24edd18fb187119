//! Choices of one word on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gpuprof_model::words::Word;

/// Takes the words of `T`, which the help lists with their meanings.
pub(super) fn word<T: Word + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values =
        T::ALL.iter().map(|(choice, word, _)| PossibleValue::new(*word).help(choice.meaning()));
    PossibleValuesParser::new(values)
        .map(|text| T::of_word(&text).expect("the parser takes no other word"))
}
