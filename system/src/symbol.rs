//! Demangled names of symbols.

use cpp_demangle::{DemangleOptions, Symbol};

/// The name in C++ of a mangled `symbol`, without its parameters; none for a name in C, which may
/// read like the encoding of a type or of an operator (`Dh`, `pl`).
pub fn name_in_cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let name = Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()?;
    Some(readable(&name))
}

/// The name without casts of numbers, as in `(unsigned int)64`, and without anonymous namespaces.
pub fn readable(name: &str) -> String {
    let mut readable = String::new();
    let mut depth = 0;
    for c in name.replace("(anonymous namespace)::", "").chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            c if depth == 0 => readable.push(c),
            _ => {}
        }
    }
    readable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unmangled_name_is_unchanged() {
        for name in ["pl", "Dh", "f", "sum", "k_Z1fv", "__Z3fooi"] {
            assert_eq!(name_in_cpp(name), None, "{name}");
        }
        assert_eq!(name_in_cpp("_Z5scalePfi").as_deref(), Some("scale"));
        assert_eq!(name_in_cpp("_Z5scaleIfEvPT_i").as_deref(), Some("scale<float>"));
    }
}
