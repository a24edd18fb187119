//! Whether the expressions of an annotation mention a name, as a type or as a value.
//!
//! Input: tokens. Output: the kind of each mention. A type and a variable may share a name, and
//! only mentioned ones are declared: a template of CUDA C++ may take types that Rust does not have.

use proc_macro2::{TokenStream, TokenTree};

/// How a name is mentioned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mention {
    /// As a type: `f::<O>(x)`, `O::of(x)`.
    pub(crate) as_type: bool,
    /// As a value: `O == "Sum"`.
    pub(crate) as_value: bool,
}

/// How `tokens` mention `name`.
pub(crate) fn mention(tokens: &TokenStream, name: &str) -> Mention {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let punct = |at: Option<usize>, expected: char| {
        let token = at.and_then(|at| tokens.get(at));
        matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == expected)
    };
    let before = |at: usize, by: usize| at.checked_sub(by);
    let path = |at: usize| punct(before(at, 1), ':') && punct(before(at, 2), ':');
    let mut found = Mention::default();
    // How many lists of generic arguments are open.
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let inner = mention(&group.stream(), name);
                found.as_type |= inner.as_type;
                found.as_value |= inner.as_value;
            }
            TokenTree::Punct(it) if it.as_char() == '<' && (open > 0 || path(at)) => open += 1,
            TokenTree::Punct(it) if it.as_char() == '>' && !punct(before(at, 1), '-') => {
                open = open.saturating_sub(1);
            }
            TokenTree::Ident(it) if it == name && !path(at) && !punct(before(at, 1), '.') => {
                let annotated = punct(before(at, 1), ':');
                let cast = matches!(before(at, 1).map(|at| &tokens[at]),
                    Some(TokenTree::Ident(word)) if word == "as");
                let leads = punct(Some(at + 1), ':') && punct(Some(at + 2), ':');
                let returned = punct(before(at, 1), '>') && punct(before(at, 2), '-');
                let first = punct(before(at, 1), '<') || returned;
                let is_type = open > 0 || annotated || cast || leads || first;
                found.as_type |= is_type;
                found.as_value |= !is_type;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_and_a_value_of_one_name_are_distinguished() {
        for (text, as_type, as_value) in [
            ("on_host::<O>(x, y)", true, false),
            ("on_host::<f32, O>(x, y)", true, false),
            ("|x, y| on_host::<Vec<f32>, O>(x, y)", true, false),
            ("O::of(x)", true, false),
            ("<O as Op>::of(x)", true, false),
            ("|x: &[f32]| { let op: O = default(); }", true, false),
            ("8 * size_of::<O>() as u64", true, false),
            ("|x, y| if O == \"Sum\" { sum(x, y) }", false, true),
            ("match O { _ => sum }", false, true),
            ("fill(O, size_of::<O>())", true, true),
            ("f::<f32>(O)", false, true),
            ("Other::O + x.O + OO", false, false),
        ] {
            let found = mention(&text.parse().unwrap(), "O");
            assert_eq!(found, Mention { as_type, as_value }, "{text}");
        }
    }
}
