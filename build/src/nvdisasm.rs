//! nvdisasm: the text of machine instructions, and the registers that are live at each.
//!
//! Input: a cubin. Output: the instructions of each function. It is optional: without it, machine
//! code has counts by line but no text.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::toolkit::{Installed, NotFound, Program, Search};

/// The program.
pub const PROGRAM: Program = Program {
    name: "nvdisasm",
    variable: "GPUPROF_NVDISASM",
    // CUDA 13's, then CUDA 12's.
    packages: &["nvidia/cu13/bin", "nvidia/cuda_nvdisasm/bin"],
    install: "python3 -m pip install nvidia-cuda-nvdisasm",
    absent: "nvdisasm writes machine code as text, and none was found",
    remedy: "install it with `{}`, or name it with GPUPROF_NVDISASM",
};

/// The instructions of each function.
pub type Instructions = BTreeMap<String, Vec<Instruction>>;

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Its offset in the function, in bytes.
    pub offset: u64,
    /// The registers that hold a value there, or get one.
    pub live: u32,
    /// Its text.
    pub text: String,
}

/// An nvdisasm that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disassembler(Installed);

impl Disassembler {
    /// The first one of `search` that answers.
    ///
    /// # Errors
    /// There is none.
    pub fn find(search: &Search) -> Result<Self, NotFound> {
        search.find(&PROGRAM).map(Self)
    }

    /// The code in the file `cubin`.
    ///
    /// # Errors
    /// Why it writes none, such as for the code of a newer GPU.
    pub fn instructions(&self, cubin: &Path) -> Result<Instructions, String> {
        let mut command = Command::new(&self.0.file);
        command.args(["-c", "-plr", "-lrm", "count"]).arg(cubin);
        let output = command.stdin(Stdio::null()).output();
        let output =
            output.map_err(|e| format!("{} cannot be started: {e}", self.0.file.display()))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let reason = stderr.lines().next().unwrap_or_default();
            return Err(format!(
                "nvdisasm {} ends with {}: {reason}",
                self.0.version, output.status
            ));
        }
        Ok(functions(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// The functions in the output `text`.
fn functions(text: &str) -> Instructions {
    let mut functions = Instructions::new();
    let (mut current, mut labels, mut unplaced) = (None, Vec::new(), Vec::new());
    for line in text.lines() {
        let (line, ranges) = line.split_once("// |").unwrap_or((line, ""));
        let line = line.trim();
        if let Some((offset, rest)) = line.strip_prefix("/*").and_then(|it| it.split_once("*/")) {
            let Ok(offset) = u64::from_str_radix(offset, 16) else { continue };
            labels.extend(unplaced.drain(..).map(|label| (label, offset)));
            let rest = rest.trim_end_matches([' ', ';']);
            let words: Vec<&str> = rest.split_ascii_whitespace().collect();
            if let Some(name) = current {
                let function: &mut Vec<_> = functions.entry(String::from(name)).or_default();
                let live = ranges.split('|').next().unwrap_or_default();
                let live = live.trim().parse().unwrap_or_default();
                function.push(Instruction { offset, live, text: words.join(" ") });
            }
        } else if let Some(label) = line.strip_suffix(':') {
            match label.strip_prefix(".text.") {
                Some(name) => current = Some(name),
                None => unplaced.push(format!("`({label})")),
            }
        }
    }
    for it in functions.values_mut().flatten().filter(|it| it.text.contains('`')) {
        for (label, offset) in &labels {
            it.text = it.text.replace(label, &format!("{offset:#x}"));
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of the output of nvdisasm 13.5.
    const TEXT: &str = "\t.target\tsm_90\n\n\
        //--------------------- .text.steady              --------------------------\n\
        \t.section\t.text.steady,\"ax\",@progbits\n\
        \t.align\t128\n\
        \x20                                       // +-------+--------+--------+---------+\n\
        \x20                                       // | GPR   | PRED   | UGPR   | UPRED   |\n\
        \x20       .global         steady          // |       |        |        |         |\n\
        steady:                                 // |       |        |        |         |\n\
        .text.steady:                           // |       |        |        |         |\n\
        \x20   /*0000*/     LDC R1, c[0x0][0x28] ; // |   1   |        |        |         |\n\
        \x20   /*0010*/     @!P0 BRA `(.L_x_0) ;   // |  12   |   1    |        |         |\n\
        .L_x_1:                                 // |  11   |        |        |         |\n\
        \x20   /*0020*/     EXIT ;                 // |  11   |        |        |         |\n\
        .L_x_0:                                 // |       |        |        |         |\n\
        \x20   /*0030*/     BRA `(.L_x_1);         // |       |        |        |         |\n\
        .L_x_18:\n\
        trouble:\n\
        .text.trouble:\n\
        \x20       /*0000*/                   LDG.E.CONSTANT R10, desc[UR4][R2.64] ;\n";

    #[test]
    fn functions_have_their_instructions_with_live_registers_and_branches_have_offsets() {
        let found = functions(TEXT);
        let text = |name: &str| -> Vec<(u64, u32, &str)> {
            found[name].iter().map(|it| (it.offset, it.live, &*it.text)).collect()
        };
        assert_eq!(
            text("steady"),
            [
                (0, 1, "LDC R1, c[0x0][0x28]"),
                (16, 12, "@!P0 BRA 0x30"),
                (32, 11, "EXIT"),
                (48, 0, "BRA 0x20"),
            ]
        );
        assert_eq!(text("trouble"), [(0, 0, "LDG.E.CONSTANT R10, desc[UR4][R2.64]")]);
        assert_eq!(found.len(), 2);
    }
}
