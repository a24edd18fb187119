//! Modules and their variables.

use super::code::Code;
use super::current::{with_context, with_healthy};
use super::exported::exported;
use super::fatbins::{Refusal, WRAPPER, describe, fatbins, newest_ptx};
use super::machine_code;
use super::pointers::{Handle, JitNumbers, JitOptions, JitValues, Out, Source, Text};
use super::state::Driver;
use crate::ptx::PtxErrorKind;
use fatbin::MAGIC;
use std::borrow::Cow;
use std::ffi::c_uint;

const ELF: &[u8] = b"\x7fELF";

fn load(driver: &mut Driver, module: Out<Handle>, text: &str) -> Result<(), Refusal> {
    let loaded = driver.device.load(text).map_err(|error| {
        let (kind, code) = match error.kind {
            PtxErrorKind::Invalid => ("invalid_ptx", Code::INVALID_PTX),
            PtxErrorKind::Unsupported => ("unsupported_ptx", Code::INVALID_PTX),
            PtxErrorKind::UnsupportedVersion => ("unsupported_ptx", Code::UNSUPPORTED_PTX_VERSION),
        };
        (kind, (code, error.to_string()))
    });
    let handle = driver.handle();
    let loaded = loaded.map_err(|(kind, refusal)| refuse(driver, kind, refusal))?;
    for (address, bytes) in loaded.managed() {
        if !driver.managed.add(address, bytes as usize, &driver.device.memory) {
            let why = format!("the host has no place for a managed variable at {address:#x}");
            return Err(refuse(driver, "invalid_ptx", (Code::OUT_OF_MEMORY, why)));
        }
    }
    driver.modules.insert(handle, loaded);
    module.set(handle).map_err(|code| (code, String::new()))
}

/// Remembers why a module is refused.
pub fn refuse(driver: &mut Driver, kind: &str, (code, why): Refusal) -> Refusal {
    driver.note(kind, &why);
    (code, why)
}

/// The text to load of `image`.
fn text_of<'t>(driver: &mut Driver, image: Source) -> Result<Cow<'t, str>, Refusal> {
    let unexplained = |code| (code, String::new());
    if image.starts_with(ELF).map_err(unexplained)? {
        return machine_code::stand_in(driver, "a cubin (GPU machine code)", image).map(Cow::Owned);
    }
    if let Some(fatbins) = fatbins(image).map_err(unexplained)? {
        return text_of_fatbins(driver, &fatbins, ("", image)).map(Cow::Owned);
    }
    let text = image.text().get();
    text.map(Cow::Borrowed)
        .map_err(|code| refuse(driver, "invalid_ptx", (code, "the module is not text".to_owned())))
}

/// The PTX of fatbins, or what stands in for it; `name` is how a refusal begins.
pub fn text_of_fatbins(
    driver: &mut Driver,
    all: &[&[u8]],
    (name, image): (&str, Source),
) -> Result<String, Refusal> {
    match newest_ptx(all, driver.device.chip.target()) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => machine_code::stand_in(driver, &format!("{name}{}", describe(all)), image),
        Err(refusal) => Err(refuse(driver, "unsupported_binary", refusal)),
    }
}

/// Loads a module into `module`.
pub fn load_source(
    driver: &mut Driver,
    module: Out<Handle>,
    image: Source,
    options: Option<JitOptions>,
) -> Result<(), Code> {
    let loaded = text_of(driver, image).and_then(|text| load(driver, module, &text));
    loaded.map_err(|(code, why)| {
        if let Some(log) = options.and_then(JitOptions::error_log) {
            log.write(&why);
        }
        code
    })
}

/// Loads the module in a file into `module`.
pub fn load_file(driver: &mut Driver, module: Out<Handle>, path: Text) -> Result<(), Code> {
    let mut bytes = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
    // Text ends with a NUL.
    bytes.push(0);
    let damaged = bytes.starts_with(MAGIC) && fatbin::members(&bytes).is_err();
    // A wrapper holds addresses, which mean nothing in a file.
    if damaged || bytes.starts_with(WRAPPER) {
        let why = "the fatbin is cut off or damaged".to_owned();
        return Err(refuse(driver, "unsupported_binary", (Code::INVALID_IMAGE, why)).0);
    }
    load_source(driver, module, Source::start(&bytes), None)
}

/// Unloads a module.
pub fn unload(driver: &mut Driver, module: Handle) -> Result<(), Code> {
    let unloaded = driver.modules.remove(&module).ok_or(Code::INVALID_HANDLE)?;
    driver.functions.retain(|_, (owner, _)| *owner != module);
    for (address, _) in unloaded.managed() {
        driver.managed.remove(address);
    }
    unloaded.unload(&mut driver.device.memory);
    Ok(())
}

/// A kernel of a module, by its name.
pub fn function(driver: &mut Driver, module: Handle, name: Text) -> Result<Handle, Code> {
    let loaded = driver.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
    let name = name.get()?;
    let Some(kernel) = loaded.kernel(name).cloned() else {
        let why = loaded.refusal(name).ok_or(Code::NOT_FOUND)?;
        let message = format!("kernel '{name}': {why}");
        driver.note("unsupported_ptx", &message);
        return Err(Code::INVALID_PTX);
    };
    let handle = driver.handle();
    driver.functions.insert(handle, (module, kernel));
    Ok(handle)
}

fn load_image(module: Out<Handle>, image: Source, options: Option<JitOptions>) -> Code {
    with_healthy(|driver| load_source(driver, module, image, options))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetGlobal_v2(
    address: Out<u64>,
    bytes: Out<usize>,
    module: Handle,
    name: Text,
) -> Code {
    with_context(|driver| {
        let loaded = driver.modules.get(&module).ok_or(Code::INVALID_HANDLE)?;
        let (at, size) = loaded.variable(name.get()?).ok_or(Code::NOT_FOUND)?;
        address.set_if_wanted(at);
        bytes.set_if_wanted(size as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleGetLoadingMode(mode: Out<c_uint>) -> Code {
    // Everything is loaded at once: CU_MODULE_EAGER_LOADING.
    mode.set(1).into()
}

exported! {
    fn cuModuleLoadData(module: Out<Handle>, image: Source) = load_image(module, image, None);
    fn cuModuleLoadDataEx(
        module: Out<Handle>, image: Source, count: c_uint, options: JitNumbers, values: JitValues
    ) = load_image(module, image, Some(JitOptions::new(count, options, values)));
    fn cuModuleLoadFatBinary(module: Out<Handle>, image: Source) = load_image(module, image, None);
    fn cuModuleLoad(module: Out<Handle>, path: Text) =
        with_healthy(|driver| load_file(driver, module, path));
    fn cuModuleUnload(module: Handle) = with_context(|driver| unload(driver, module));
    fn cuModuleGetFunction(kernel: Out<Handle>, module: Handle, name: Text) =
        with_context(|driver| kernel.set(function(driver, module, name)?));
}
