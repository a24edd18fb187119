//! Persisting lines of the L2 cache: there are none, since the emulator counts L2 accesses without
//! a cache.

use super::code::Code;
use super::current::with_context;

#[unsafe(no_mangle)]
extern "C" fn cuCtxResetPersistingL2Cache() -> Code {
    with_context(|_| Ok(()))
}
