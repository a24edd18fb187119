//! The keys of `#[kernels(…)]`: the source of a block's kernels, and its compiler.

use gpuprof_model::suggest;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Expr, ExprLit, Lit, LitStr, Path};

use super::define::{self, Define};
use super::file::{self, Kind};
use super::globals::Variable;
use crate::errors::Errors;
use crate::invisible_groups;
use crate::items::{self, Form, Item};

/// The keys, with how each is written.
const KEYS: [(&str, &str); 9] = [
    ("cuda", "cuda = \"kernels/scan.cu\""),
    ("ptx", "ptx = \"kernels/scan.ptx\""),
    ("cubin", "cubin = \"kernels/scan.cubin\""),
    ("fatbin", "fatbin = \"kernels/scan.fatbin\""),
    ("include", "include = [\"kernels\"]"),
    ("define", "define(RADIX = 4)"),
    ("options", "options = [\"--use_fast_math\"]"),
    ("compiler", "compiler = nvcc"),
    ("crate", "crate = ::gpuprof"),
];

/// The keys that say where kernels are.
const SOURCES: [&str; 4] = ["cuda", "ptx", "cubin", "fatbin"];

/// The keys that the compiler is for.
const COMPILED: [&str; 4] = ["include", "define", "options", "compiler"];

/// The compilers to choose from, with their names in the registry.
const COMPILERS: [(&str, &str); 3] = [("auto", "Auto"), ("nvrtc", "Nvrtc"), ("nvcc", "Nvcc")];

/// The source of kernels.
pub(crate) enum SourceKey {
    /// CUDA C++ files of the package.
    Cuda(Vec<LitStr>),
    /// A PTX file of the package.
    PtxFile(LitStr),
    /// PTX that another crate holds as text.
    PtxText(Box<Expr>),
    /// A cubin or a fatbin of the package.
    MachineCode(LitStr),
}

/// The common data of all kernels of a block.
#[derive(Default)]
pub(crate) struct Block {
    /// Their source; none if it was wrong.
    source: Option<SourceKey>,
    /// Folders with headers.
    pub(crate) include: Vec<LitStr>,
    /// What is defined for the compiler.
    pub(crate) defines: Vec<Define>,
    /// Options of the compiler.
    pub(crate) options: Vec<LitStr>,
    /// The compiler's name in the registry; none without a choice.
    compiler: Option<&'static str>,
    /// The variables of the device that kernels may set.
    pub(crate) variables: Vec<Variable>,
    /// Where `gpuprof` is.
    pub(crate) gpuprof: Option<Path>,
}

