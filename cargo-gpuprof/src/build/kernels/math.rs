//! What stands in for functions of std's floating-point numbers, which the device does not have.
//!
//! Input: the name of a function, as Rust or as C has it. Output: what to call instead.

/// Functions of std and of C's library (`f32` has the same with an `f` behind it), and the fast one
/// of `gpuprof::FastMath`.
const FAST: [(&str, &str); 9] = [
    ("exp", "fast_exp"),
    ("exp2", "fast_exp2"),
    ("ln", "fast_ln"),
    ("log", "fast_ln"),
    ("log2", "fast_log2"),
    ("sin", "fast_sin"),
    ("cos", "fast_cos"),
    ("tanh", "fast_tanh"),
    ("recip", "fast_recip"),
];

/// Others of std's, by Rust's names and by C's.
const OTHERS: [&str; 31] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "cosh",
    "exp10",
    "exp_m1",
    "expm1",
    "fmod",
    "hypot",
    "ln_1p",
    "log10",
    "log1p",
    "pow",
    "powf",
    "powi",
    "sin_cos",
    "sinh",
    "tan",
    "tgamma",
    "gamma",
    "ln_gamma",
    "lgamma",
    "erf",
    "erfc",
    "div_euclid",
    "rem_euclid",
];

/// What to call instead of `name`; none where it is no such function.
pub(super) fn instead(name: &str) -> Option<String> {
    let of_f64 = || name.strip_suffix('f');
    let fast = |name: &str| FAST.iter().find(|(std, _)| *std == name).map(|(_, fast)| *fast);
    if let Some(fast) = fast(name).or_else(|| fast(of_f64()?)) {
        return Some(format!(
            "call `{fast}` of gpuprof::FastMath, which is approximate, or `{}` of the crate libm",
            in_libm(name)
        ));
    }
    let other = |name: &str| OTHERS.contains(&name);
    (other(name) || of_f64().is_some_and(other))
        .then(|| format!("call `{}` of the crate libm", in_libm(name)))
}

/// What libm, which has C's names, calls a function.
fn in_libm(name: &str) -> &str {
    match name {
        "ln" => "log",
        "powf" | "powi" => "pow",
        "exp_m1" => "expm1",
        "ln_1p" => "log1p",
        "sin_cos" => "sincos",
        "gamma" => "tgamma",
        "ln_gamma" => "lgamma",
        "div_euclid" => "floor",
        "rem_euclid" => "fmod",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_std_has_a_fast_one_or_one_of_libm() {
        let exp = "call `fast_exp` of gpuprof::FastMath, which is approximate, or `exp` of the crate libm";
        assert_eq!(instead("exp").as_deref(), Some(exp));
        assert_eq!(instead("expf").unwrap(), exp.replace("`exp`", "`expf`"));
        assert!(instead("ln").unwrap().ends_with("or `log` of the crate libm"));
        assert_eq!(instead("powf").as_deref(), Some("call `pow` of the crate libm"));
        assert_eq!(instead("atan2f").as_deref(), Some("call `atan2f` of the crate libm"));
        assert_eq!(instead("push"), None);
        assert_eq!(instead("f"), None);
    }
}
