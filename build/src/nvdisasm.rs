//! nvdisasm: the text of machine instructions.
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

/// The instructions of each function: offset in bytes, and text.
pub type Instructions = BTreeMap<String, Vec<(u64, String)>>;

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
        let output = command.arg("-c").arg(cubin).stdin(Stdio::null()).output();
        let output =
            output.map_err(|e| format!("{} cannot be started: {e}", self.0.file.display()))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            let told = told.lines().next().unwrap_or_default();
            return Err(format!("nvdisasm {} ends with {}: {told}", self.0.version, output.status));
        }
        Ok(functions(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// The functions in the output `text`.
fn functions(text: &str) -> Instructions {
    let mut functions = Instructions::new();
    let (mut current, mut labels, mut unplaced) = (None, Vec::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some((offset, rest)) = line.strip_prefix("/*").and_then(|it| it.split_once("*/")) {
            let Ok(offset) = u64::from_str_radix(offset, 16) else { continue };
            labels.extend(unplaced.drain(..).map(|label| (label, offset)));
            let rest = rest.trim_end_matches([' ', ';']);
            let words: Vec<&str> = rest.split_ascii_whitespace().collect();
            if let Some(name) = current {
                let function: &mut Vec<_> = functions.entry(String::from(name)).or_default();
                function.push((offset, words.join(" ")));
            }
        } else if let Some(label) = line.strip_suffix(':') {
            match label.strip_prefix(".text.") {
                Some(name) => current = Some(name),
                None => unplaced.push(format!("`({label})")),
            }
        }
    }
    for (_, text) in functions.values_mut().flatten().filter(|(_, text)| text.contains('`')) {
        for (label, offset) in &labels {
            *text = text.replace(label, &format!("{offset:#x}"));
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
        \x20       .global         steady\n\
        steady:\n\
        .text.steady:\n\
        \x20       /*0000*/                   LDC R1, c[0x0][0x28] ;\n\
        \x20       /*0010*/              @!P0 BRA `(.L_x_0) ;\n\
        .L_x_1:\n\
        \x20       /*0020*/                   EXIT ;\n\
        .L_x_0:\n\
        \x20       /*0030*/                   BRA `(.L_x_1);\n\
        .L_x_18:\n\
        trouble:\n\
        .text.trouble:\n\
        \x20       /*0000*/                   LDG.E.CONSTANT R10, desc[UR4][R2.64] ;\n";

    #[test]
    fn functions_have_their_instructions_and_branches_have_offsets() {
        let found = functions(TEXT);
        let text = |name: &str| -> Vec<(u64, &str)> {
            found[name].iter().map(|(offset, text)| (*offset, &**text)).collect()
        };
        assert_eq!(
            text("steady"),
            [(0, "LDC R1, c[0x0][0x28]"), (16, "@!P0 BRA 0x30"), (32, "EXIT"), (48, "BRA 0x20")]
        );
        assert_eq!(text("trouble"), [(0, "LDG.E.CONSTANT R10, desc[UR4][R2.64]")]);
        assert_eq!(found.len(), 2);
    }
}
