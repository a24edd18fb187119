//! Modules and their variables.

use super::code::Code;
use super::current::{with_context, with_healthy};
use super::machine_code;
use super::pointers::{Handle, JitNumbers, JitOptions, JitValues, Out, Source, Text};
use super::state::Driver;
use crate::ptx::PtxErrorKind;
use std::ffi::c_uint;

const ELF: &[u8] = b"\x7fELF";
const FATBIN: &[u8] = b"\x50\xed\x55\xba";
const FATBIN_WRAPPER: &[u8] = b"\xb1\x43\x62\x46";

/// The program that a module was is refused with this reason.
type Refusal = (Code, String);

fn load(driver: &mut Driver, module: Out<Handle>, text: &str) -> Result<(), Refusal> {
    let loaded = driver.device.load(text).map_err(|error| {
        let (kind, code) = match error.kind {
            PtxErrorKind::Invalid => ("invalid_ptx", Code::INVALID_PTX),
            PtxErrorKind::Unsupported => ("unsupported_ptx", Code::INVALID_PTX),
            PtxErrorKind::UnsupportedVersion => ("unsupported_ptx", Code::UNSUPPORTED_PTX_VERSION),
        };
        (kind, code, error.to_string())
    });
    let handle = driver.handle();
    let loaded = loaded.map_err(|refusal| refuse(driver, refusal))?;
    driver.modules.insert(handle, loaded);
    module.set(handle).map_err(|code| (code, String::new()))
}

/// Remembers why a module is refused.
fn refuse(driver: &mut Driver, (kind, code, why): (&str, Code, String)) -> Refusal {
    driver.note(kind, &why);
    (code, why)
}

fn load_source(driver: &mut Driver, module: Out<Handle>, image: Source) -> Result<(), Refusal> {
    let begins = |prefix| image.starts_with(prefix).map_err(|code| (code, String::new()));
    let what = if begins(ELF)? {
        Some("a cubin")
    } else if begins(FATBIN)? || begins(FATBIN_WRAPPER)? {
        Some("a fatbin")
    } else {
        None
    };
    if let Some(what) = what {
        let text = machine_code::stand_in(driver, what, image)?;
        return load(driver, module, &text);
    }
    let text = image.text().get();
    let text = text.map_err(|code| {
        refuse(driver, ("invalid_ptx", code, "the module is not text".to_owned()))
    })?;
    load(driver, module, text)
}

fn load_image(module: Out<Handle>, image: Source, options: Option<JitOptions>) -> Code {
    with_healthy(|driver| {
        load_source(driver, module, image).map_err(|(code, why)| {
            if let Some(options) = options {
                options.log_error(&why);
            }
            code
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadData(module: Out<Handle>, image: Source) -> Code {
    load_image(module, image, None)
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadDataEx(
    module: Out<Handle>,
    image: Source,
    count: c_uint,
    options: JitNumbers,
    values: JitValues,
) -> Code {
    load_image(module, image, Some(JitOptions::new(count, options, values)))
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoadFatBinary(module: Out<Handle>, image: Source) -> Code {
    load_image(module, image, None)
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleLoad(module: Out<Handle>, path: Text) -> Code {
    with_healthy(|driver| {
        let bytes = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        if bytes.starts_with(ELF) || bytes.starts_with(FATBIN) {
            let why = machine_code::refusal("a cubin or fatbin");
            return Err(refuse(driver, ("unsupported_binary", Code::NO_BINARY_FOR_GPU, why)).0);
        }
        let text = String::from_utf8(bytes).map_err(|_| Code::INVALID_PTX)?;
        load(driver, module, &text).map_err(|(code, _)| code)
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
