//! JSON of anybody, calmed: no text in it holds a control character but line breaks and tabs.
//!
//! Input: JSON, or a value that can be written as such. Output: the same without what could steer a
//! terminal, so that whatever is coloured later has only colours of ours.

use std::borrow::Cow;

use gpuprof_model::run::Run;
use gpuprof_model::text::printable;
use memchr::{memchr, memchr2, memchr3_iter};
use serde::de::DeserializeOwned;

/// Reads the value in `json`, without what could steer in its texts.
///
/// # Errors
/// `json`, as it is, holds no such value.
pub fn read<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    let value = serde_json::from_slice(json)?;
    if may_steer(json) { serde_json::from_slice(&neutralised(json)) } else { Ok(value) }
}

/// `run` without what could steer in its texts, which come from command lines, sources and
/// configuration files too; `None` where it is no run without that.
pub fn run(run: &Run) -> Option<Cow<'_, Run>> {
    let json = serde_json::to_vec(run).ok()?;
    if !may_steer(&json) {
        return Some(Cow::Borrowed(run));
    }
    serde_json::from_slice(&neutralised(&json)).ok().map(Cow::Owned)
}

/// Whether a string of the document may hold a control character: JSON writes those as escapes, but
/// for DEL and the second set, which is U+0080 to U+009F.
pub fn may_steer(json: &[u8]) -> bool {
    memchr3_iter(b'\\', 0xc2, 0x7f, json).any(|at| match (json[at], json.get(at + 1)) {
        (b'\\', next) => matches!(next, Some(b'u' | b'b' | b'f' | b'r')),
        (0xc2, next) => next.is_some_and(|&next| next < 0xa0),
        _ => true,
    })
}

/// `json` without what could steer a terminal in any of its texts: anybody may have written it.
/// Only the texts are looked at, so a large document costs no more than its bytes.
pub fn neutralised(json: &[u8]) -> Vec<u8> {
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

/// The bytes of the text that `json` begins with, both quotation marks included.
fn text_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(next) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += next + 1;
        if json[at - 1] == b'"' {
            return at;
        }
        // What follows a backslash ends nothing.
        at += 1;
    }
    json.len()
}
