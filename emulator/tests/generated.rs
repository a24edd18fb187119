//! Generated programs on the driver and on a reference that knows no warps.

use crate::common::Bench;
use crate::reference::interpret::{Outcome, Schedule, run};
use crate::reference::ir::Program;
use crate::reference::shrink::shrink;
use crate::reference::{flat, generate, ptx};
use gpuprof_emulator::device::Checks;
use std::fmt::Write;
use std::path::PathBuf;

const FAIR: Schedule = Schedule { turn: 40, seed: 1 };

/// No warp of a program that ends comes near to so many instructions.
const INSTRUCTIONS: u64 = 4_000_000;

fn reference(program: &Program, schedule: Schedule) -> Outcome {
    run(program, &flat::flatten(program), program.memory(), schedule)
}

/// Global memory after the launch, or the driver's message.
fn emulate(program: &Program) -> Result<Vec<u32>, String> {
    let mut bench = Bench::with_threads(&text(program), 1);
    let device = std::mem::take(&mut bench.device);
    bench.device = device.with_checks(Checks::Off).with_instruction_limit(INSTRUCTIONS);
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

/// Whether the program has one result, in whatever order its threads run.
fn is_sound(program: &Program) -> bool {
    let first = reference(program, FAIR);
    let schedules = [(1, 2), (1000, 3), (1000, 4), (10, 5), (10, 6)];
    let mut others = schedules.map(|(turn, seed)| Schedule { turn, seed }).into_iter();
    matches!(first, Outcome::Finished(_)) && others.all(|other| first == reference(program, other))
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
        assert!(is_sound(&program), "seed {seed}: {program:#?}");
    }
}

#[test]
fn the_driver_computes_what_the_reference_does() {
    let mut wrong = Vec::new();
    for seed in first_seed()..first_seed() + programs() {
        let program = generate::program(seed);
        if difference(&program).is_some() {
            let fails = |program: &Program| is_sound(program) && difference(program).is_some();
            let small = shrink(program, fails);
            let how = difference(&small).unwrap_or_default();
            wrong.push(format!("seed {seed}: {how}\n{}", text(&small)));
        }
    }
    assert!(wrong.is_empty(), "{} programs differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_driver_never_ends_what_the_reference_never_ends() {
    let (mut endless, mut wrong) = (0, Vec::new());
    for seed in first_seed()..first_seed() + programs() / 8 {
        let program = generate::endless(seed);
        // A lane may have ended before it comes to the statement.
        if reference(&program, FAIR) != Outcome::Endless {
            continue;
        }
        endless += 1;
        if ends(&program) {
            let fails =
                |program: &Program| reference(program, FAIR) == Outcome::Endless && ends(program);
            let small = shrink(program, fails);
            wrong.push(format!("seed {seed}\n{}", text(&small)));
        }
    }
    assert!(wrong.is_empty(), "{} programs end\n{}", wrong.len(), wrong.join("\n"));
    assert!(endless > programs() / 16, "{endless} of {} programs are endless", programs() / 8);
}

/// Whether the driver ends the program, other than by saying that it never would.
fn ends(program: &Program) -> bool {
    match emulate(program) {
        Ok(_) => true,
        Err(message) => !message.contains("deadlock") && !message.contains("still running"),
    }
}

fn text(program: &Program) -> String {
    ptx::module("program", program, &flat::flatten(program))
}

/// Writes programs with their results for `run_on_gpu.py`: modules of PTX, and one line a program.
/// The line holds what is needed to make memory, and the bits of memory that change.
#[test]
#[ignore = "writes the programs that a GPU runs"]
fn export() {
    let folder = PathBuf::from(std::env::var("GENERATED_FOLDER").expect("GENERATED_FOLDER is set"));
    std::fs::create_dir_all(&folder).unwrap();
    let mut manifest = String::new();
    let mut seeds = first_seed()..;
    let mut left = programs();
    while left > 0 {
        let count = left.min(EXPORTED_PER_MODULE);
        let mut module = ptx::HEADER.to_string();
        let first = seeds.start;
        for seed in seeds.by_ref().take(count as usize) {
            let program = generate::program(seed);
            let flat = flat::flatten(&program);
            let name = format!("program_{seed}");
            let Outcome::Finished(expected) = reference(&program, FAIR) else {
                panic!("seed {seed} never ends")
            };
            module.push_str(&ptx::kernel(&name, &program, &flat));
            let before = program.memory();
            let changes: Vec<u32> = before.iter().zip(&expected).map(|(a, b)| a ^ b).collect();
            let Program { seed, blocks, threads, .. } = program;
            let _ = writeln!(
                manifest,
                "{first} {name} {blocks} {threads} {seed} {} {} {}",
                program.results(),
                hex(&before[program.results() as usize..]),
                hex(&changes),
            );
        }
        std::fs::write(folder.join(format!("{first}.ptx")), module).unwrap();
        left -= count;
    }
    std::fs::write(folder.join("manifest"), manifest).unwrap();
}

/// How many programs a driver compiles at once.
const EXPORTED_PER_MODULE: u64 = 25;

/// Words in hexadecimal, a run of equal ones as its length and the word.
fn hex(words: &[u32]) -> String {
    let runs = words.chunk_by(|a, b| a == b);
    let text: Vec<String> = runs
        .map(|run| match run.len() {
            1 => format!("{:x}", run[0]),
            count => format!("{count}*{:x}", run[0]),
        })
        .collect();
    text.join(",")
}
