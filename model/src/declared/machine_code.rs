//! Kernels that are machine code of a GPU: cubins and fatbins.

use serde::{Deserialize, Serialize};

/// What is known of a file of machine code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCode {
    /// The file, relative to its package.
    pub file: String,
    /// Its targets: `sm_90`.
    pub targets: Vec<String>,
    /// Whether it holds PTX as well, which a driver compiles for any later GPU.
    pub ptx: bool,
}

impl MachineCode {
    /// Why no emulated driver runs `kernel`.
    pub fn not_emulated(&self, kernel: &str) -> String {
        let way = if self.ptx {
            format!(
                "cuobjdump -xptx all {} writes the PTX that it holds as well, for ptx = \"…\"",
                self.file
            )
        } else {
            "declare its PTX (ptx = \"…\") or its source (cuda = \"…\")".to_owned()
        };
        format!(
            "`{kernel}` is machine code{} in {}, which only a GPU runs, and this run is on the \
             emulated driver; to run it here, {}",
            self.for_targets(),
            self.file,
            way
        )
    }

    /// That no code of the file is for the compute capability `major.minor`.
    pub fn not_for(&self, (major, minor): (u32, u32)) -> String {
        let ptx = if self.ptx { " and PTX" } else { "" };
        format!(
            "{} holds machine code{}{ptx}, none of which runs on this device (compute capability \
             {major}.{minor})",
            self.file,
            self.for_targets()
        )
    }

    /// ` for sm_80 and sm_90`.
    fn for_targets(&self) -> String {
        match self.targets.split_last() {
            None => String::new(),
            Some((only, [])) => format!(" for {only}"),
            Some((last, others)) => format!(" for {} and {last}", others.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(targets: &[&str], ptx: bool) -> MachineCode {
        let targets = targets.iter().map(|&target| target.to_owned()).collect();
        MachineCode { file: "kernels/scale.cubin".into(), targets, ptx }
    }

    #[test]
    fn a_driver_failure_is_reported_with_the_remedy() {
        assert_eq!(
            code(&["sm_90"], false).not_emulated("scale"),
            "`scale` is machine code for sm_90 in kernels/scale.cubin, which only a GPU runs, and \
             this run is on the emulated driver; to run it here, declare its PTX (ptx = \"…\") or \
             its source (cuda = \"…\")"
        );
        let told = code(&["sm_80", "sm_90"], true).not_emulated("scale");
        assert!(told.contains("for sm_80 and sm_90 in kernels/scale.cubin"), "{told}");
        assert!(told.contains("cuobjdump -xptx all kernels/scale.cubin"), "{told}");
        assert_eq!(
            code(&["sm_80", "sm_86", "sm_90"], true).not_for((7, 5)),
            "kernels/scale.cubin holds machine code for sm_80, sm_86 and sm_90 and PTX, none \
             of which runs on this device (compute capability 7.5)"
        );
    }
}
