//! Declared kernels: kernels in CUDA C++ files, PTX, machine code, or the output of NVIDIA's Rust
//! compiler, that are annotated in Rust.
//!
//! Input: a declaration, as the harness describes it. Output: the name of each instance, and the
//! constraints of its launch. An instance is a kernel with a value for every constant of its
//! series: constants in its name are template arguments, the others are definitions.

mod launch;
mod machine_code;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::axis::AxisValue;
use crate::configuration::Configuration;
use launch::format_extents;
pub use launch::{BlockLimit, Contract, KnownLaunch, threads};
pub use machine_code::MachineCode;

/// A kernel as its declaration describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredKernel {
    /// The path of its annotation in Rust: `crate::module::name`.
    #[serde(default)]
    pub path: String,
    /// The source of the kernel.
    pub source: DeclaredSource,
    /// Folders with headers, relative to the package.
    pub include: Vec<String>,
    /// Definitions for the preprocessor.
    pub defines: Vec<(String, String)>,
    /// More options of the compiler.
    pub options: Vec<String>,
    /// Who compiles it, if it is CUDA C++.
    #[serde(default)]
    pub compiler: CudaCompiler,
    /// Its name in the source, with `{NAME}` for the value of a constant.
    pub symbol: String,
    /// Where `symbol` is written: line and column, both 0 if that is not known.
    #[serde(default)]
    pub symbol_at: (u32, u32),
    /// Its parameters; `{T}` is replaced by the type of an axis.
    pub parameters: Vec<DeclaredParameter>,
    /// The types that axes of types have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<DeclaredType>,
    /// The variables of the device that its annotation sets.
    #[serde(default)]
    pub globals: Vec<DeclaredGlobal>,
    /// The constraints of its launches.
    #[serde(default)]
    pub contract: Contract,
}

/// A type that a declared kernel may be instantiated with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredType {
    /// The axis.
    pub axis: String,
    /// The type in Rust, which is the value of the axis.
    pub rust: String,
    /// The same in CUDA C++.
    pub cpp: String,
    /// Its size; 0 if nothing of it is passed.
    pub bytes: u32,
}

/// Who compiles CUDA C++.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CudaCompiler {
    /// NVRTC, and nvcc where NVRTC cannot.
    #[default]
    Auto,
    /// NVRTC alone.
    Nvrtc,
    /// nvcc alone.
    Nvcc,
}

/// The source of a declared kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeclaredSource {
    /// CUDA C++ files, relative to the package.
    Cuda(Vec<String>),
    /// A PTX file, relative to the package.
    PtxFile(String),
    /// PTX that the program holds.
    PtxText(String),
    /// A cubin or a fatbin, relative to the package.
    MachineCode(String),
    /// Device code that NVIDIA's Rust compiler put into the harness: the name of each instance
    /// there.
    Embedded(BTreeMap<String, String>),
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
    /// Of a struct, its alignment; 0 of everything else, which has its own size's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub align: u32,
    /// The line of its type in the declaration's file.
    pub line: u32,
    /// The column of its type.
    pub column: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(align: &u32) -> bool {
    *align == 0
}

/// A variable of the device as it is declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredGlobal {
    /// Its name in Rust.
    pub name: String,
    /// Its name in the source.
    pub symbol: String,
    /// Its type in Rust.
    pub rust: String,
    /// Its size.
    pub bytes: u64,
    /// The line of its type in the declaration's file.
    pub line: u32,
    /// The column of its type.
    pub column: u32,
}

impl DeclaredKernel {
    /// The name of the instance of `configuration`, and its definitions: those of the block, then
    /// one for each of the `constants` that the name does not contain.
    pub fn instance<'c>(
        &self,
        constants: impl IntoIterator<Item = &'c str>,
        configuration: &Configuration,
    ) -> (String, Vec<(String, String)>) {
        let (mut name, mut defines) = (self.symbol.clone(), self.defines.clone());
        let is_of_cpp = match &self.source {
            DeclaredSource::Cuda(_) => true,
            DeclaredSource::Embedded(_) => false,
            // Otherwise the name is the entry point's own.
            _ => name.contains('<'),
        };
        for constant in constants {
            let Some(value) = configuration.get(constant) else { continue };
            let place = format!("{{{constant}}}");
            let value = match self.ty(constant, configuration) {
                Some(ty) if is_of_cpp => ty.cpp.clone(),
                _ => value.to_string(),
            };
            if name.contains(&place) {
                name = name.replace(&place, &value);
            } else {
                defines.push((constant.to_owned(), value));
            }
        }
        (name, defines)
    }

    /// The type of `axis` in `configuration`, if it is an axis of types.
    fn ty(&self, axis: &str, configuration: &Configuration) -> Option<&DeclaredType> {
        let value = configuration.get(axis)?.to_string();
        self.types.iter().find(|ty| ty.axis == axis && ty.rust == value)
    }

    /// The types of the instance of `configuration`, one for each axis of types.
    pub fn types_of(&self, configuration: &Configuration) -> Vec<&DeclaredType> {
        let axes: BTreeSet<&str> = self.types.iter().map(|ty| ty.axis.as_str()).collect();
        axes.into_iter().filter_map(|axis| self.ty(axis, configuration)).collect()
    }

    /// The parameters of the instance of `configuration`.
    pub fn parameters_of(&self, configuration: &Configuration) -> Vec<DeclaredParameter> {
        let types = self.types_of(configuration);
        let of_types = |parameter: &DeclaredParameter| {
            let mut parameter = parameter.clone();
            for ty in &types {
                let place = format!("{{{}}}", ty.axis);
                if parameter.rust == place {
                    parameter.bytes = ty.bytes;
                }
                parameter.rust = parameter.rust.replace(&place, &ty.rust);
                parameter.cpp = parameter.cpp.replace(&place, &ty.cpp);
            }
            parameter
        };
        self.parameters.iter().map(of_types).collect()
    }
}

