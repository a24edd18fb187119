//! Choices that users write as one word: of an option, of the configuration file, of a document.
//!
//! Input: the variants of an enum with their words. Output: the enum, with one table of its words
//! that parsing, printing, serde and the help of an option share.

use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer};

/// A choice of one word.
pub trait Word: Copy + PartialEq + 'static {
    /// Every choice with its word and its meaning, in the order of the help.
    const ALL: &'static [(Self, &'static str, &'static str)];

    /// The word of the choice.
    fn word(self) -> &'static str {
        let entry = Self::ALL.iter().find(|(choice, ..)| *choice == self);
        entry.map_or("", |(_, word, _)| word)
    }

    /// The choice with this word.
    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, other, _)| *other == word).map(|(choice, ..)| *choice)
    }

    /// The meaning of the choice, as a line of help.
    fn meaning(self) -> &'static str {
        let entry = Self::ALL.iter().find(|(choice, ..)| *choice == self);
        entry.map_or("", |(_, _, meaning)| meaning.trim().trim_end_matches('.'))
    }
}

/// Reads a choice; its default for the empty text that version 0.1 wrote of a slice that measured
/// nothing.
pub(crate) fn word_or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    match String::deserialize(deserializer)? {
        text if text.is_empty() => Ok(T::default()),
        text => T::deserialize(text.into_deserializer()),
    }
}

/// Makes an enum of words, `pub enum NAME = DEFAULT { VARIANT = "word", … }`. The comment of a
/// variant is its meaning.
#[macro_export]
macro_rules! words {
    ($(#[$about:meta])+ pub enum $name:ident = $default:ident {
        $($(#[doc = $meaning:literal])+ $variant:ident = $word:literal,)+
    }) => {
        $(#[$about])+
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, Hash, ::serde::Serialize, ::serde::Deserialize,
        )]
        pub enum $name {
            $($(#[doc = $meaning])+ #[serde(rename = $word)] $variant,)+
        }

        impl $crate::words::Word for $name {
            const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$((Self::$variant, $word, concat!($($meaning),+)),)+];
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        }

        impl Ord for $name {
            /// The order of their words, which is that of documents.
            fn cmp(&self, other: &Self) -> ::std::cmp::Ordering {
                $crate::words::Word::word(*self).cmp($crate::words::Word::word(*other))
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<::std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str($crate::words::Word::word(*self))
            }
        }
    };
}
