//! Input: the tokens of a Rust file. Output: how long its functions are.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// How many lines a function may have, from its signature to its closing brace.
pub const LENGTH: usize = 60;

/// A function that is longer than [`LENGTH`].
#[derive(Debug, PartialEq)]
pub struct Long {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// Functions of a file that are longer than [`LENGTH`], including nested ones.
pub fn long_functions(tokens: TokenStream) -> Vec<Long> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (index, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => found.extend(long_functions(group.stream())),
            TokenTree::Ident(word) if word == "fn" => found.extend(function(&trees[index..])),
            _ => {}
        }
    }
    found
}

/// The function with its keyword as the first of these tokens; none if it has no body.
fn function(trees: &[TokenTree]) -> Option<Long> {
    let TokenTree::Ident(name) = trees.get(1)? else { return None };
    let line = trees[0].span().start().line;
    for tree in &trees[2..] {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return None,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let lines = group.span_close().end().line + 1 - line;
                return (lines > LENGTH).then(|| Long { name: name.to_string(), line, lines });
            }
            _ => {}
        }
    }
    None
}

#[test]
fn a_function_is_measured_from_its_signature_to_its_closing_brace() {
    let body = |lines: usize| "\n    x();".repeat(lines);
    let text =
        format!("fn fits() {{{}\n}}\n\nmod m {{\nfn long(\n) {{{}\n}}\n}}\n", body(58), body(58));
    let found = long_functions(text.parse().unwrap());
    assert_eq!(found, [Long { name: "long".into(), line: 63, lines: 61 }]);
}
