//! Launches by series functions themselves that the driver refuses.
//!
//! Input: a series function. Output: its outcome; if a refused launch caused an error, the outcome
//! says so, for any error of the function. The error's words are not interpreted: the driver is
//! asked.
//!
//! The emulated driver knows the last refused launch. Another driver does not report it, and CUPTI
//! sees only the calls while it watches, at a price: so a failed function is called once more under
//! CUPTI, and only then. Both forget a launch as soon as the program continues after it: another
//! call fails, or a launch is accepted. A launch refused after the measured ones is a failure, for
//! example of `verify`.

use cudarc::driver::DriverError;
use gpuprof_cupti::launches::FailedLaunch;
use gpuprof_cupti::{HostApi, LaunchWatch, locate};
use gpuprof_model::series::without_place;

use crate::host::collect::emulator;
use crate::host::error::outcome::caught;
use crate::host::error::{self, Error, Result};
use crate::host::run::Run;
use crate::host::run::purpose::{Phase, Purpose};

/// What is annotated as a series.
pub(crate) type SeriesFunction = fn(&mut Run<'_>) -> Result<()>;

/// Calls `function` with `run`.
///
/// # Errors
/// The function's; *invalid* where it is that of a launch that the driver refused.
pub(crate) fn call(function: SeriesFunction, run: &mut Run<'_>) -> Result<()> {
    let emulated = run.session.device.emulated;
    if emulated {
        emulator::take_refused_launch();
    }
    let Err(error) = function(run) else {
        // It continued from a refused launch as if there was something to measure.
        let refused = emulated.then(emulator::take_refused_launch).flatten();
        return refused.map_or(Ok(()), |reason| Err(Error::invalid(reason)));
    };
    // The launches of a counter pass have been made before, in the call that warms up.
    let launched = run.phase == Phase::Launched || matches!(run.purpose, Purpose::CounterPass(_));
    if launched || !error.may_be_a_refusal() {
        return Err(run.session.explain(error));
    }
    Err(match emulated {
        true => match emulator::take_refused_launch() {
            Some(reason) => Error::invalid(reason),
            None => run.session.explain(error),
        },
        false => match watched(function, run) {
            Ok(Some(reason)) => Error::invalid(reason),
            Ok(None) => error,
            Err(why) => {
                let reason = format!(
                    "{error} (whether the driver refused a launch is not known: {why}; \
                     return run.invalid(…) where it does)"
                );
                error.in_words(reason)
            }
        },
    })
}

/// Calls `function` like in `run` again, and returns the launch that was refused if it failed
/// again.
///
/// # Errors
/// Why CUPTI cannot watch.
fn watched(function: SeriesFunction, run: &Run<'_>) -> Result<Option<String>, String> {
    let session = run.session;
    let begin = || {
        let found = locate(run.request.cupti.as_deref()).map_err(|_| "there is no usable CUPTI")?;
        let api = HostApi::load(&found).map_err(|e| e.to_string())?;
        LaunchWatch::begin(api).map_err(|e| e.to_string())
    };
    let watch = session.quiet.stage(|| Ok(begin())).map_err(|e| e.to_string()).flatten()?;
    let mut again = Run::new(session, run.request, Purpose::Refusal);
    let erred = caught(|| function(&mut again)).is_err() && again.phase != Phase::Launched;
    Ok(watch.failed().filter(|_| erred).and_then(|launch| refusal(&launch)))
}

/// The refusal of a launch by the driver, if its code is one.
fn refusal(launch: &FailedLaunch) -> Option<String> {
    let code = error::refusing(launch.code)?;
    Some(format!("{}: {}", refused(launch), error::describe(DriverError(code))))
}

/// That the driver refuses this launch.
fn refused(launch: &FailedLaunch) -> String {
    let extent = |[x, y, z]: [u32; 3]| format!("{x}x{y}x{z}");
    let kernel = launch
        .kernel
        .as_deref()
        .map_or_else(|| "a kernel".to_owned(), |name| format!("`{}`", without_place(name)));
    let shared = match launch.shared_bytes {
        0 => String::new(),
        bytes => format!(" and {bytes} bytes of dynamic shared memory"),
    };
    let (grid, block) = (extent(launch.grid), extent(launch.block));
    format!("the driver refuses to launch {kernel} with {grid} blocks of {block} threads{shared}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_depends_on_the_configuration_is_a_refusal_and_no_other_is() {
        let launch = |code, shared_bytes| FailedLaunch {
            kernel: Some("scale$1a2b3c4d$12$1$".to_owned()),
            grid: [4, 1, 1],
            block: [2048, 1, 1],
            shared_bytes,
            code,
        };
        for code in [1, 701, 720, 912] {
            assert_eq!(error::refusing(code).map(|code| code as u32), Some(code));
            let text = "the driver refuses to launch `scale` with 4x1x1 blocks of 2048x1x1 threads";
            assert_eq!(refused(&launch(code, 0)), text);
        }
        let found = refused(&launch(1, 4096));
        assert!(found.ends_with(" threads and 4096 bytes of dynamic shared memory"), "{found}");
        for code in [2, 201, 400, 700, 719, 999, u32::MAX] {
            assert_eq!(refusal(&launch(code, 0)), None, "{code}");
        }
    }
}
