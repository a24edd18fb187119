//! Declared kernels: kernels that live in CUDA C++ files or in PTX and are annotated in Rust.
//!
//! Input: a declaration, as the harness describes it. Output: what each instance is called, and
//! what its launch must keep. An instance is a kernel with a value for every constant of its
//! series: constants that its name holds are template arguments, the others are definitions.

use serde::{Deserialize, Serialize};

use crate::axis::AxisValue;
use crate::configuration::Configuration;

/// A kernel as its declaration describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredKernel {
    /// Where it lives.
    pub source: DeclaredSource,
    /// Folders with headers, relative to the package.
    pub include: Vec<String>,
    /// Definitions for the preprocessor.
    pub defines: Vec<(String, String)>,
    /// More options of the compiler.
    pub options: Vec<String>,
    /// What it is called there, with `{NAME}` for the value of a constant.
    pub symbol: String,
    /// Its parameters.
    pub parameters: Vec<DeclaredParameter>,
}

/// Where a declared kernel lives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeclaredSource {
    /// CUDA C++ files, relative to the package.
    Cuda(Vec<String>),
    /// A PTX file, relative to the package.
    PtxFile(String),
    /// PTX that the program holds.
    PtxText(String),
}

/// A parameter as it is declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredParameter {
    /// Its name.
    pub name: String,
    /// Its type in Rust.
    pub rust: String,
    /// The same in CUDA C++.
    pub cpp: String,
    /// Its size.
    pub bytes: u32,
    /// The line of its type in the declaration's file.
    pub line: u32,
    /// The column of its type.
    pub column: u32,
}

impl DeclaredKernel {
    /// What the instance of `configuration` is called, and its definitions: those of the block,
    /// then a definition for each of the `constants` that the name does not hold.
    pub fn instance<'c>(
        &self,
        constants: impl IntoIterator<Item = &'c str>,
        configuration: &Configuration,
    ) -> (String, Vec<(String, String)>) {
        let (mut name, mut defines) = (self.symbol.clone(), self.defines.clone());
        for constant in constants {
            let Some(value) = configuration.get(constant) else { continue };
            let place = format!("{{{constant}}}");
            if name.contains(&place) {
                name = name.replace(&place, &value.to_string());
            } else {
                defines.push((constant.to_owned(), value.to_string()));
            }
        }
        (name, defines)
    }
}

/// The constants of `configuration` among `names`, as text: what tells an instance from others of
/// its series.
pub fn instance_key<'n>(
    names: impl IntoIterator<Item = &'n str>,
    configuration: &Configuration,
) -> String {
    let pairs = names.into_iter().filter_map(|name| {
        let value: &AxisValue = configuration.get(name)?;
        Some((name.to_owned(), value.clone()))
    });
    Configuration(pairs.collect()).to_string()
}

/// An instance that is ready to be launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredEntry {
    /// Which of the modules holds it.
    pub module: String,
    /// Its name in the PTX.
    pub symbol: String,
    /// Its name as people write it: `scan<4, float>`.
    pub shown: String,
    /// The most threads of a block that it is compiled for (`.maxntid`).
    #[serde(default)]
    pub max_threads: Option<u64>,
    /// The only block that it is compiled for (`.reqntid`).
    #[serde(default)]
    pub only_block: Option<[u32; 3]>,
}

impl DeclaredEntry {
    /// Why no launch of it can have `block`, if none can.
    pub fn refusal(&self, block: [u32; 3]) -> Option<String> {
        let Self { shown, .. } = self;
        if let Some(only) = self.only_block.filter(|only| *only != block) {
            let [x, y, z] = only;
            let [bx, by, bz] = block;
            return Some(format!(
                "`{shown}` is compiled for blocks of {x}x{y}x{z} alone (.reqntid), and this block is \
                 {bx}x{by}x{bz}"
            ));
        }
        let most = self.max_threads.filter(|most| threads(block) > *most)?;
        Some(format!(
            "a block of {} threads exceeds the launch bounds of `{shown}`, {most}, for which it is \
             compiled (.maxntid)",
            threads(block)
        ))
    }
}

fn threads(block: [u32; 3]) -> u64 {
    block.iter().map(|&extent| u64::from(extent)).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(symbol: &str) -> DeclaredKernel {
        DeclaredKernel {
            source: DeclaredSource::Cuda(vec!["a.cu".into()]),
            include: Vec::new(),
            defines: vec![("RADIX".into(), "4".into())],
            options: Vec::new(),
            symbol: symbol.to_owned(),
            parameters: Vec::new(),
        }
    }

    #[test]
    fn a_constant_is_an_argument_where_the_name_holds_it_and_else_a_definition() {
        let point = Configuration(vec![
            ("block".into(), AxisValue::Int(64)),
            ("ITEMS".into(), AxisValue::Int(4)),
            ("FAST".into(), AxisValue::Word("true".into())),
        ]);
        let constants = ["ITEMS", "FAST"];
        let (name, defines) = kernel("ns::scan<{ITEMS}, float>").instance(constants, &point);
        assert_eq!(name, "ns::scan<4, float>");
        assert_eq!(defines, [("RADIX".into(), "4".into()), ("FAST".into(), "true".into())]);
        assert_eq!(instance_key(constants, &point), "ITEMS=4,FAST=true");
    }

    #[test]
    fn a_block_beyond_the_bounds_is_refused_with_both_numbers() {
        let entry = |max_threads, only_block| DeclaredEntry {
            module: "m".into(),
            symbol: "_Z1kv".into(),
            shown: "k".into(),
            max_threads,
            only_block,
        };
        assert_eq!(entry(Some(256), None).refusal([256, 1, 1]), None);
        assert_eq!(
            entry(Some(256), None).refusal([16, 32, 1]).unwrap(),
            "a block of 512 threads exceeds the launch bounds of `k`, 256, for which it is compiled \
             (.maxntid)"
        );
        assert_eq!(
            entry(None, Some([128, 1, 1])).refusal([64, 1, 1]).unwrap(),
            "`k` is compiled for blocks of 128x1x1 alone (.reqntid), and this block is 64x1x1"
        );
    }
}
