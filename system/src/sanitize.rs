//! Removes control characters other than line breaks and tabs from the texts of untrusted JSON.
//!
//! Input: JSON, or a value that can be serialized. Output: the same without characters that could
//! steer a terminal, so the only escape sequences in later output are ours.

use std::borrow::Cow;

use gpuprof_model::run::Run;
use gpuprof_model::text::printable;
use memchr::{memchr, memchr2, memchr3_iter};
use serde::de::DeserializeOwned;

/// Reads the value in `json`, with sanitized texts.
///
/// # Errors
/// `json` does not contain such a value.
pub fn read<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    let value = serde_json::from_slice(json)?;
    if may_steer(json) { serde_json::from_slice(&sanitize(json)) } else { Ok(value) }
}

/// `run` with sanitized texts, which come from command lines, sources and configuration files too;
/// `None` if the result is not a valid run.
pub fn run(run: &Run) -> Option<Cow<'_, Run>> {
    let json = serde_json::to_vec(run).ok()?;
    if !may_steer(&json) {
        return Some(Cow::Borrowed(run));
    }
    serde_json::from_slice(&sanitize(&json)).ok().map(Cow::Owned)
}

/// Whether a string of the document may contain a control character: JSON writes those as escapes,
/// except for DEL and U+0080 to U+009F.
pub fn may_steer(json: &[u8]) -> bool {
    memchr3_iter(b'\\', 0xc2, 0x7f, json).any(|at| match (json[at], json.get(at + 1)) {
        (b'\\', next) => matches!(next, Some(b'u' | b'b' | b'f' | b'r')),
        (0xc2, next) => next.is_some_and(|&next| next < 0xa0),
        _ => true,
    })
}

/// `json` with sanitized texts. Only the texts are decoded, so a large document costs little.
pub fn sanitize(json: &[u8]) -> Vec<u8> {
    let steers = |text: &str| text.contains(|c: char| c.is_control() && c != '\n' && c != '\t');
    let mut calm = Vec::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = memchr(b'"', rest) {
        let (before, from) = rest.split_at(start);
        calm.extend_from_slice(before);
        let (quoted, after) = from.split_at(text_length(from));
        match serde_json::from_slice::<String>(quoted) {
            Ok(text) if steers(&text) => {
                let text = serde_json::to_string(&printable(&text)).expect("text is plain data");
                calm.extend_from_slice(text.as_bytes());
            }
            _ => calm.extend_from_slice(quoted),
        }
        rest = after;
    }
    calm.extend_from_slice(rest);
    calm
}

/// The length of the text at the start of `json`, with both quotation marks.
fn text_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(next) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += next + 1;
        if json[at - 1] == b'"' {
            return at;
        }
        // The character after a backslash is part of the text.
        at += 1;
    }
    json.len()
}
