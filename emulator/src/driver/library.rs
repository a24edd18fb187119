//! Libraries: modules that need no context to be loaded, and their kernels. A library is a module
//! here, and a kernel is a function, so either handle launches.

use super::code::Code;
use super::current::with_context;
use super::exported::exported;
use super::module::{function, load_file, load_source, unload};
use super::pointers::{Handle, JitNumbers, JitOptions, JitValues, Out, Source, Text};
use super::state::{Driver, with};
use std::ffi::{c_char, c_uint};

/// A call that needs no context, but one in which no kernel has failed.
fn with_healthy_driver(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    with(|driver| match driver.sticky {
        Some(code) => Err(code),
        None => f(driver),
    })
}

#[unsafe(no_mangle)]
extern "C" fn cuLibraryLoadData(
    library: Out<Handle>,
    image: Source,
    options: JitNumbers,
    values: JitValues,
    count: c_uint,
    _library_options: Handle,
    _library_values: Handle,
    _library_count: c_uint,
) -> Code {
    let options = Some(JitOptions::new(count, options, values));
    with_healthy_driver(|driver| load_source(driver, library, image, options))
}

#[unsafe(no_mangle)]
extern "C" fn cuLibraryGetModule(module: Out<Handle>, library: Handle) -> Code {
    with_context(|driver| {
        driver.modules.get(&library).ok_or(Code::INVALID_HANDLE)?;
        module.set(library)
    })
}

fn owner(driver: &Driver, kernel: Handle) -> Result<Handle, Code> {
    driver.functions.get(&kernel).map(|(owner, _)| *owner).ok_or(Code::INVALID_HANDLE)
}

#[unsafe(no_mangle)]
extern "C" fn cuKernelGetFunction(function: Out<Handle>, kernel: Handle) -> Code {
    with_context(|driver| {
        owner(driver, kernel)?;
        function.set(kernel)
    })
}

exported! {
    fn cuLibraryLoadFromFile(
        library: Out<Handle>, path: Text, _options: JitNumbers, _values: JitValues, _count: c_uint,
        _library_options: Handle, _library_values: Handle, _library_count: c_uint
    ) = with_healthy_driver(|driver| load_file(driver, library, path));
    fn cuLibraryUnload(library: Handle) = with(|driver| unload(driver, library));
    fn cuLibraryGetKernel(kernel: Out<Handle>, library: Handle, name: Text) =
        with(|driver| kernel.set(function(driver, library, name)?));
    fn cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) =
        super::module::cuModuleGetGlobal_v2(address, bytes, library, name);
    fn cuKernelGetLibrary(library: Out<Handle>, kernel: Handle) =
        with(|driver| library.set(owner(driver, kernel)?));
    fn cuKernelGetName(name: Out<*const c_char>, kernel: Handle) =
        super::function::cuFuncGetName(name, kernel);
    fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: Out<usize>, size: Out<usize>) =
        super::function::cuFuncGetParamInfo(kernel, index, offset, size);
}
