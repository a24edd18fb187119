//! What the kernels of a source are called, for a message about a name that is not there.
//!
//! Input: CUDA C++. Output: the names behind `__global__`, without their namespaces. It is not
//! parsed: a kernel that a macro makes is not found.

/// The names of the kernels that `source` defines or declares, each once.
pub(super) fn kernel_names(source: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for after in source.split("__global__").skip(1) {
        if let Some(name) = name(after)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// The word in front of the first parenthesis that is no attribute's: `__launch_bounds__(256)`.
fn name(after: &str) -> Option<String> {
    let mut rest = after;
    loop {
        let (before, behind) = rest.split_once('(')?;
        if before.contains([';', '{', '#', '"']) {
            return None;
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word = before.trim_end().rsplit(|c| !is_word(c)).next()?;
        if !word.is_empty() && !word.starts_with("__") {
            return Some(word.to_owned());
        }
        rest = behind.split_once(')')?.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_stands_behind_bounds_and_types() {
        let source = "template <int N> __global__ void __launch_bounds__(256, (2)) first(int *x);\n\
                      namespace ns { extern \"C\" __global__\nvoid second (float *y) {} }\n\
                      void __global__ third() { x[1](2); }\n\
                      #define KERNEL __global__ void\n#define other(x) (x)\n\
                      __global__ void first(int *x) {}";
        assert_eq!(kernel_names(source), ["first", "second", "third"]);
    }
}
