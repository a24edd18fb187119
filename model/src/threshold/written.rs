//! A threshold as it was written, parsed once.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Threshold;
use crate::text::ParseError;

/// The text of a threshold with its meaning. Documents hold the text alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct WrittenThreshold {
    /// The text.
    pub text: String,
    /// Its threshold, or the place that does not follow the grammar: the text may come from another
    /// version of the tool.
    pub parsed: Result<Threshold, ParseError>,
}

impl WrittenThreshold {
    /// Those of `texts`.
    pub fn all(texts: &[String]) -> Vec<Self> {
        texts.iter().cloned().map(Self::from).collect()
    }

    /// The name of the metric; none if the text does not follow the grammar.
    pub fn metric(&self) -> Option<&str> {
        self.parsed.as_ref().ok().map(|threshold| threshold.metric.as_str())
    }
}

impl fmt::Display for WrittenThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for WrittenThreshold {
    fn from(text: String) -> Self {
        Self { parsed: Threshold::parse(&text), text }
    }
}

impl From<Threshold> for WrittenThreshold {
    fn from(threshold: Threshold) -> Self {
        Self { text: threshold.text.clone(), parsed: Ok(threshold) }
    }
}

impl From<WrittenThreshold> for String {
    fn from(written: WrittenThreshold) -> Self {
        written.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_holds_the_text_even_if_this_version_does_not_understand_it() {
        for (text, metric) in [("every duration <= 1 ms", Some("duration")), ("of later", None)] {
            let json = serde_json::to_string(text).unwrap();
            let read: WrittenThreshold = serde_json::from_str(&json).unwrap();
            assert_eq!((read.text.as_str(), read.metric()), (text, metric));
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
        let threshold = Threshold::parse("every duration <= 1 ms").unwrap();
        let read: WrittenThreshold = threshold.text.clone().into();
        assert_eq!(WrittenThreshold::from(threshold), read);
    }
}
