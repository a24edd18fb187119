//! Linking at run time (`cuLink…`): PTX of several inputs becomes one module.
//!
//! Output is PTX too, in place of the cubin that a GPU's driver makes: every function that loads a
//! module takes it.

use super::code::Code;
use super::current::with_context;
use super::fatbins::{Refusal, fatbins};
use super::linker::Linker;
use super::machine_code;
use super::module::{refuse, text_of_fatbins};
use super::pointers::{Handle, JitNumbers, JitOptions, JitValues, Out, Source, Text};
use super::state::Driver;
use crate::ptx;
use std::ffi::c_uint;

// `CUjitInputType`.
const CUBIN: c_uint = 0;
const PTX: c_uint = 1;
const FATBINARY: c_uint = 2;
const OBJECT: c_uint = 3;
const LIBRARY: c_uint = 4;

/// An input as the program passes it.
struct Input<'i> {
    kind: c_uint,
    bytes: &'i [u8],
    name: &'i str,
}

/// Remembers that PTX cannot be linked.
fn invalid(driver: &mut Driver, error: &ptx::PtxError, name: &str) -> Refusal {
    let of = if name.is_empty() { String::new() } else { format!(" of '{name}'") };
    let why = format!("the PTX{of} cannot be linked: {error}");
    refuse(driver, "invalid_ptx", (Code::INVALID_PTX, why))
}

impl Input<'_> {
    /// Its PTX.
    fn ptx(&self, driver: &mut Driver) -> Result<String, Refusal> {
        let name = if self.name.is_empty() { String::new() } else { format!("'{}', ", self.name) };
        let what = match self.kind {
            PTX => return self.checked_text(driver),
            CUBIN => "a cubin (GPU machine code)",
            FATBINARY => return self.newest_ptx(driver, &name),
            OBJECT => "an object with GPU machine code",
            LIBRARY => "a library with GPU machine code",
            _ => "of a kind that is unknown here",
        };
        machine_code::stand_in(driver, &format!("{name}{what}"), Source::start(self.bytes))
    }

    fn checked_text(&self, driver: &mut Driver) -> Result<String, Refusal> {
        let end = self.bytes.iter().position(|byte| *byte == 0).unwrap_or(self.bytes.len());
        let text = String::from_utf8_lossy(&self.bytes[..end]).into_owned();
        match ptx::parse(&text) {
            Ok(_) => Ok(text),
            Err(error) => Err(invalid(driver, &error, self.name)),
        }
    }

    fn newest_ptx(&self, driver: &mut Driver, name: &str) -> Result<String, Refusal> {
        let image = Source::start(self.bytes);
        let all = fatbins(image).map_err(|code| (code, String::new()))?.unwrap_or_default();
        text_of_fatbins(driver, &all, (name, image))
    }
}

fn linker(driver: &mut Driver, state: Handle) -> Result<&mut Linker, Code> {
    driver.linkers.get_mut(&state).ok_or(Code::INVALID_HANDLE)
}

/// Writes the reason of a refusal into the program's log.
fn logged<T>(driver: &Driver, state: Handle, result: Result<T, Refusal>) -> Result<T, Code> {
    result.map_err(|(code, why)| {
        if let Some(log) = driver.linkers.get(&state).and_then(|linker| linker.error_log) {
            log.write(&why);
        }
        code
    })
}

fn add(driver: &mut Driver, state: Handle, input: &Input<'_>) -> Result<(), Code> {
    linker(driver, state)?;
    let text = input.ptx(driver);
    let text = logged(driver, state, text)?;
    if linker(driver, state)?.add(text) { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkCreate_v2(
    count: c_uint,
    options: JitNumbers,
    values: JitValues,
    state: Out<Handle>,
) -> Code {
    with_context(|driver| {
        let error_log = JitOptions::new(count, options, values).error_log();
        let handle = driver.handle();
        driver.linkers.insert(handle, Linker::new(error_log));
        state.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkAddData_v2(
    state: Handle,
    kind: c_uint,
    data: Source,
    bytes: usize,
    name: Text,
    _count: c_uint,
    _options: JitNumbers,
    _values: JitValues,
) -> Code {
    with_context(|driver| {
        let name = name.get().unwrap_or_default();
        add(driver, state, &Input { kind, bytes: data.bytes(bytes)?, name })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkAddFile_v2(
    state: Handle,
    kind: c_uint,
    path: Text,
    _count: c_uint,
    _options: JitNumbers,
    _values: JitValues,
) -> Code {
    with_context(|driver| {
        let name = path.get()?;
        let bytes = std::fs::read(name).map_err(|_| Code::FILE_NOT_FOUND)?;
        add(driver, state, &Input { kind, bytes: &bytes, name })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkComplete(state: Handle, cubin: Out<Source>, bytes: Out<usize>) -> Code {
    with_context(|driver| {
        let completed = match linker(driver, state)?.complete() {
            Ok(output) => Ok(output.map(|output| (Source::start(output), output.len()))),
            Err(error) => Err(invalid(driver, &error, "")),
        };
        let (first, size) = logged(driver, state, completed)?.ok_or(Code::INVALID_VALUE)?;
        bytes.set_if_wanted(size);
        cubin.set(first)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLinkDestroy(state: Handle) -> Code {
    with_context(|driver| driver.linkers.remove(&state).map(drop).ok_or(Code::INVALID_HANDLE))
}
