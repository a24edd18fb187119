//! Compiles several programs at once, each in its own process, at most one per core.

use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

use super::cache::Cache;
use super::compiled::Compiled;
use super::compiler_choice::Compilers;
use super::error::Error;
use super::program::Program;

/// Compiles every program; the results are in their order. After a signal no further compile
/// starts.
pub fn compile_all(
    programs: &[Program],
    compilers: &Compilers,
    cache: &Cache,
) -> Vec<Result<Compiled, Error>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let left = Mutex::new(programs.iter().enumerate());
    let next = || left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    let work = || {
        let mut done = Vec::new();
        while let Some((number, program)) = next() {
            let outcome = match compilers.interrupt().signal() {
                Some(signal) => Err(Error::Interrupted(signal)),
                None => compilers.compile(program, cache),
            };
            done.push((number, outcome));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(programs.len())).map(|_| scope.spawn(work)).collect();
        let ended = threads.into_iter().map(|it| it.join().expect("a compile does not panic"));
        ended.flatten().collect::<Vec<_>>()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}
