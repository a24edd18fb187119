//! Variables of a module that keep their values between launches.
//!
//! Input: a module, its PTX, and the variables that the annotation sets. Output: an error that
//! names the first other variable that a launch changed: the next launch would begin with another
//! state, and its results could depend on the number of launches.

use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaModule, CudaStream};

use crate::host::error::{Error, Result};

/// The values of variables before a launch.
pub(crate) struct DeviceState {
    variables: Vec<Variable>,
    module: Arc<CudaModule>,
    stream: Arc<CudaStream>,
}

struct Variable {
    symbol: String,
    bytes: Vec<u8>,
}

impl DeviceState {
    /// Reads the variables of global memory that `ptx` declares, without those named in `set`.
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn read(
        module: Arc<CudaModule>,
        stream: Arc<CudaStream>,
        ptx: &str,
        set: impl Fn(&str) -> bool,
    ) -> Result<Self> {
        let mut variables = Vec::new();
        for symbol in global_variables(ptx).into_iter().filter(|symbol| !set(symbol)) {
            if let Some(bytes) = value(&module, symbol, &stream)? {
                variables.push(Variable { symbol: symbol.to_owned(), bytes });
            }
        }
        Ok(Self { variables, module, stream })
    }

    /// Whether the module has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// Fails if a variable no longer has its value; `is_declared` says whether the kernel is one of
    /// `#[gpuprof::kernels]`, which can set variables.
    ///
    /// # Errors
    /// A variable changed; the driver's.
    pub(crate) fn check_unchanged(&self, is_declared: bool) -> Result<()> {
        for Variable { symbol, bytes } in &self.variables {
            if value(&self.module, symbol, &self.stream)?.is_none_or(|now| now == *bytes) {
                continue;
            }
            let remedy = match is_declared {
                true => {
                    "declare it in the block of #[gpuprof::kernels] as `static mut` and set it with \
                     globals(…)"
                }
                false => "pass it as an argument",
            };
            return Err(Error::failed(format!(
                "the kernel changed `{symbol}`, a variable of the device, and left it so: the next \
                 launch begins with another state than the first one. Let the kernel restore it, or \
                 {remedy}"
            )));
        }
        Ok(())
    }
}

/// The value of the variable `symbol`; none if the driver does not know the name.
fn value(
    module: &Arc<CudaModule>,
    symbol: &str,
    stream: &Arc<CudaStream>,
) -> Result<Option<Vec<u8>>> {
    match module.get_global(symbol, stream) {
        Ok(variable) => Ok(Some(stream.clone_dtoh(&variable)?)),
        Err(error) if error.0 == CUresult::CUDA_ERROR_NOT_FOUND => Ok(None),
        Err(error) => Err(Error::driver(&format!("finding the variable `{symbol}`"), error)),
    }
}

/// The variables that `ptx` declares in global memory, and perhaps names of parameters that point
/// there.
fn global_variables(ptx: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in ptx.lines() {
        let code = line.split("//").next().unwrap_or_default();
        let mut rest = code;
        while let Some(at) = rest.find(".global") {
            // Not that of `ld.global` or `.globals`.
            let is_word = rest[..at].chars().next_back().is_none_or(|c| !is_name(c))
                && rest[at + 7..].starts_with(char::is_whitespace);
            rest = &rest[at + 7..];
            if is_word {
                names.extend(declared(rest));
            }
        }
    }
    names
}

/// The names in `text`, the rest of a declaration after its space.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find(['=', ';', '{', ')']).unwrap_or(text.len());
    text[..end].split(',').filter_map(|one| {
        let head = one.split('[').next()?;
        let name = head.split_whitespace().next_back()?;
        (!name.starts_with('.')).then_some(name)
    })
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%.".contains(c)
}

#[cfg(test)]
mod tests {
    use super::global_variables;

    #[test]
    fn variables_of_global_memory_are_found_by_their_declarations() {
        let ptx = "
            .visible .global .align 4 .u32 launches;
            .global .align 4 .b8 table[32] = {1, 0, 0, 0};   // .global .u32 comment;
            .extern .global .u64 elsewhere; .global .f32 a, b[2];
            .const .align 4 .u32 constant;
            .shared .align 4 .b8 tile[64];
            .visible .entry k(.param .u64 .ptr .global .align 4 y) {
                .global .u32 local_static;
                ld.global.u32 %r1, [launches];
                cvta.to.global.u64 %rd1, %rd2;
                st.global.u32 [table+4], %r1;
            }";
        assert_eq!(
            global_variables(ptx),
            ["launches", "table", "elsewhere", "a", "b", "y", "local_static"]
        );
    }

    #[test]
    fn a_declaration_may_continue_on_the_next_line() {
        assert_eq!(global_variables(".global .align 1 .b8 text[3] = {\n1, 2,\n3};"), ["text"]);
    }
}
