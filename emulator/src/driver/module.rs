//! Modules and their variables.

use super::code::Code;
use super::current::{with_context, with_healthy};
use super::pointers::{Handle, Out, Source, Text};
use super::state::Driver;
use crate::ptx::PtxErrorKind;
use std::ffi::c_uint;

const ELF: &[u8] = b"\x7fELF";
const FATBIN: &[u8] = b"\x50\xed\x55\xba";
const FATBIN_WRAPPER: &[u8] = b"\xb1\x43\x62\x46";

fn load(driver: &mut Driver, module: Out<Handle>, text: &str) -> Result<(), Code> {
    let loaded = driver.device.load(text).map_err(|error| {
        let (kind, code) = match error.kind {
            PtxErrorKind::Invalid => ("invalid_ptx", Code::INVALID_PTX),
            PtxErrorKind::Unsupported => ("unsupported_ptx", Code::INVALID_PTX),
            PtxErrorKind::UnsupportedVersion => ("unsupported_ptx", Code::UNSUPPORTED_PTX_VERSION),
        };
        driver.note(kind, &error.to_string());
        code
    })?;
    let handle = driver.handle();
    driver.modules.insert(handle, loaded);
    module.set(handle)
}

fn load_image(module: Out<Handle>, image: Source) -> Code {
    with_healthy(|driver| {
        let is_elf = image.starts_with(ELF)?;
        if is_elf || image.starts_with(FATBIN)? || image.starts_with(FATBIN_WRAPPER)? {
            let what = if is_elf { "a cubin" } else { "a fatbin" };
            driver.note(
                "unsupported_binary",
                &format!(
                    "the module is {what} (GPU machine code): the emulator runs PTX text only"
                ),
            );
            return Err(Code::NO_BINARY_FOR_GPU);
        }
        let text = image
            .text()
            .get()
            .inspect_err(|_| driver.note("invalid_ptx", "the module is not text"))?;
        load(driver, module, text)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadData(module: Out<Handle>, image: Source) -> Code {
    load_image(module, image)
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadDataEx(
    module: Out<Handle>,
    image: Source,
    _count: c_uint,
    _options: Handle,
    _values: Handle,
) -> Code {
    load_image(module, image)
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadFatBinary(module: Out<Handle>, image: Source) -> Code {
    load_image(module, image)
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoad(module: Out<Handle>, path: Text) -> Code {
    with_healthy(|driver| {
        let bytes = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        if bytes.starts_with(ELF) || bytes.starts_with(FATBIN) {
            driver.note(
                "unsupported_binary",
                "the file is GPU machine code: the emulator runs PTX text only",
            );
            return Err(Code::NO_BINARY_FOR_GPU);
        }
        let text = String::from_utf8(bytes).map_err(|_| Code::INVALID_PTX)?;
        load(driver, module, &text)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(module: Handle) -> Code {
    with_context(|driver| {
        let unloaded = driver.modules.remove(&module).ok_or(Code::INVALID_HANDLE)?;
        driver.functions.retain(|_, (owner, _)| *owner != module);
        unloaded.unload(&mut driver.device.memory);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleGetFunction(function: Out<Handle>, module: Handle, name: Text) -> Code {
    with_context(|driver| {
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
        function.set(handle)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleGetGlobal_v2(
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
