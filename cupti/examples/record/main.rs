//! Records hardware counters of a kernel on a GPU, as golden data for the tests that have none.
//!
//!     record --out DIR [--mode application,user,kernel] [--metrics A,B,…] [--cupti PATH] …
//!     record evaluate DIR [--cupti PATH]
//!
//! The first form runs saxpy once per block size, each in a separate range, and collects the
//! metrics in every mode: `application` starts itself again for each pass and hands the images on
//! in files, `user` loops the passes in one process, `kernel` lets CUPTI launch again. It writes
//! the images and `record.json` into DIR (flat, at most six files) and prints the values side by
//! side and the time of every step. The second form evaluates such a folder again, with or without
//! a GPU, and compares. `record --help` lists every option.
//!
//! One executable, no cargo: `cargo build --release -p gpuprof-cupti --example record`.

mod collect;
mod evaluate;
mod files;
mod kernel;
mod modes;
mod options;
mod outcome;
mod report;
mod steps;

use std::process::ExitCode;

use options::Command;

fn main() -> ExitCode {
    let outcome =
        Command::parse(std::env::args().skip(1).collect()).and_then(|command| match command {
            Command::Help => {
                println!("{}", options::HELP);
                Ok(true)
            }
            Command::Record(options) => modes::record(&options),
            Command::Pass(options, index) => {
                collect::application_pass(&options, index).map(|()| true)
            }
            Command::Loop(options, mode) => collect::all_passes(&options, mode).map(|()| true),
            Command::Evaluate(options) => evaluate::again(&options),
        });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("record: {error}");
            ExitCode::from(2)
        }
    }
}
