//! A link at run time: PTX in, PTX of one module out.

use super::pointers::ErrorLog;
use crate::lower::check_declarations;
use crate::ptx::{self, PtxError};

/// The inputs so far, and the output once it is complete.
#[derive(Debug)]
pub struct Linker {
    /// Where the program wants to read why a link failed.
    pub error_log: Option<ErrorLog>,
    inputs: Vec<String>,
    /// PTX that ends with a NUL.
    output: Option<Vec<u8>>,
}

impl Linker {
    /// One without inputs.
    pub fn new(error_log: Option<ErrorLog>) -> Self {
        Self { error_log, inputs: Vec::new(), output: None }
    }

    /// Adds an input. `false`: it is complete.
    pub fn add(&mut self, text: String) -> bool {
        let is_open = self.output.is_none();
        if is_open {
            self.inputs.push(text);
        }
        is_open
    }

    /// The module of all inputs; `None` if there is no input.
    ///
    /// # Errors
    /// Two inputs define one name, or declare it differently.
    pub fn complete(&mut self) -> Result<Option<&[u8]>, PtxError> {
        if self.output.is_none() && !self.inputs.is_empty() {
            let texts: Vec<&str> = self.inputs.iter().map(String::as_str).collect();
            let text = ptx::link(&texts);
            check_declarations(&ptx::parse(&text)?)?;
            self.output = Some([text.as_bytes(), &[0]].concat());
        }
        Ok(self.output.as_deref())
    }
}