/// The constants of `configuration` among `names`, as text: the key of an instance within its
/// series.
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
    /// Its name there.
    pub symbol: String,
    /// Its name as people write it: `scan<4, float>`.
    pub shown: String,
    /// The most threads of a block that it is compiled for (`.maxntid`).
    #[serde(default)]
    pub max_threads: Option<u64>,
    /// The only block that it is compiled for (`.reqntid`).
    #[serde(default)]
    pub only_block: Option<[u32; 3]>,
    /// The variables that its annotation sets: their names in Rust and in the PTX.
    #[serde(default)]
    pub globals: BTreeMap<String, String>,
    /// The constraints that its declaration puts on launches, with the cluster that it is compiled
    /// for (`.reqnctapercluster`).
    #[serde(default)]
    pub contract: Contract,
    /// Its machine code, if the module is not PTX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_code: Option<Box<MachineCode>>,
}

/// The result of making an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeclaredInstance {
    /// It can be loaded.
    Ready(DeclaredEntry),
    /// It does not compile, in the compiler's words.
    Refused(String),
}

/// An instance that a series function may launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchableInstance {
    /// The kernel, as [`DeclaredKernel::path`] has it.
    pub path: String,
    /// The values of its constants, as [`instance_key`] has them.
    pub key: String,
    /// The result of making it.
    pub instance: DeclaredInstance,
}

impl DeclaredEntry {
    /// Why no emulated driver runs it, if that is so.
    pub fn needs_gpu(&self) -> Option<String> {
        self.machine_code.as_ref().map(|code| code.not_emulated(&self.shown))
    }

    /// Why `launch` cannot be made, if that is known.
    pub fn refusal(&self, launch: &KnownLaunch) -> Option<String> {
        let of_block = || self.of_block(launch.block?);
        of_block().or_else(|| self.contract.refusal(&self.shown, launch))
    }

    /// Why no launch of it can have `block`, if none can.
    fn of_block(&self, block: [u32; 3]) -> Option<String> {
        let name = &self.shown;
        if let Some(only) = self.only_block.filter(|only| *only != block) {
            return Some(format!(
                "`{name}` is compiled for blocks of {} alone (.reqntid), and this block is {}",
                format_extents(only),
                format_extents(block)
            ));
        }
        let limit = BlockLimit::Bounds { kernel: name, written: ".maxntid" };
        limit.refusal(threads(block), self.max_threads?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(symbol: &str) -> DeclaredKernel {
        DeclaredKernel {
            path: "a::scan".into(),
            source: DeclaredSource::Cuda(vec!["a.cu".into()]),
            include: Vec::new(),
            defines: vec![("RADIX".into(), "4".into())],
            options: Vec::new(),
            compiler: CudaCompiler::Auto,
            symbol: symbol.to_owned(),
            symbol_at: (0, 0),
            parameters: Vec::new(),
            types: Vec::new(),
            globals: Vec::new(),
            contract: Contract::NONE,
        }
    }

    #[test]
    fn an_axis_of_types_chooses_the_types_of_parameters_and_the_template_argument() {
        let ty = |rust: &str, cpp: &str, bytes| DeclaredType {
            axis: "T".into(),
            rust: rust.into(),
            cpp: cpp.into(),
            bytes,
        };
        let parameter = |rust: &str, cpp: &str, bytes| DeclaredParameter {
            name: "x".into(),
            rust: rust.into(),
            cpp: cpp.into(),
            bytes,
            align: 0,
            line: 1,
            column: 1,
        };
        let mut kernel = kernel("scale<{T}>");
        kernel.types = vec![ty("f32", "float", 4), ty("f16", "__half", 2)];
        kernel.parameters = vec![
            parameter("u32", "unsigned int", 4),
            parameter("{T}", "{T}", 0),
            parameter("*const {T}", "const {T} *", 8),
        ];
        let point = Configuration(vec![("T".into(), AxisValue::Word("f16".into()))]);
        assert_eq!(kernel.instance(["T"], &point).0, "scale<__half>");
        assert_eq!(
            kernel.parameters_of(&point),
            [
                parameter("u32", "unsigned int", 4),
                parameter("f16", "__half", 2),
                parameter("*const f16", "const __half *", 8),
            ]
        );
        kernel.source = DeclaredSource::PtxFile("a.ptx".into());
        kernel.symbol = "scale_{T}".into();
        assert_eq!(kernel.instance(["T"], &point).0, "scale_f16");
        kernel.symbol = "scale<{T}>".into();
        assert_eq!(kernel.instance(["T"], &point).0, "scale<__half>", "a name of C++");
    }

    #[test]
    fn a_constant_is_a_template_argument_or_a_definition() {
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
            globals: BTreeMap::new(),
            contract: Contract::NONE,
            machine_code: None,
        };
        let of = |block| KnownLaunch { block: Some(block), ..KnownLaunch::default() };
        assert_eq!(entry(Some(256), None).refusal(&of([256, 1, 1])), None);
        assert_eq!(
            entry(Some(256), None).refusal(&of([16, 32, 1])).unwrap(),
            "a block of 512 threads exceeds the launch bounds of `k`, 256, for which it is compiled \
             (.maxntid)"
        );
        assert_eq!(
            entry(None, Some([128, 1, 1])).refusal(&of([64, 1, 1])).unwrap(),
            "`k` is compiled for blocks of 128x1x1 alone (.reqntid), and this block is 64x1x1"
        );
    }
}
