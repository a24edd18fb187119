//! Functions of the driver that it may lack, and those of the emulated driver.
//!
//! Input: a symbol. Output: the function, if the driver's library has it. cudarc panics where a
//! function is missing, and it has a handle of the library only if it loads the library itself. A
//! crate that links the library (cudarc's feature `dynamic-linking`, which candle chooses) takes
//! that handle away from every crate, so this is one of our own, for the same library.

use std::sync::LazyLock;

use libloading::os::unix::{Library, RTLD_LAZY, Symbol};

const NAME: &str = "libcuda.so.1";

static LIBRARY: LazyLock<Option<Library>> = LazyLock::new(|| {
    // SAFETY: the driver's and the emulated driver's initialisers have no preconditions.
    let open = |name: &str, flags| unsafe { Library::open(Some(name), RTLD_LAZY | flags) }.ok();
    // The process may have the library already, as it links it. If not, cudarc is going to load
    // one, and it tries the shorter name first.
    open(NAME, libc::RTLD_NOLOAD).or_else(|| open("libcuda.so", 0)).or_else(|| open(NAME, 0))
});

/// Whether a driver library can be loaded.
pub(crate) fn is_present() -> bool {
    LIBRARY.is_some()
}

/// The function `name`, which ends with a NUL; none if the driver lacks it, or if there is none.
///
/// # Safety
/// The function, if it exists, has the type `T`.
pub(crate) unsafe fn find<T>(name: &[u8]) -> Option<Symbol<T>> {
    // SAFETY: the caller's.
    unsafe { LIBRARY.as_ref()?.get(name) }.ok()
}
