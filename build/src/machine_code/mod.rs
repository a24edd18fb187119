//! Files of machine code: cubins, and fatbins that hold several of them.
//!
//! Input: the bytes of a file. Output: its targets, its entry points with their parameters and
//! launch bounds, and its variables, in the form that PTX gives. NVIDIA documents neither format;
//! the parts read here have been the same since CUDA 11 and were compared with the output of ptxas
//! of CUDA 12.4 to 13.3 and fatbinary of CUDA 13.0. Unknown data is an error and never a guess.

mod cubin;
mod notes;

use crate::cuda_cpp::{self, Entry, Variable};
use cubin::Cubin;
use fatbin::Content;
use gpuprof_model::each_once::add_new;

/// The content of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineCode {
    /// The targets of the code: `sm_90`.
    pub targets: Vec<String>,
    /// Whether there is PTX as well.
    pub ptx: bool,
    /// Every entry point; several of a name where targets have it in other ways.
    pub entries: Vec<Entry>,
    /// Every variable in constant or global memory.
    pub variables: Vec<Variable>,
}

/// The content of the file of these `bytes`.
///
/// # Errors
/// Why it is not machine code that can be loaded.
pub fn read(bytes: &[u8]) -> Result<MachineCode, String> {
    let mut code = MachineCode::default();
    if bytes.starts_with(cubin::MAGIC) {
        code.add(Cubin::read(bytes)?);
        return Ok(code);
    }
    if !bytes.starts_with(fatbin::MAGIC) {
        return Err(neither(bytes));
    }
    for member in fatbin::members(bytes)? {
        let bytes = member.unpacked()?;
        match member.content {
            Content::Cubin => code.add(Cubin::read(&bytes)?),
            Content::Ptx => code.add_ptx(&String::from_utf8_lossy(&bytes)),
        }
    }
    match code.targets.is_empty() && !code.ptx {
        true => Err("it is a fatbin without code".to_owned()),
        false => Ok(code),
    }
}

impl MachineCode {
    fn add(&mut self, cubin: Cubin) {
        add_new(&mut self.targets, [cubin.target]);
        add_new(&mut self.entries, cubin.entries);
        add_new(&mut self.variables, cubin.variables);
    }

    fn add_ptx(&mut self, text: &str) {
        self.ptx = true;
        add_new(&mut self.entries, cuda_cpp::every_entry(text));
        add_new(&mut self.variables, cuda_cpp::variables(text));
    }
}

/// The file has neither format; names its probable format.
fn neither(bytes: &[u8]) -> String {
    let text = str::from_utf8(&bytes[..bytes.len().min(4096)]);
    let seems = match text {
        _ if bytes.is_empty() => "it is empty",
        Ok(text) if text.contains(".version") || text.contains(".target") => {
            "it is PTX: write ptx = \"…\""
        }
        Ok(text) if text.contains("__global__") => "it is CUDA C++: write cuda = \"…\"",
        Ok(_) => "it is text",
        Err(_) => "it begins otherwise",
    };
    format!("it is neither a cubin nor a fatbin: {seems}")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
