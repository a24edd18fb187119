//! `device_print!`: Rust's format string in, the pieces of one for CUDA's `vprintf` out.
//!
//! The macro does not know the types of its arguments. So it passes the text between them, and the
//! format of each pair of braces, to the library as constants of a type; the conversion of a value
//! for `vprintf` (`%u`, `%lld`, `%g`) is inserted where the types are known, at compile time.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, LitStr, Path, Token};

use crate::crate_path;

/// The most values of one print.
const MOST: usize = 8;

/// `[crate = PATH,] "TEXT" [, EXPR]…`
pub(crate) struct Input {
    gpuprof: Path,
    text: LitStr,
    values: Vec<Expr>,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut gpuprof = crate_path::gpuprof();
        if input.peek(Token![crate]) {
            input.parse::<Token![crate]>()?;
            input.parse::<Token![=]>()?;
            gpuprof = input.call(Path::parse_mod_style)?;
            input.parse::<Token![,]>()?;
        }
        let text = input.parse()?;
        let mut values = Vec::new();
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
            let parsed = Punctuated::<Expr, Token![,]>::parse_terminated(input)?;
            values = parsed.into_iter().collect();
        }
        Ok(Self { gpuprof, text, values })
    }
}

/// The format in braces, in C's terms: flags, width and precision; then the conversion, if they
/// name one.
#[derive(Debug, PartialEq)]
struct Spec {
    shape: String,
    conversion: &'static str,
}

/// One pair of braces: the name in it, and how it is shown.
type Placeholder<'t> = (&'t str, Spec);

/// The expansion.
pub(crate) fn print(input: &Input) -> syn::Result<TokenStream> {
    let Input { gpuprof, text, values } = input;
    let refuse = |why: String| syn::Error::new(text.span(), why);
    let format = format!("{}\n", text.value());
    let (pieces, shown) = read(&format).map_err(refuse)?;
    let mut given = values.iter();
    let mut passed = Vec::new();
    let mut specs = Vec::new();
    for (name, Spec { shape, conversion }) in &shown {
        specs.push(quote!((#shape, #conversion)));
        if name.is_empty() {
            let next = given.next().ok_or_else(|| {
                refuse(format!("{} `{{}}` and {} values", shown.len(), values.len()))
            })?;
            passed.push(quote!(#next));
        } else {
            let name = syn::parse_str::<Ident>(name)
                .map_err(|_| refuse(format!("`{{{name}}}` names no variable")))?;
            let name = Ident::new(&name.to_string(), text.span());
            passed.push(quote!(#name));
        }
    }
    if let Some(extra) = given.next() {
        return Err(syn::Error::new_spanned(extra, "there is no `{}` for this value"));
    }
    if passed.len() > MOST {
        return Err(refuse(format!("one print shows at most {MOST} values")));
    }
    let own = Ident::new("Text", Span::mixed_site());
    Ok(quote! {
        {
            enum #own {}
            impl #gpuprof::__print::Text for #own {
                const PIECES: &'static [&'static str] = &[#(#pieces),*];
                const SPECS: &'static [(&'static str, &'static str)] = &[#(#specs),*];
            }
            #gpuprof::__print::print::<#own, _>((#(#passed,)*))
        }
    })
}

/// The text around the braces, and the braces.
fn read(format: &str) -> Result<(Vec<String>, Vec<Placeholder<'_>>), String> {
    let (mut pieces, mut shown) = (vec![String::new()], Vec::new());
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        let piece = pieces.last_mut().ok_or("no piece")?;
        piece.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            piece.push_str(brace);
            rest = after;
            continue;
        }
        if brace == "}" {
            return Err("a `}` closes nothing; write `}}` for the character".to_owned());
        }
        let (inside, after) =
            rest.split_once('}').ok_or("a `{` is not closed; write `{{` for the character")?;
        let (name, asked) = inside.split_once(':').unwrap_or((inside, ""));
        shown.push((name.trim(), spec(asked.trim())?));
        pieces.push(String::new());
        rest = after;
    }
    if let Some(piece) = pieces.last_mut() {
        piece.push_str(rest);
    }
    Ok((pieces, shown))
}

/// `<8.3`, `+`, `#x`, `08`, `?`, …
fn spec(asked: &str) -> Result<Spec, String> {
    let unknown = || {
        format!(
            "`{{:{asked}}}` is not known to device_print!, which has < + # 0, a width, a precision, and \
             x, X, o, e, E and ?"
        )
    };
    let mut shape = String::new();
    let mut rest = asked;
    if let Some(after) = rest.strip_prefix(['<', '>']) {
        if rest.starts_with('<') {
            shape.push('-');
        }
        rest = after;
    }
    for flag in ["+", "#", "0"] {
        if let Some(after) = rest.strip_prefix(flag) {
            shape.push_str(flag);
            rest = after;
        }
    }
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    shape.push_str(&rest[..end]);
    rest = &rest[end..];
    let mut precise = false;
    if let Some(after) = rest.strip_prefix('.') {
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        if end == 0 {
            return Err(unknown());
        }
        shape.push('.');
        shape.push_str(&after[..end]);
        rest = &after[end..];
        precise = true;
    }
    let conversion = match rest {
        "" | "?" if precise => "f",
        "" | "?" => "",
        "x" => "x",
        "X" => "X",
        "o" => "o",
        "e" => "e",
        "E" => "E",
        _ => return Err(unknown()),
    };
    Ok(Spec { shape, conversion })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn braces(text: &str) -> Result<(Vec<String>, Vec<String>), String> {
        let (pieces, shown) = read(text)?;
        let told = |(name, Spec { shape, conversion }): Placeholder<'_>| {
            format!("{name}:{shape}{conversion}")
        };
        Ok((pieces, shown.into_iter().map(told).collect()))
    }

    #[test]
    fn format_braces_become_c_formats() {
        let (pieces, shown) = braces("{i} is {:08.3}, {x:#x} {:<4} {:?} {{}} 100 %").unwrap();
        assert_eq!(pieces, ["", " is ", ", ", " ", " ", " {} 100 %"]);
        assert_eq!(shown, ["i:", ":08.3f", "x:#x", ":-4", ":"]);
    }

    #[test]
    fn an_unsupported_format_is_refused() {
        assert!(braces("{").unwrap_err().starts_with("a `{` is not closed"));
        assert!(braces("}").unwrap_err().starts_with("a `}` closes nothing"));
        assert!(braces("{:^5}").unwrap_err().starts_with("`{:^5}` is not known"));
        let refused = |text: &str| print(&syn::parse_str(text).unwrap()).unwrap_err().to_string();
        assert_eq!(refused("\"{} {}\", 1"), "2 `{}` and 1 values");
        assert_eq!(refused("\"{}\", 1, 2"), "there is no `{}` for this value");
        assert_eq!(refused("\"{1}\", 1"), "`{1}` names no variable");
    }
}
