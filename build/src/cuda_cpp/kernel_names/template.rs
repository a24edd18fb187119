//! The parameters of a template, and the check of its arguments.
//!
//! Input: its parameters as the source writes them, and the arguments of an expression. Output: the
//! first thing that does not fit, in words.

use super::words::words;

/// A template of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    parameters: Vec<Parameter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Parameter {
    text: String,
    kind: Kind,
    has_default: bool,
    is_pack: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Flag,
    Value,
    /// A template, or what is called so by one.
    Other,
}

/// Types that an argument may be for certain.
const TYPES: [&str; 11] = [
    "float",
    "double",
    "int",
    "unsigned",
    "char",
    "short",
    "long",
    "bool",
    "half",
    "__half",
    "__nv_bfloat16",
];

impl Template {
    pub(super) fn new(parameters: &[Vec<&str>]) -> Self {
        Self { parameters: parameters.iter().map(|words| Parameter::new(words)).collect() }
    }

    /// What is wrong with the arguments `given` to the template `name`, if there are any.
    pub(super) fn misfit(&self, name: &str, given: Option<&[String]>) -> Option<String> {
        let texts: Vec<&str> = self.parameters.iter().map(|it| it.text.as_str()).collect();
        let whole = format!("`{name}` is a template of <{}>", texts.join(", "));
        let Some(given) = given else {
            let examples: Vec<&str> =
                self.parameters.iter().filter_map(Parameter::example).collect();
            let example = examples.join(", ");
            let named = format!("name its arguments, as in symbol = \"{name}<{example}>\"");
            return Some(format!("{whole}: {named}"));
        };
        let most = self.parameters.len();
        let least = self.parameters.iter().filter(|it| !it.has_default && !it.is_pack).count();
        if self.parameters.iter().any(|it| it.is_pack) {
            return None;
        }
        if !(least..=most).contains(&given.len()) {
            let takes = match (least, most) {
                (1, 1) => "1 argument".to_owned(),
                (least, most) if least == most => format!("{most} arguments"),
                (least, most) => format!("{least} to {most} arguments"),
            };
            let there = if given.len() == 1 { "there is" } else { "there are" };
            return Some(format!("{whole}: it takes {takes}, and {there} {}", given.len()));
        }
        let mut pairs = self.parameters.iter().zip(given);
        pairs.find_map(|(parameter, argument)| {
            let is_value = argument.starts_with(|c: char| c.is_ascii_digit() || c == '-')
                || ["true", "false"].contains(&argument.as_str());
            let is_type = TYPES.contains(&argument.split(' ').next()?);
            match parameter.kind {
                Kind::Type if is_value => Some(format!("{whole}: `{argument}` is not a type")),
                Kind::Flag | Kind::Value if is_type => {
                    Some(format!("{whole}: `{argument}` is a type, no value"))
                }
                _ => None,
            }
        })
    }
}

impl Parameter {
    fn new(words: &[&str]) -> Self {
        let default = words.iter().position(|it| *it == "=");
        let before = &words[..default.unwrap_or(words.len())];
        let kind = match before {
            ["typename" | "class", ..] if !before.contains(&":") => Kind::Type,
            ["typename" | "class" | "template", ..] => Kind::Other,
            ["bool", ..] => Kind::Flag,
            _ => Kind::Value,
        };
        let is_pack = before.contains(&".");
        Self { text: joined(words), kind, has_default: default.is_some(), is_pack }
    }

    /// An argument that it may be given; none where it needs none.
    fn example(&self) -> Option<&'static str> {
        match self.kind {
            _ if self.has_default => None,
            Kind::Type => Some("float"),
            Kind::Flag => Some("true"),
            Kind::Value => Some("4"),
            Kind::Other => Some("…"),
        }
    }
}

/// Words as a line, with a blank only between two names.
fn joined(words: &[&str]) -> String {
    let is_name = |word: &str| word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let mut text = String::new();
    let mut before = "";
    for word in words {
        if is_name(word) && is_name(before) || *word == "=" || before == "=" {
            text.push(' ');
        }
        text.push_str(word);
        before = word;
    }
    text
}

/// The text between the brackets at the start of `words`, split at its commas, and its number of
/// words.
pub(super) fn parts<'s>(words: &[&'s str]) -> (Vec<Vec<&'s str>>, usize) {
    let (mut parts, mut angles, mut others) = (vec![Vec::new()], 0_usize, 0_usize);
    for (at, &word) in words.iter().enumerate() {
        match word {
            "(" | "{" | "[" => others += 1,
            ")" | "}" | "]" => others = others.saturating_sub(1),
            "<" if others == 0 => {
                angles += 1;
                if angles == 1 {
                    continue;
                }
            }
            ">" if others == 0 => {
                angles = angles.saturating_sub(1);
                if angles == 0 {
                    parts.retain(|part| !part.is_empty());
                    return (parts, at + 1);
                }
            }
            "," if others == 0 && angles == 1 => {
                parts.push(Vec::new());
                continue;
            }
            _ if angles == 0 => return (Vec::new(), 0),
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(word);
        }
    }
    (Vec::new(), 0)
}

/// The template arguments of `expression`, if it has any: those of its last name.
pub(super) fn arguments(expression: &str) -> Option<Vec<String>> {
    let start = expression.find('<')?;
    let words = words(&expression[start..]);
    let (parts, length) = parts(&words);
    (length == words.len()).then(|| parts.iter().map(|words| joined(words)).collect())
}
