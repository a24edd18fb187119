//! One compile: a source goes in, PTX and a log come out.

use std::ffi::{CStr, CString, NulError, c_char, c_int};
use std::ptr;

use crate::functions::{Handle, SUCCESS};
use crate::library::Nvrtc;

/// What is compiled.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSource<'a> {
    /// The name of the text in messages, and the base of its `#include "…"`: its folder, relative
    /// to the current one.
    pub name: &'a str,
    /// CUDA C++.
    pub text: &'a str,
    /// Headers in memory: the name in `#include` and the text. They hide those on disk.
    pub headers: &'a [(String, String)],
    /// Expressions that name kernels or variables, which are instantiated and kept.
    pub expressions: &'a [String],
    /// NVRTC's options.
    pub options: &'a [String],
}

/// How a compile ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Errors and warnings, as text.
    pub log: String,
    /// The product, or why there is none.
    pub product: Result<Product, Refusal>,
}

/// The product of a compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// The PTX.
    pub ptx: String,
    /// The name of each expression in the PTX, in their order.
    pub names: Vec<String>,
}

/// Why nothing came out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The source has errors, which are in the log.
    #[error("the source does not compile")]
    Compilation,
    /// NVRTC knows an option not, or an architecture not.
    #[error("an option is not valid")]
    Option,
    /// Its builtins library was not found.
    #[error("NVRTC does not find its libnvrtc-builtins.so, which must be next to it")]
    Builtins,
    /// A text with a NUL in it.
    #[error("a text holds a NUL")]
    Nul,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// The distinguished codes of `nvrtcResult`.
const INVALID_OPTION: c_int = 5;
const COMPILATION: c_int = 6;
const BUILTINS: c_int = 7;

/// Texts for C, and the pointers to them.
struct Texts {
    pointers: Vec<*const c_char>,
    _owned: Vec<CString>,
}

impl Texts {
    fn new<'a>(texts: impl Iterator<Item = &'a String>) -> Result<Self, NulError> {
        let owned: Vec<CString> =
            texts.map(|it| CString::new(it.as_str())).collect::<Result<_, _>>()?;
        Ok(Self { pointers: owned.iter().map(|it| it.as_ptr()).collect(), _owned: owned })
    }

    fn count(&self) -> c_int {
        c_int::try_from(self.pointers.len()).expect("fewer than 2^31 texts")
    }
}

/// An `nvrtcProgram`, destroyed when dropped.
struct Program {
    nvrtc: Nvrtc,
    handle: Handle,
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the handle is of nvrtcCreateProgram, and this is its last use.
        unsafe { (self.nvrtc.functions.destroy)(&raw mut self.handle) };
    }
}

impl Nvrtc {
    /// Compiles `source`. Blocks until it is done; NVRTC compiles one program at a time for all
    /// threads.
    ///
    /// # Errors
    /// [`Refusal::Nul`] and [`Refusal::Other`], if there is no program to compile. The result of
    /// the compile itself is in the outcome.
    pub fn compile(&self, source: &ProgramSource<'_>) -> Result<Outcome, Refusal> {
        let program = self.create(source)?;
        for expression in source.expressions {
            let text = CString::new(expression.as_str()).map_err(|_| Refusal::Nul)?;
            // SAFETY: a live program and a C string, which is copied.
            self.check(unsafe { (self.functions.add_expression)(program.handle, text.as_ptr()) })?;
        }
        let options = Texts::new(source.options.iter()).map_err(|_| Refusal::Nul)?;
        // SAFETY: a live program, and as many C strings as said.
        let code = unsafe {
            (self.functions.compile)(program.handle, options.count(), options.pointers.as_ptr())
        };
        let log = program.text(self.functions.log_size, self.functions.log).unwrap_or_default();
        let product = match code {
            SUCCESS => program.product(source.expressions),
            INVALID_OPTION => Err(Refusal::Option),
            COMPILATION => Err(Refusal::Compilation),
            BUILTINS => Err(Refusal::Builtins),
            other => Err(Refusal::Other(self.name_of(other))),
        };
        Ok(Outcome { log, product })
    }

    fn create(&self, source: &ProgramSource<'_>) -> Result<Program, Refusal> {
        let text = CString::new(source.text).map_err(|_| Refusal::Nul)?;
        let name = CString::new(source.name).map_err(|_| Refusal::Nul)?;
        let names = Texts::new(source.headers.iter().map(|(name, _)| name));
        let texts = Texts::new(source.headers.iter().map(|(_, text)| text));
        let (names, texts) = (names.map_err(|_| Refusal::Nul)?, texts.map_err(|_| Refusal::Nul)?);
        let mut handle = ptr::null_mut();
        // SAFETY: C strings, and as many headers as said; NVRTC copies all of them.
        let code = unsafe {
            (self.functions.create)(
                &raw mut handle,
                text.as_ptr(),
                name.as_ptr(),
                names.count(),
                texts.pointers.as_ptr(),
                names.pointers.as_ptr(),
            )
        };
        self.check(code)?;
        Ok(Program { nvrtc: *self, handle })
    }

    fn check(&self, code: c_int) -> Result<(), Refusal> {
        if code == SUCCESS { Ok(()) } else { Err(Refusal::Other(self.name_of(code))) }
    }
}

impl Program {
    fn product(&self, expressions: &[String]) -> Result<Product, Refusal> {
        let functions = self.nvrtc.functions;
        let ptx = self.text(functions.ptx_size, functions.ptx)?;
        let names = expressions.iter().map(|it| self.lowered(it)).collect::<Result<_, _>>()?;
        Ok(Product { ptx, names })
    }

    fn lowered(&self, expression: &str) -> Result<String, Refusal> {
        let expression = CString::new(expression).map_err(|_| Refusal::Nul)?;
        let mut name = ptr::null();
        let lowered = self.nvrtc.functions.lowered_name;
        // SAFETY: a live, compiled program and one of its expressions.
        self.nvrtc.check(unsafe { lowered(self.handle, expression.as_ptr(), &raw mut name) })?;
        // SAFETY: a C string that lives as long as the program.
        Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    /// A text of the program: its size, then its bytes with a NUL at the end.
    fn text(
        &self,
        size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
        text: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    ) -> Result<String, Refusal> {
        let mut count = 0;
        // SAFETY: a live program; it writes one size.
        self.nvrtc.check(unsafe { size(self.handle, &raw mut count) })?;
        let mut bytes = vec![0_u8; count.max(1)];
        // SAFETY: it writes as many bytes as it said.
        self.nvrtc.check(unsafe { text(self.handle, bytes.as_mut_ptr().cast()) })?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}
