//! Entry points by their names in C++: PTX holds `_Z4gemmILi64EfEvPKf`, and a declaration says
//! `gemm<64, float>`.

use gpuprof_system::symbol::{name_in_cpp, readable};

use crate::cuda_cpp::Entry;

/// The mangled name of the one entry point that C++ calls `name`; `None` if there are several
/// (overloads), and if an entry point has exactly this name.
pub(super) fn found<'p>(name: &str, points: &'p [Entry]) -> Option<&'p str> {
    if points.iter().any(|point| point.name == name) {
        return None;
    }
    let wanted = plain(&readable(name));
    let is_wanted =
        |point: &&Entry| name_in_cpp(&point.name).is_some_and(|name| plain(&name) == wanted);
    let mut all = points.iter().filter(is_wanted).map(|point| point.name.as_str());
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// The name for a declaration of the entry point `symbol`, one of `points`: its C++ name if that is
/// unique.
pub(super) fn written(symbol: &str, points: &[Entry]) -> String {
    let alone = name_in_cpp(symbol).filter(|name| found(name, points) == Some(symbol));
    alone.unwrap_or_else(|| symbol.to_owned())
}

/// The name without spaces, for comparisons.
fn plain(name: &str) -> String {
    name.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_template_instances_are_found_by_cpp_names() {
        let symbols = [
            "_Z4gemmILi64E6__halfEvjPKT0_S2_Pf",
            "_Z4gemmILi128E6__halfEvjPKT0_S2_Pf",
            "_Z4gemmILj64ELb1EfEvPKf",
            "_ZN2ns4scanILi4EfEEvjPKT0_",
            "_ZN12_GLOBAL__N_15innerILm3EEEvv",
            "_Z4pairI3SumI6__halfEEvv",
            "_Z6simplePf",
            "_Z6doublePf",
            "_Z6doublePd",
        ];
        let entry = |symbol: &&str| format!(".visible .entry {symbol}()\n{{\nret;\n}}\n");
        let entries: String = symbols.iter().map(entry).collect();
        let points = crate::cuda_cpp::every_entry(&format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n{entries}"
        ));
        let at = |name| {
            let symbol = found(name, &points)?;
            symbols.iter().position(|other| *other == symbol)
        };
        assert_eq!(at("gemm<64, __half>"), Some(0));
        assert_eq!(at("gemm<128,__half>"), Some(1));
        assert_eq!(at("gemm<64, true, float>"), Some(2));
        assert_eq!(at("ns::scan<4, float>"), Some(3));
        assert_eq!(at("inner<3>"), Some(4));
        assert_eq!(at("pair<Sum<__half>>"), Some(5));
        assert_eq!(at("simple"), Some(6));
        assert_eq!(at("double"), None, "two functions are called so");
        assert_eq!(at("gemm<32, __half>"), None);
        assert_eq!(written(symbols[0], &points), "gemm<64, __half>");
        assert_eq!(written(symbols[2], &points), "gemm<64, true, float>");
        assert_eq!(written(symbols[7], &points), symbols[7], "two functions are called so");
    }
}
