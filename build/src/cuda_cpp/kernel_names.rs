//! The kernels of a source, for a message about a name that is not there or does not fit.
//!
//! Input: CUDA C++. Output: the names after `__global__`, with their namespaces and template
//! parameters. The text is scanned, not parsed: kernels from macros are not found.

mod template;
mod words;

use gpuprof_model::each_once::add_new;
use template::{Template, arguments, parts};
use words::words;

/// A kernel as its source writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceKernel {
    /// Its name with its namespaces: `ns::scan`.
    pub(super) full: String,
    /// Its template, if it is one.
    template: Option<Template>,
}

impl SourceKernel {
    /// Its name without its namespaces.
    pub(super) fn own(&self) -> &str {
        own(&self.full)
    }

    /// What is wrong with the template arguments of `expression`, which names it.
    pub(super) fn misfit(&self, expression: &str) -> Option<String> {
        let (name, given) = (&self.full, arguments(expression));
        match (&self.template, given) {
            (None, None) => None,
            (None, Some(_)) => {
                Some(format!("`{name}` is not a template: write symbol = \"{name}\""))
            }
            (Some(template), given) => template.misfit(name, given.as_deref()),
        }
    }
}

/// The last part of a name with namespaces.
pub(super) fn own(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name).trim()
}

/// A name without the arguments of a template.
pub(super) fn bare(expression: &str) -> &str {
    expression.split('<').next().unwrap_or(expression).trim()
}

/// The kernels that `source` defines or declares, each once.
pub(super) fn kernel_names(source: &str) -> Vec<SourceKernel> {
    let words = words(source);
    let mut kernels: Vec<SourceKernel> = Vec::new();
    // One for each brace that is open, with the namespaces that it opens.
    let mut scopes: Vec<Vec<&str>> = Vec::new();
    let mut template = None;
    let mut at = 0;
    while let Some(&word) = words.get(at) {
        at += 1;
        match word {
            "namespace" => {
                let names = words[at..].iter().take_while(|it| !["{", ";", "="].contains(it));
                let names: Vec<&str> = names.copied().collect();
                at += names.len();
                if words.get(at) == Some(&"{") {
                    at += 1;
                    scopes.push(names.into_iter().filter(|it| is_name(it)).collect());
                }
            }
            "template" => {
                let (parameters, length) = parts(&words[at..]);
                template = Some(Template::new(&parameters));
                at += length;
            }
            "__global__" => {
                let Some((name, length)) = name(&words[at..]) else { continue };
                at += length;
                let namespaces = scopes.iter().flatten().copied();
                let full = namespaces.chain([name]).collect::<Vec<_>>().join("::");
                let kernel = SourceKernel { full, template: template.take() };
                add_new(&mut kernels, [kernel]);
            }
            "{" => {
                template = None;
                scopes.push(Vec::new());
            }
            "}" => {
                template = None;
                scopes.pop();
            }
            ";" => template = None,
            _ => {}
        }
    }
    kernels
}

/// The word in front of the first parenthesis that does not belong to an attribute such as
/// `__launch_bounds__(256)`, and the number of words up to it.
fn name<'s>(after: &[&'s str]) -> Option<(&'s str, usize)> {
    let mut at = 0;
    loop {
        let open = at + after.get(at..)?.iter().position(|it| ["(", ";", "{"].contains(it))?;
        let word = *after.get(open.checked_sub(1)?)?;
        if after[open] != "(" {
            return None;
        }
        if is_name(word) && !word.starts_with("__") {
            return Some((word, open));
        }
        let mut depth = 0_usize;
        let closes = |it: &&str| {
            depth = match *it {
                "(" => depth + 1,
                ")" => depth - 1,
                _ => depth,
            };
            depth == 0
        };
        at = open + 1 + after[open..].iter().position(closes)?;
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str) -> Vec<String> {
        kernel_names(source).into_iter().map(|kernel| kernel.full).collect()
    }

    #[test]
    fn kernel_names_are_found_after_bounds_and_types() {
        let source = "template <int N> __global__ void __launch_bounds__(256, (2)) first(int *x);\n\
                      namespace ns { extern \"C\" __global__\nvoid second (float *y) {} }\n\
                      void __global__ third() { x[1](2); }\n\
                      #define KERNEL __global__ void\n#define other(x) (x)\n\
                      template <int N> __global__ void first(int *x) {}";
        assert_eq!(names(source), ["first", "ns::second", "third"]);
    }

    #[test]
    fn kernel_names_have_namespaces_and_ignore_comments_and_strings() {
        let source = "namespace a { namespace b::c { // } __global__ void no(){}\n\
                      struct S { int x; };\n__global__ void one() { if (1) { '}'; } }\n}\n\
                      const char *s = \"} __global__ void no()\"; /* { */\n\
                      namespace { __global__ void two() {} }\nnamespace x = a::b;\n}\n\
                      inline namespace v1 { __global__ void three() {} }\n__global__ void four();";
        assert_eq!(names(source), ["a::b::c::one", "a::two", "v1::three", "four"]);
    }

    #[test]
    fn mismatched_template_arguments_are_reported() {
        let source = "template <typename T, int ITEMS> __global__ void axpy(T *x) {}\n\
                      template <class T, bool UP = (1 > 0)> __global__ void sort(T *x) {}\n\
                      template <class... Ts> __global__ void pack(Ts... ts) {}\n\
                      namespace my { __global__ void sc(float *x) {} }";
        let kernels = kernel_names(source);
        let told = |expression: &str| {
            let kernel = kernels.iter().find(|it| it.full == bare(expression)).unwrap();
            kernel.misfit(expression).unwrap_or_default()
        };
        let whole = "`axpy` is a template of <typename T, int ITEMS>";
        assert_eq!(
            ["axpy", "axpy<float>", "axpy<float, 3, 4>", "axpy<3, float>"].map(told),
            [
                format!("{whole}: name its arguments, as in symbol = \"axpy<float, 4>\""),
                format!("{whole}: it takes 2 arguments, and there is 1"),
                format!("{whole}: it takes 2 arguments, and there are 3"),
                format!("{whole}: `3` is not a type"),
            ]
        );
        assert_eq!(told("axpy<float, double>"), format!("{whole}: `double` is a type, no value"));
        assert!(told("sort<A, true, 2>").ends_with("it takes 1 to 2 arguments, and there are 3"));
        assert_eq!(told("my::sc<3>"), "`my::sc` is not a template: write symbol = \"my::sc\"");
        for right in ["axpy<Pair<A, B>, (3 > 2)>", "axpy<T, N>", "sort<float>", "pack<A, B, C>"] {
            assert_eq!(told(right), "", "{right}");
        }
    }
}
