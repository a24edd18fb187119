//! Suggestions, in messages, for mathematical functions that kernels cannot get from std or from C.
//!
//! Input: the name of a function in Rust or in C. Output: gpuprof's function. Methods of `f32`
//! and `f64` with std's names are those of a trait, which has to be in scope.

/// Methods of `gpuprof::FloatMath`, named as in std.
const METHODS: [&str; 32] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh",
    "exp", "exp2", "exp_m1", "floor", "fract", "hypot", "ln", "ln_1p", "log", "log10", "log2",
    "mul_add", "powf", "powi", "round", "sin", "sin_cos", "sinh", "sqrt", "tan", "tanh",
];

/// Functions of `gpuprof::math`.
const FUNCTIONS: [&str; 4] = ["erf", "erfc", "gamma", "ln_gamma"];

/// Methods of `gpuprof::FastMath`, without the `fast_` before them.
const FAST: [&str; 10] =
    ["cos", "exp", "exp2", "ln", "log10", "log2", "powf", "sin", "tan", "tanh"];

/// Names that differ in C; for `f32` with an `f` appended.
const OF_C: [(&str, &str); 7] = [
    ("log", "ln"),
    ("log1p", "ln_1p"),
    ("expm1", "exp_m1"),
    ("pow", "powf"),
    ("fma", "mul_add"),
    ("tgamma", "gamma"),
    ("lgamma", "ln_gamma"),
];

/// What to use where rustc knows no method or function `name`; none where it is none of std's.
pub(super) fn of_std(name: &str) -> Option<String> {
    let known = METHODS.into_iter().chain(FUNCTIONS).find(|known| *known == name)?;
    Some(stands_in(known))
}

/// What to use for the function of C's library, or of LLVM's, called `name`; none where it is none.
pub(super) fn of_c(name: &str) -> Option<String> {
    let rust = |name: &str| {
        let renamed = OF_C.iter().find(|(of_c, _)| *of_c == name).map(|(_, rust)| *rust);
        renamed.or_else(|| METHODS.into_iter().chain(FUNCTIONS).find(|known| *known == name))
    };
    let name = rust(name).or_else(|| rust(name.strip_suffix('f')?))?;
    Some(stands_in(name))
}

fn stands_in(name: &str) -> String {
    if FUNCTIONS.contains(&name) {
        return format!("call gpuprof::math::{name}");
    }
    let method =
        format!("call the method `{name}` of gpuprof::FloatMath (use gpuprof::prelude::*)");
    match FAST.contains(&name) {
        true => format!("{method}, or `fast_{name}`, which is approximate"),
        false => method,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shims_match_the_runtime() {
        let source = |file: &str| {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../runtime/src/device/math/");
            std::fs::read_to_string(format!("{folder}{file}")).unwrap()
        };
        let (float, fast, special) = (source("float.rs"), source("fast.rs"), source("special.rs"));
        for name in METHODS {
            assert!(float.contains(&format!("fn {name}(self")), "{name}");
        }
        for name in FAST {
            assert!(METHODS.contains(&name) && fast.contains(&format!("fn fast_{name}(self")));
        }
        for name in FUNCTIONS {
            assert!(special.contains(&format!("pub fn {name}<")), "{name}");
        }
    }

    #[test]
    fn replacements_are_found_by_rust_and_c_names() {
        let exp = "call the method `exp` of gpuprof::FloatMath (use gpuprof::prelude::*), or \
                   `fast_exp`, which is approximate";
        assert_eq!(of_std("exp").as_deref(), Some(exp));
        assert_eq!(of_c("expf").as_deref(), Some(exp));
        assert_eq!(of_c("exp").as_deref(), Some(exp));
        assert!(of_c("logf").unwrap().contains("`ln`"));
        assert!(of_c("pow").unwrap().contains("`powf`"));
        assert!(of_std("powf").unwrap().contains("`powf`"));
        assert!(!of_c("atan2f").unwrap().contains("fast"));
        assert_eq!(of_c("lgammaf").as_deref(), Some("call gpuprof::math::ln_gamma"));
        assert_eq!(
            (of_std("push"), of_std("expf"), of_c("solve"), of_c("f")),
            (None, None, None, None)
        );
    }
}
