//! The kernels and variables of a program, as nvcc registers them before `main`.
//!
//! Input: wrappers of fatbins, and for each host stub and host variable the name of its kernel or
//! variable of the device. Output: the driver's handles and addresses. A fatbin is loaded when
//! something of it is needed for the first time, and again after a reset of the device.

use crate::driver::driver;
use crate::error::Error;
use crate::pointers::{Address, Handle, Out, Text};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The wrapper of a fatbin, by which it is known.
type Binary = Address;

/// A kernel or a variable.
#[derive(Debug, Clone, Copy)]
struct Symbol<T> {
    binary: Binary,
    /// The address of its name, which lives as long as the binary.
    name: usize,
    /// The driver's handle or address, after the first use.
    found: Option<T>,
}

impl<T> Symbol<T> {
    fn name(&self) -> Text {
        self.name as Text
    }
}

/// A variable's address and its bytes.
type Place = (Address, usize);

/// All that was registered.
#[derive(Debug)]
struct Registry {
    /// The libraries of binaries that were loaded.
    libraries: BTreeMap<Binary, Handle>,
    kernels: BTreeMap<Address, Symbol<Handle>>,
    variables: BTreeMap<Address, Symbol<Place>>,
    /// Those variables whose host variable is a pointer to them.
    managed: BTreeSet<Address>,
}

/// nvcc's code registers without a handle of the runtime.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    libraries: BTreeMap::new(),
    kernels: BTreeMap::new(),
    variables: BTreeMap::new(),
    managed: BTreeSet::new(),
});

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    fn library(&mut self, binary: Binary) -> Result<Handle, Error> {
        if let Some(library) = self.libraries.get(&binary) {
            return Ok(*library);
        }
        let (mut library, none) = (Handle::NULL, Handle::NULL);
        driver()?.cuLibraryLoadData(
            Out::new(&mut library),
            binary,
            none,
            none,
            0,
            none,
            none,
            0,
        )?;
        self.libraries.insert(binary, library);
        Ok(library)
    }
}

/// The driver's function of the kernel with this host stub.
pub fn kernel(stub: Address) -> Result<Handle, Error> {
    let mut registry = registry();
    let symbol = *registry.kernels.get(&stub).ok_or(Error::INVALID_DEVICE_FUNCTION)?;
    // Also where the kernel is known: a thread may have no context yet.
    let driver = driver()?;
    if let Some(function) = symbol.found {
        return Ok(function);
    }
    let library = registry.library(symbol.binary)?;
    let (mut kernel, mut function) = (Handle::NULL, Handle::NULL);
    driver.cuLibraryGetKernel(Out::new(&mut kernel), library, symbol.name())?;
    driver.cuKernelGetFunction(Out::new(&mut function), kernel)?;
    registry.kernels.insert(stub, Symbol { found: Some(function), ..symbol });
    Ok(function)
}

/// The name of the kernel with this host stub.
pub fn kernel_name(stub: Address) -> Result<Text, Error> {
    registry().kernels.get(&stub).map(Symbol::name).ok_or(Error::INVALID_DEVICE_FUNCTION)
}

/// The address and the bytes of the variable with this host variable.
pub fn variable(host: Address) -> Result<Place, Error> {
    let mut registry = registry();
    let symbol = *registry.variables.get(&host).ok_or(Error::INVALID_SYMBOL)?;
    let driver = driver()?;
    if let Some(place) = symbol.found {
        return Ok(place);
    }
    let library = registry.library(symbol.binary)?;
    let (mut address, mut bytes) = (0, 0);
    let (to_address, to_bytes) = (Out::new(&mut address), Out::new(&mut bytes));
    driver.cuLibraryGetGlobal(to_address, to_bytes, library, symbol.name())?;
    registry.variables.insert(host, Symbol { found: Some((address, bytes)), ..symbol });
    Ok((address, bytes))
}

/// Forgets what was loaded: the device was reset.
pub fn forget_loaded() {
    let mut registry = registry();
    registry.libraries.clear();
    registry.kernels.values_mut().for_each(|symbol| symbol.found = None);
    registry.variables.values_mut().for_each(|symbol| symbol.found = None);
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinary(wrapper: Binary) -> Binary {
    wrapper
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_binary: Binary) {}

#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(binary: Binary) {
    let mut registry = registry();
    registry.kernels.retain(|_, symbol| symbol.binary != binary);
    registry.variables.retain(|_, symbol| symbol.binary != binary);
    let loaded = registry.libraries.remove(&binary);
    if let (Some(library), Ok(driver)) = (loaded, driver()) {
        // The program ends or closes a library, and cannot handle an error.
        let _ = driver.cuLibraryUnload(library);
    }
}

/// Before the program reads its managed variables: gives it their addresses.
#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(binary: Binary) -> c_char {
    let own = |symbol: &Symbol<Place>| symbol.binary == binary;
    let managed: Vec<Address> = {
        let registry = registry();
        let all = registry
            .variables
            .iter()
            .filter(|(host, symbol)| own(symbol) && registry.managed.contains(*host));
        all.map(|(host, _)| *host).collect()
    };
    for host in managed {
        // A later call that needs the variable returns the error.
        if let Ok((address, _)) = variable(host) {
            let _ = Out::at(host).set(address);
        }
    }
    1
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterManagedVar(
    binary: Binary,
    host: Address,
    device: Text,
    name: Text,
    external: c_int,
    bytes: usize,
    constant: c_int,
    global: c_int,
) {
    registry().managed.insert(host);
    __cudaRegisterVar(binary, host, device, name, external, bytes, constant, global);
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFunction(
    binary: Binary,
    stub: Address,
    _device_stub: Text,
    name: Text,
    _thread_limit: c_int,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut c_void,
    _grid_size: *mut c_void,
    _warp_size: *mut c_int,
) {
    let symbol = Symbol { binary, name: name as usize, found: None };
    registry().kernels.insert(stub, symbol);
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterVar(
    binary: Binary,
    host: Address,
    _device: Text,
    name: Text,
    _external: c_int,
    _bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    let symbol = Symbol { binary, name: name as usize, found: None };
    registry().variables.insert(host, symbol);
}
