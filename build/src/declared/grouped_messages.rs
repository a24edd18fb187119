//! Messages about several instances of one declaration that say the same, as one.
//!
//! Input: messages, each with its instance. Output: the first of each group that differs only in
//! the instance, its types and its constants, with the names of the other instances.

use gpuprof_model::declared::DeclaredType;

use super::instances::RequestedInstance;
use crate::cuda_cpp::{Diagnostic, FilePosition, Note};

/// How many other instances a message names.
const NAMED: usize = 3;

/// A message about an instance.
#[derive(Debug, Clone)]
pub(super) struct InstanceMessage {
    diagnostic: Diagnostic,
    /// The instance.
    name: String,
    /// Its texts, with the declaration's name for that of the instance.
    named: Vec<String>,
    /// The same with the axis for each of its types, and for the values of its constants.
    general: Vec<String>,
}

impl InstanceMessage {
    /// That `diagnostic` is about `asked`.
    pub(super) fn attribute(asked: &RequestedInstance<'_>, diagnostic: Diagnostic) -> Self {
        let notes = diagnostic.notes.iter().map(|note| &note.message);
        let texts = [&diagnostic.message].into_iter().chain(notes);
        let named: Vec<String> =
            texts.map(|text| text.replace(&asked.name, &asked.declared.symbol)).collect();
        let general = named.iter().map(|text| {
            let text = without_types(text, &asked.types);
            asked.constants.iter().fold(text, |text, (name, value)| {
                text.replace(&format!("`{value}`"), &format!("`{{{name}}}`"))
            })
        });
        let general = general.collect();
        Self { diagnostic, name: asked.name.clone(), named, general }
    }

    fn place(&self) -> Option<&FilePosition> {
        self.diagnostic.span.as_ref().map(|span| &span.place)
    }

    fn says_what(&self, other: &Self) -> bool {
        self.place() == other.place()
            && (self.named == other.named
                || self.general == other.general
                || self.diagnostic == other.diagnostic)
    }
}

/// `text` with `{T}` for the type of each axis, in Rust and in C++.
fn without_types(text: &str, types: &[&DeclaredType]) -> String {
    types.iter().fold(text.to_owned(), |text, ty| {
        let axis = format!("{{{}}}", ty.axis);
        let text = with_word(&text, &ty.cpp, &axis);
        with_word(&text, &ty.rust, &axis)
    })
}

/// `text` with `new` for `old` as a whole word.
fn with_word(text: &str, old: &str, new: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut made, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(old).filter(|_| !old.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        let last = before.chars().next_back().or_else(|| made.chars().next_back());
        let is_own = !last.is_some_and(is_word) && !after.starts_with(is_word);
        made.push_str(before);
        made.push_str(if is_own { new } else { old });
        rest = after;
    }
    made + rest
}

/// `all`, with equal messages merged.
pub(super) fn grouped(all: Vec<InstanceMessage>) -> Vec<Diagnostic> {
    let mut groups: Vec<(InstanceMessage, Vec<String>)> = Vec::new();
    for told in all {
        match groups.iter_mut().find(|(first, _)| first.says_what(&told)) {
            Some((first, others)) => {
                if first.name != told.name && !others.contains(&told.name) {
                    others.push(told.name);
                }
            }
            None => groups.push((told, Vec::new())),
        }
    }
    let one = |(InstanceMessage { mut diagnostic, .. }, others): (InstanceMessage, Vec<String>)| {
        let note = and_others(&others).map(|message| Note { message, span: None });
        diagnostic.notes.extend(note);
        diagnostic
    };
    groups.into_iter().map(one).collect()
}

/// That the same is to be said of `others`.
fn and_others(others: &[String]) -> Option<String> {
    let named: Vec<String> = others.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let named = named.join(", ");
    match others.len() {
        0 => None,
        1 => Some(format!("the same holds for {named}")),
        all if all <= NAMED => Some(format!("the same holds for {all} other instances: {named}")),
        all => {
            let more = all - NAMED;
            Some(format!("the same holds for {all} other instances: {named} and {more} more"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_are_replaced_as_whole_words() {
        let ty = |rust: &str, cpp: &str| DeclaredType {
            axis: "T".into(),
            rust: rust.into(),
            cpp: cpp.into(),
            bytes: 4,
        };
        let (float, half) = (ty("f32", "float"), ty("f16", "__half"));
        let text = "`*mut f32`, and the kernel takes `const float *`; f32x4 and float4 stay";
        assert_eq!(
            without_types(text, &[&float]),
            "`*mut {T}`, and the kernel takes `const {T} *`; f32x4 and float4 stay"
        );
        assert_eq!(without_types("f16 __half", &[&half]), "{T} {T}");
    }
}
