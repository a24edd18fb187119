//! Persisting lines of the L2 cache. The driver resets them by a launch, which a profiler that
//! counts every launch as a range sees (on an H200, driver 580 and CUPTI 13.0: 1.2 µs without
//! instructions).

use super::code::Code;
use super::current::with_context;
use super::ledger;

#[unsafe(no_mangle)]
extern "C" fn cuCtxResetPersistingL2Cache() -> Code {
    with_context(|driver| {
        ledger::work_of_the_driver(driver, "cuCtxResetPersistingL2Cache");
        Ok(())
    })
}
