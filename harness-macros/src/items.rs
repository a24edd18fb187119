//! The outermost form of every attribute: `NAME = VALUE` and `NAME(LIST)`, separated by commas.
//!
//! Input: the tokens between an attribute's parentheses. Output: its items in order. A comma
//! separates items only where another item begins after it, so that a value may itself be a list
//! (`block = 64, 96, 128, n = 1K`).

use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};

use crate::errors::Errors;

/// The rest of an item after its name.
pub(crate) enum Form {
    /// `NAME = VALUE`
    Value(TokenStream),
    /// `NAME(LIST)`
    List(Group),
    /// `const NAME = VALUE`, in a series
    Constant(TokenStream),
    /// `where CONDITION`, in a series; the name is `where` itself
    Where(TokenStream),
}

/// One item of an attribute.
pub(crate) struct Item {
    /// Its name, which may be a keyword.
    pub(crate) name: Ident,
    /// The rest after the name.
    pub(crate) form: Form,
}

/// Splits `tokens` into items; `expected` describes an item for messages.
pub(crate) fn split(tokens: TokenStream, expected: &str, errors: &mut Errors) -> Vec<Item> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut items = Vec::new();
    let mut start = 0;
    for end in 0..=tokens.len() {
        let ends = match tokens.get(end) {
            Some(token) => is_comma(token) && begins_item(&tokens[end + 1..]),
            None => true,
        };
        if !ends {
            continue;
        }
        let mut item = &tokens[start..end];
        start = end + 1;
        if let Some((last, rest)) = item.split_last()
            && is_comma(last)
        {
            item = rest;
        }
        if !item.is_empty() {
            items.extend(read(item, expected, errors));
        }
    }
    items
}

fn read(tokens: &[TokenTree], expected: &str, errors: &mut Errors) -> Option<Item> {
    let all = || tokens.iter().cloned().collect::<TokenStream>();
    match tokens {
        [TokenTree::Ident(keyword), condition @ ..]
            if keyword == "where" && !condition.is_empty() && !is_equals(&condition[0]) =>
        {
            let form = Form::Where(condition.iter().cloned().collect());
            Some(Item { name: keyword.clone(), form })
        }
        [
            TokenTree::Ident(keyword),
            TokenTree::Ident(name),
            TokenTree::Punct(equals),
            value @ ..,
        ] if keyword == "const" && equals.as_char() == '=' && !value.is_empty() => {
            let form = Form::Constant(value.iter().cloned().collect());
            Some(Item { name: name.clone(), form })
        }
        [TokenTree::Ident(name), TokenTree::Punct(equals), value @ ..]
            if equals.as_char() == '=' =>
        {
            if value.is_empty() {
                errors.at(all(), format!("`{name}` has no value"));
                return None;
            }
            let form = Form::Value(value.iter().cloned().collect());
            Some(Item { name: name.clone(), form })
        }
        [TokenTree::Ident(name), TokenTree::Group(list)] if is_list(list) => {
            Some(Item { name: name.clone(), form: Form::List(list.clone()) })
        }
        _ => {
            errors.at(all(), format!("expected {expected}"));
            None
        }
    }
}

fn begins_item(tokens: &[TokenTree]) -> bool {
    match tokens {
        [] => true,
        [TokenTree::Ident(name), ..] if name == "const" || name == "where" => true,
        [TokenTree::Ident(_), TokenTree::Group(list), ..] => is_list(list),
        [TokenTree::Ident(_), TokenTree::Punct(equals), after @ ..] => {
            let doubled = equals.spacing() == Spacing::Joint
                && matches!(after, [TokenTree::Punct(p), ..] if p.as_char() == '=');
            equals.as_char() == '=' && !doubled
        }
        _ => false,
    }
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(p) if p.as_char() == ',')
}

fn is_equals(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(p) if p.as_char() == '=')
}

fn is_list(group: &Group) -> bool {
    group.delimiter() == Delimiter::Parenthesis
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let mut errors = Errors::default();
        let items = split(text.parse().unwrap(), "NAME = VALUE", &mut errors);
        errors.into_result().unwrap();
        items
            .iter()
            .map(|item| match &item.form {
                Form::Value(value) => format!("{}={value}", item.name),
                Form::List(list) => format!("{}{list}", item.name),
                Form::Constant(value) => format!("const {}={value}", item.name),
                Form::Where(condition) => format!("where:{condition}"),
            })
            .collect()
    }

    #[test]
    fn a_comma_separates_items_only_before_another_item() {
        assert_eq!(names("block = 64, 96, n = 1K,"), ["block=64 , 96", "n=1K"]);
        assert_eq!(names("args(n, 2.0), grid = a == b"), ["args(n , 2.0)", "grid=a == b"]);
        assert_eq!(
            names("grid = f::<A, B>(n), crate = gp"),
            ["grid=f ::< A , B > (n)", "crate=gp"]
        );
        assert_eq!(
            names("zip(a = 1, b = 2), const TILE = 8, 16, where n <= 2, n = 1"),
            ["zip(a = 1 , b = 2)", "const TILE=8 , 16", "where:n <= 2", "n=1"]
        );
        assert!(names("").is_empty());
    }

    #[test]
    fn an_invalid_item_is_refused() {
        for (text, message) in [
            ("block", "expected NAME = VALUE"),
            ("block =", "`block` has no value"),
            ("where", "expected NAME = VALUE"),
            ("const TILE", "expected NAME = VALUE"),
        ] {
            let mut errors = Errors::default();
            split(text.parse().unwrap(), "NAME = VALUE", &mut errors);
            assert_eq!(errors.into_result().unwrap_err().to_string(), message, "{text}");
        }
    }
}
