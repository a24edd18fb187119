//! Facts from ptxas about kernels without a GPU: registers, stack, spills and barriers; and facts
//! from their PTX.
//!
//! Input: nothing, or PTX. Output: plain data that the runner gives to a harness on the emulated
//! driver, the rule that distinguishes spills from arrays, for ptxas and drivers, and the additions
//! that a fused multiply-add could do.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ptx::without_comments;

/// The facts of ptxas on a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleResources {
    /// Of each of its entry points.
    Known(BTreeMap<String, Resources>),
    /// Nothing, for this reason.
    Unknown(String),
}

impl ModuleResources {
    /// What is known of the entry point `symbol`.
    ///
    /// # Errors
    /// Why nothing is.
    pub fn resources(&self, symbol: &str) -> Result<Resources, String> {
        match self {
            Self::Known(entries) => entries
                .get(symbol)
                .copied()
                .ok_or_else(|| format!("ptxas says nothing of the entry point `{symbol}`")),
            Self::Unknown(reason) => Err(reason.clone()),
        }
    }
}

/// The resources of an entry point, for one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Resources {
    /// Registers a thread.
    pub registers: u32,
    /// The stack of a thread, functions that it calls included, in bytes: its local memory.
    pub stack_bytes: u32,
    /// Bytes of its instructions that store registers to the stack.
    pub spill_store_bytes: u32,
    /// The same of all functions of the module that are not entry points.
    pub called_spill_bytes: u32,
    /// Named barriers.
    pub barriers: u32,
}

/// The local memory of an entry point, as far as its PTX declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame {
    /// Whether it declares arrays there.
    pub has_arrays: bool,
    /// Whether it calls functions, which have frames of their own.
    pub calls: bool,
}

impl Frame {
    /// That of the entry point `symbol` of `ptx`.
    pub fn parse(ptx: &str, symbol: &str) -> Self {
        let Some(body) = body(ptx, symbol) else { return Self { has_arrays: true, calls: true } };
        let words = |line: &str, word: &str| {
            let code = line.split("//").next().unwrap_or_default();
            code.split(|c: char| c.is_whitespace() || "{;(".contains(c)).any(|it| it == word)
        };
        let has = |word: &str| body.lines().any(|line| words(line, word));
        Self { has_arrays: has(".local"), calls: has("call") || has("call.uni") }
    }

    /// The bytes of spilled registers on a driver, which reports only the local memory of a thread.
    ///
    /// # Errors
    /// The memory may be that of arrays.
    pub fn spilled(self, local_bytes: u32) -> Result<u32, String> {
        if local_bytes == 0 || !self.has_arrays && !self.calls {
            return Ok(local_bytes);
        }
        Err(format!(
            "the {local_bytes} bytes of local memory hold arrays or frames of functions that the \
             kernel calls, and the driver does not tell spilled registers from them"
        ))
    }

    /// The bytes of registers that ptxas has spilled: their part of the stack, or, if the stack
    /// also has other contents, the bytes of the instructions that store them.
    pub fn spilled_by(self, resources: &Resources) -> u32 {
        let Resources { stack_bytes, spill_store_bytes, called_spill_bytes, .. } = *resources;
        let stored = spill_store_bytes + if self.calls { called_spill_bytes } else { 0 };
        match stored {
            0 => 0,
            _ if self.has_arrays || self.calls => stored,
            _ => stack_bytes,
        }
    }
}

/// Additions in PTX that take the result of a multiplication: as many instructions could be fused
/// multiply-adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fusable {
    /// Of 32 bits.
    pub fp32: u32,
    /// Of 64 bits.
    pub fp64: u32,
}

impl Fusable {
    /// Those in the entry point `symbol` of `ptx`, and in the functions of the module if it calls
    /// one; none if the entry point is not found.
    pub fn parse(ptx: &str, symbol: &str) -> Option<Self> {
        let body = body(ptx, symbol)?;
        let text = if Frame::parse(ptx, symbol).calls { ptx } else { body };
        let text = without_comments(text);
        let fusable = |width: &str| {
            let statements = text.split(';').filter_map(|statement| operands(statement, width));
            let (products, sums): (Vec<_>, Vec<_>) =
                statements.partition(|(operation, _)| *operation == "mul");
            let products: BTreeSet<&str> = products.iter().map(|(_, names)| names[0]).collect();
            let takes_one = |names: &[&str]| names[1..].iter().any(|it| products.contains(it));
            let count = sums.iter().filter(|(_, names)| takes_one(names)).count();
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        Some(Self { fp32: fusable(".f32"), fp64: fusable(".f64") })
    }
}

/// The operation of a `statement` that adds, subtracts or multiplies floats of this `width`, with
/// its operands, first the result.
fn operands<'p>(statement: &'p str, width: &str) -> Option<(&'p str, Vec<&'p str>)> {
    let line = statement.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let mut words = line.split(|c: char| c.is_whitespace() || c == ',').filter(|it| !it.is_empty());
    let name =
        words.find(|word| !word.starts_with(['@', '{', '}', '$']) && !word.ends_with(':'))?;
    let operation = name.split('.').next()?;
    let is_one = ["add", "sub", "mul"].contains(&operation) && name.ends_with(width);
    let names: Vec<&str> = words.collect();
    (is_one && names.len() == 3).then_some((operation, names))
}

