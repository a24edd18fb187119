//! Facts from ptxas about kernels without a GPU: registers, stack, spills and barriers.
//!
//! Input: nothing. Output: plain data that the runner gives to a harness on the emulated driver,
//! and the rule that distinguishes spills from arrays, for ptxas and drivers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    fn a_frame_is_that_of_the_entry_point_alone() {
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
    fn ptxas_and_the_driver_agree_on_spills_where_the_driver_can_tell() {
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
