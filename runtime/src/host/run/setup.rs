//! Data that a series makes once for each process, such as keys and tables.
//!
//! Input: the function that makes them. Output: the data, made when a configuration first needs
//! them, and kept for the others of the process and for its counter passes.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::CudaStream;

use crate::host::error::{Error, Result};
use crate::host::run::Run;
use crate::host::session::SetupData;

/// Calls a series `function` with the data that `make` makes for the series called `name`.
///
/// # Errors
/// Those of both, and the driver's.
pub fn with_setup<T: 'static>(
    run: &mut Run<'_>,
    name: &'static str,
    make: fn(&Arc<CudaStream>) -> Result<T>,
    function: fn(&mut Run<'_>, &T) -> Result<()>,
) -> Result<()> {
    let known = run.session.setups.borrow().get(name).cloned();
    let SetupData { data, took } = match known {
        Some(made) => made,
        None => {
            let begin = Instant::now();
            let data: Rc<dyn Any> = Rc::new(make(&run.session.stream)?);
            run.synchronize()?;
            let made = SetupData { data, took: begin.elapsed() };
            run.session.setups.borrow_mut().insert(name, made.clone());
            made
        }
    };
    run.result.setup_ns = Some(took.into());
    let data = data.downcast_ref().ok_or_else(|| {
        Error::failed(format!("two series called `{name}` have set-ups of different types"))
    })?;
    function(run, data)
}