/// The text between the braces of the entry point `symbol`.
fn body<'p>(ptx: &'p str, symbol: &str) -> Option<&'p str> {
    let named = |rest: &&str| {
        let rest = rest.trim_start().strip_prefix(symbol);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['(', '{', '.']))
    };
    let rest = ptx.split(".entry").skip(1).find(named)?;
    let start = rest.find('{')?;
    let mut depth = 0_usize;
    for (at, byte) in rest.bytes().enumerate().skip(start) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return rest.get(start..at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "
.visible .entry plain(.param .u64 p) { .reg .b32 %r<2>; { ret; } }
.visible .entry plain2()
.maxntid 32
{
    .local .align 4 .b8 depot[8]; // no call here
    ret;
}
.visible .entry calls() {
    call.uni (r), helper, (a);
    ret;
}
.func helper() { .local .align 4 .b8 depot[8]; ret; }
";

    #[test]
    fn the_frame_of_an_entry_point_ignores_other_functions() {
        let of = |symbol| {
            let Frame { has_arrays, calls } = Frame::parse(PTX, symbol);
            (has_arrays, calls)
        };
        assert_eq!(of("plain"), (false, false));
        assert_eq!(of("plain2"), (true, false));
        assert_eq!(of("calls"), (false, true));
        assert_eq!(of("nowhere"), (true, true));
    }

    #[test]
    fn an_addition_is_fusable_if_it_takes_a_product_of_its_width() {
        let of = |code: &str| {
            let ptx = format!(".visible .entry k(.param .u64 p)\n{{\n{code}\nret;\n}}\n");
            Fusable::parse(&ptx, "k").map(|it| (it.fp32, it.fp64))
        };
        let product = "\t.loc 1 2 3\n\tmul.rn.f32 \t%f3, %f1, %f2;\n";
        assert_eq!(of(&format!("{product}add.rn.ftz.f32 %f4, %f5, %f3;")), Some((1, 0)));
        assert_eq!(of(&format!("{product}$L__BB0_1:\n@%p1 sub.f32 %f4, %f3, %f5;")), Some((1, 0)));
        // The sum is multiplied, which no instruction does at once.
        let sum_first = "add.rn.f32 %f3, %f1, %f1;\nmul.rn.f32 %f4, %f3, 0f40000000;";
        assert_eq!(of(sum_first), Some((0, 0)));
        assert_eq!(of(&format!("{product}add.rn.f64 %f4, %f5, %f3;")), Some((0, 0)));
        assert_eq!(of(&format!("{product}// add.f32 %f4, %f3, %f3;")), Some((0, 0)));
        assert_eq!(of("mul.f64 %d1, %d2, %d3;\nadd.f64 %d4, %d1, %d1;"), Some((0, 1)));
        assert_eq!(of("mul.lo.s32 %r1, %r2, %r3;\nadd.s32 %r4, %r1, %r1;"), Some((0, 0)));
        assert_eq!(Fusable::parse("", "k"), None);
    }

    #[test]
    fn ptxas_and_the_driver_agree_on_spills() {
        let plain = Frame::default();
        let arrays = Frame { has_arrays: true, ..plain };
        let calls = Frame { calls: true, ..plain };
        let resources = |stack_bytes, spill_store_bytes| Resources {
            stack_bytes,
            spill_store_bytes,
            called_spill_bytes: 4,
            ..Resources::default()
        };
        assert_eq!((plain.spilled(0), plain.spilled_by(&resources(0, 0))), (Ok(0), 0));
        assert_eq!((plain.spilled(16), plain.spilled_by(&resources(16, 24))), (Ok(16), 16));
        assert_eq!((arrays.spilled(0), arrays.spilled_by(&resources(0, 0))), (Ok(0), 0));
        assert!(arrays.spilled(64).is_err());
        assert_eq!(arrays.spilled_by(&resources(64, 0)), 0, "arrays alone");
        assert_eq!(arrays.spilled_by(&resources(80, 24)), 24);
        assert!(calls.spilled(64).is_err());
        assert_eq!(calls.spilled_by(&resources(80, 24)), 28);
    }
}
