//! Generated programs on the driver and on a reference that knows no warps.

use crate::common::Bench;
use crate::reference::interpret::{Outcome, Schedule, run};
use crate::reference::ir::Program;
use crate::reference::shrink::shrink;
use crate::reference::{flat, generate, ptx};
use gpuprof_emulator::device::Checks;

const FAIR: Schedule = Schedule { turn: 40, seed: 1 };

fn reference(program: &Program, schedule: Schedule) -> Outcome {
    run(program, &flat::flatten(program), program.memory(), schedule)
}

/// Global memory after the launch, or the driver's message.
fn emulate(program: &Program) -> Result<Vec<u32>, String> {
    let text = ptx::module("program", program, &flat::flatten(program));
    let mut bench = Bench::with_threads(&text, 1);
    bench.device = std::mem::take(&mut bench.device).with_checks(Checks::Off);
    let memory = bench.upload(&program.memory());
    let (grid, block) = ([program.blocks, 1, 1], [program.threads, 1, 1]);
    let launch = bench.try_launch("program", grid, block, 0, &[&memory]);
    launch.map_err(|error| error.to_string())?;
    Ok(bench.download(memory, program.memory().len(), u32::from_le_bytes))
}

/// How the driver differs from the reference, if the reference finishes.
fn difference(program: &Program) -> Option<String> {
    let Outcome::Finished(expected) = reference(program, FAIR) else { return None };
    match emulate(program) {
        Ok(got) if got == expected => None,
        Ok(got) => {
            let differing = got.iter().zip(&expected).enumerate().filter(|(_, (a, b))| a != b);
            let words: Vec<String> = differing
                .take(8)
                .map(|(at, (got, expected))| format!("[{at}] {got:#x}, not {expected:#x}"))
                .collect();
            Some(words.join("; "))
        }
        Err(message) => Some(message),
    }
}

fn programs() -> u64 {
    std::env::var("GENERATED_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000)
}

fn first_seed() -> u64 {
    std::env::var("GENERATED_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[test]
fn a_program_has_one_result_in_whatever_order_its_threads_run() {
    for seed in first_seed()..first_seed() + programs() / 4 {
        let program = generate::program(seed);
        let first = reference(&program, FAIR);
        assert!(matches!(first, Outcome::Finished(_)), "seed {seed}: {program:#?}");
        for schedule in [Schedule { turn: 1, seed }, Schedule { turn: 1000, seed }] {
            assert!(first == reference(&program, schedule), "seed {seed}: {program:#?}");
        }
    }
}

#[test]
fn the_driver_computes_what_the_reference_does() {
    let mut wrong = Vec::new();
    for seed in first_seed()..first_seed() + programs() {
        let program = generate::program(seed);
        if difference(&program).is_some() {
            let small = shrink(program, |program| difference(program).is_some());
            let text = ptx::module("program", &small, &flat::flatten(&small));
            wrong.push(format!("seed {seed}: {}\n{text}", difference(&small).unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "{} programs differ\n{}", wrong.len(), wrong.join("\n"));
}