impl Block {
    /// Reads the attribute's `tokens`.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut block = Self::default();
        let mut seen: Vec<Ident> = Vec::new();
        for item in items::split(tokens, "KEY = VALUE or define(NAME = VALUE)", errors) {
            if seen.contains(&item.name) {
                errors.at(&item.name, format!("duplicate key `{}`", item.name));
                continue;
            }
            seen.push(item.name.clone());
            block.read(item, errors);
        }
        check_sources(&seen, errors);
        block
    }

    fn read(&mut self, Item { name, form }: Item, errors: &mut Errors) {
        let key = name.to_string();
        let Some((_, example)) = KEYS.iter().find(|(known, _)| *known == key) else {
            let near = suggest::did_you_mean(&key, KEYS.iter().map(|(key, _)| *key));
            let all = || KEYS.map(|(key, _)| key).join(", ");
            let near = near.unwrap_or_else(|| format!("the keys are {}", all()));
            errors.at(&name, format!("unknown key `{key}`: {near}"));
            return;
        };
        match (key.as_str(), form) {
            ("define", Form::List(list)) => self.defines = define::all(&list, errors),
            ("define", _) | (_, Form::List(_) | Form::Where(_) | Form::Constant(_)) => {
                errors.at(&name, format!("write {example}"));
            }
            (key, Form::Value(value)) => {
                let Some(value) = errors.attempt(syn::parse2::<Expr>(value)) else { return };
                self.set(key, invisible_groups::expr(&value), example, errors);
            }
        }
    }

    fn set(&mut self, key: &str, value: &Expr, example: &str, errors: &mut Errors) {
        let mut list = |value| texts(value, example, errors);
        match key {
            "cuda" => {
                let files = list(value);
                files.iter().for_each(|file| file::check(file, Kind::File, errors));
                if !files.is_empty() {
                    self.source = Some(SourceKey::Cuda(files));
                }
            }
            "ptx" => match text(value) {
                Some(file) => {
                    file::check(&file, Kind::File, errors);
                    self.source = Some(SourceKey::PtxFile(file));
                }
                None => self.source = Some(SourceKey::PtxText(Box::new(value.clone()))),
            },
            "cubin" | "fatbin" => match text(value) {
                Some(file) => {
                    file::check(&file, Kind::File, errors);
                    self.source = Some(SourceKey::MachineCode(file));
                }
                None => errors.at(value, format!("expected a file of the package: {example}")),
            },
            "include" => {
                self.include = list(value);
                self.include.iter().for_each(|folder| file::check(folder, Kind::Folder, errors));
            }
            "options" => self.options = list(value),
            "compiler" => {
                let known = |(name, of_registry): &(&str, &'static str)| {
                    matches!(value, Expr::Path(path) if path.path.is_ident(name))
                        .then_some(*of_registry)
                };
                self.compiler = COMPILERS.iter().find_map(known);
                if self.compiler.is_none() {
                    errors.at(value, "`compiler` is auto, nvrtc or nvcc: compiler = nvcc");
                }
            }
            "crate" => match value {
                Expr::Path(path) if path.qself.is_none() => self.gpuprof = Some(path.path.clone()),
                other => errors.at(other, "`crate` takes a path: crate = ::gpuprof"),
            },
            other => unreachable!("`{other}` of KEYS has no arm"),
        }
    }

    /// Whether the kernels are compiled, so that constants can be defined.
    pub(crate) fn is_compiled(&self) -> bool {
        matches!(self.source, Some(SourceKey::Cuda(_)) | None)
    }

    /// Who compiles, as the registry has it; `gp` is the path to gpuprof's private items.
    pub(crate) fn compiler(&self, gp: &TokenStream) -> TokenStream {
        let compiler = Ident::new(self.compiler.unwrap_or("Auto"), Span::call_site());
        quote!(#gp::CudaCompiler::#compiler)
    }

    /// The source as the registry has it; `gp` is the path to gpuprof's private items.
    pub(crate) fn source(&self, gp: &TokenStream) -> TokenStream {
        match &self.source {
            Some(SourceKey::Cuda(files)) => quote!(#gp::KernelSource::Cuda(&[#(#files),*])),
            Some(SourceKey::PtxFile(file)) => quote!(#gp::KernelSource::PtxFile(#file)),
            Some(SourceKey::PtxText(text)) => quote!(#gp::KernelSource::PtxText(|| #text)),
            Some(SourceKey::MachineCode(file)) => quote!(#gp::KernelSource::MachineCode(#file)),
            None => quote!(#gp::KernelSource::Cuda(&[])),
        }
    }
}

/// Refuses keys of two sources, of none, and of a compiler that has nothing to compile.
fn check_sources(seen: &[Ident], errors: &mut Errors) {
    let of_sources = seen.iter().filter(|name| SOURCES.iter().any(|source| *name == source));
    let of_sources: Vec<&Ident> = of_sources.collect();
    match of_sources[..] {
        [] => errors.push(syn::Error::new(
            Span::call_site(),
            "say where the kernels are: cuda = \"kernels/scan.cu\", ptx = \"kernels/scan.ptx\", cubin = \
             \"kernels/scan.cubin\" or fatbin = \"kernels/scan.fatbin\"",
        )),
        [source] if source == "cuda" => {}
        [source] => {
            let what = if source == "ptx" { "PTX" } else { "machine code" };
            let of_compiler =
                seen.iter().filter(|name| COMPILED.iter().any(|key| *name == key));
            for name in of_compiler {
                let message = format!("`{name}` is for the compiler, and {what} is compiled already");
                errors.at(name, message);
            }
        }
        [first, second, ..] => {
            let message = format!("the kernels of a block are in `{first}` or in `{second}`: use two blocks");
            errors.at(second, message);
        }
    }
}

/// The texts of `"a"` or `["a", "b"]`.
fn texts(value: &Expr, example: &str, errors: &mut Errors) -> Vec<LitStr> {
    let given: Vec<&Expr> = match value {
        Expr::Array(list) => list.elems.iter().map(invisible_groups::expr).collect(),
        one => vec![one],
    };
    let mut out = Vec::new();
    for value in given {
        match text(value) {
            Some(text) => out.push(text),
            None => errors.at(value, format!("expected a text in quotes: {example}")),
        }
    }
    if out.is_empty() && matches!(value, Expr::Array(list) if list.elems.is_empty()) {
        errors.at(value, format!("the list is empty: {example}"));
    }
    out
}

fn text(value: &Expr) -> Option<LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        // `include_str!` and `concat!` are text that rustc knows.
        _ => None,
    }
}
