//! Input: the tokens of a Rust file. Output: the parameters of its functions whose type is a tuple
//! of more than two values. Only the body of such a function shows which value is which.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// How many values a tuple may have.
const MOST: usize = 2;

/// A parameter with a long tuple.
#[derive(Debug, PartialEq)]
pub struct Parameter {
    pub function: String,
    pub line: usize,
}

/// The parameters of the functions of a file, except for its tests, that are long tuples.
pub fn long_parameters(tokens: TokenStream) -> Vec<Parameter> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (index, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) if !is_of_tests(&trees[..index]) => {
                found.extend(long_parameters(group.stream()));
            }
            TokenTree::Ident(word) if word == "fn" => found.extend(function(&trees[index..])),
            _ => {}
        }
    }
    found
}

/// Whether these tokens end with `#[cfg(test)] mod NAME`.
fn is_of_tests(before: &[TokenTree]) -> bool {
    let [.., attribute, module, _] = before else { return false };
    module.to_string() == "mod" && attribute.to_string().replace(' ', "") == "[cfg(test)]"
}

/// The long tuples of the function with its keyword as the first of these tokens.
fn function(trees: &[TokenTree]) -> Vec<Parameter> {
    let Some(TokenTree::Ident(name)) = trees.get(1) else { return Vec::new() };
    let Some(list) = parameters(&trees[2..]) else { return Vec::new() };
    let long = split(list).into_iter().filter_map(|parameter| {
        let colon = parameter.iter().position(|tree| is(tree, ':'))?;
        is_long_tuple(&parameter[colon + 1..]).then(|| parameter[0].span().start().line)
    });
    long.map(|line| Parameter { function: name.to_string(), line }).collect()
}

/// The list of parameters, which may follow generic ones.
fn parameters(trees: &[TokenTree]) -> Option<TokenStream> {
    let mut depth = 0;
    for (index, tree) in trees.iter().enumerate() {
        depth += nesting(tree, index.checked_sub(1).map(|before| &trees[before]));
        if depth == 0 && matches!(tree, TokenTree::Group(_)) {
            return as_tuple(tree);
        }
    }
    None
}

/// How many more angle brackets are open after `tree`, which follows `before`.
fn nesting(tree: &TokenTree, before: Option<&TokenTree>) -> i32 {
    let is_arrow = before.is_some_and(|before| is(before, '-'));
    i32::from(is(tree, '<')) - i32::from(is(tree, '>') && !is_arrow)
}

/// Whether a type is a tuple of too many values, or a reference to one.
fn is_long_tuple(ty: &[TokenTree]) -> bool {
    let Some((last, before)) = ty.split_last() else { return false };
    let is_reference = before.iter().enumerate().all(|(index, tree)| match tree {
        TokenTree::Punct(punct) => matches!(punct.as_char(), '&' | '\''),
        TokenTree::Ident(word) => word == "mut" || index > 0 && is(&before[index - 1], '\''),
        _ => false,
    });
    is_reference && as_tuple(last).is_some_and(|values| split(values).len() > MOST)
}

/// The tokens between parentheses.
fn as_tuple(tree: &TokenTree) -> Option<TokenStream> {
    match tree {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
            Some(group.stream())
        }
        _ => None,
    }
}

/// The parts between commas, except for those between angle brackets.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut parts, mut part, mut depth) = (Vec::new(), Vec::new(), 0);
    for tree in tokens {
        if is(&tree, ',') && depth == 0 {
            parts.push(std::mem::take(&mut part));
            continue;
        }
        depth += nesting(&tree, part.last());
        part.push(tree);
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

fn is(tree: &TokenTree, punct: char) -> bool {
    matches!(tree, TokenTree::Punct(it) if it.as_char() == punct)
}

#[test]
fn a_parameter_of_three_values_is_found_and_two_values_an_array_or_a_test_are_not() {
    let text = "fn two((a, b): (u8, Vec<(u8, u8, u8)>), c: [u8; 3]) -> (u8, u8, u8) {}\n\
                fn list(rows: &[(u8, u8, u8)], map: HashMap<u8, u8>, run: &impl Fn(u8, u8, u8)) {}\n\
                fn three<T: Fn(u8) -> u8>(self,\n (a, b, c): (u8, T, &str)) {}\n\
                mod m { fn reference(abc: &'a mut (u8, u8, u8,)) {} }\n\
                #[cfg(test)]\nmod tests { fn three(abc: (u8, u8, u8)) {} }\n";
    let parameter = |function: &str, line| Parameter { function: function.into(), line };
    let found = long_parameters(text.parse().unwrap());
    assert_eq!(found, [parameter("three", 4), parameter("reference", 5)]);
}
