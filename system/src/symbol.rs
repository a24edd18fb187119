//! Names of symbols as their sources spell them.

use cpp_demangle::{DemangleOptions, Symbol};

/// The name in C++ of a mangled `symbol`, without its parameters.
pub fn name_in_cpp(symbol: &str) -> Option<String> {
    let options = DemangleOptions::new().no_params().no_return_type();
    let name = Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()?;
    Some(readable(&name))
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
