//! The names that C++ code gives to the symbols that a compiler mangles.

use cpp_demangle::{DemangleOptions, Symbol};

/// The name in C++ of a mangled `symbol`, without its parameters.
pub fn full_name(symbol: &str) -> Option<String> {
    let options = DemangleOptions::new().no_params().no_return_type();
    Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()
}

/// The name by which people know a mangled `symbol`: without parameters, types of numbers and
/// unnamed namespaces.
pub fn demangle(symbol: &str) -> Option<String> {
    full_name(symbol).map(|name| readable(&name))
}

/// The name without the types of numbers, as in `(unsigned int)64`, and without namespaces that
/// have no name.
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
