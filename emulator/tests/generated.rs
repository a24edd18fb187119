//! Generated programs on the driver and on a reference that knows no warps.

use crate::common::Bench;
use crate::reference::interpret::{Outcome, Schedule, run};
use crate::reference::ir::{Arm, Commutative, Operand, Order, Program, Space, Stmt, Var};
use crate::reference::shrink::shrink;
use crate::reference::{flat, generate, ptx};
use gpuprof_emulator::device::{CheckedBlocks, Checks};
use std::fmt::Write;
use std::path::PathBuf;

const FAIR: Schedule = Schedule { turn: 40, seed: 1 };

/// Of so many programs that differ the smallest form is looked for.
const SHRUNK: usize = 2;
/// The programs have no races.
const CHECKS: Checks = Checks { race: true, blocks: CheckedBlocks::All, ..Checks::NONE };
/// No block of a program that ends executes so many warp instructions. In seed 178405, lanes at
/// many depths of a recursion want one lock: more than 4 million.
const INSTRUCTIONS: u64 = 64_000_000;
/// After so many instructions of an endless program, every waiting thread has had many turns.
const ENDLESS_INSTRUCTIONS: u64 = 200_000;

fn reference(program: &Program, schedule: Schedule) -> Outcome {
    run(program, &flat::flatten(program), program.memory(), schedule)
}

/// Global memory after the launch, or the driver's message.
fn emulate(program: &Program, checks: Checks, instructions: u64) -> Result<Vec<u32>, String> {
    let mut bench = Bench::with_threads(&text(program), 1);
    let device = std::mem::take(&mut bench.device);
    bench.device = device.with_checks(checks).with_instruction_limit(instructions);
    let memory = bench.upload(&program.memory());
    let (grid, block) = ([program.blocks, 1, 1], [program.threads, 1, 1]);
    let launch = bench.try_launch("program", grid, block, 0, &[&memory]);
    launch.map_err(|error| error.to_string())?;
    Ok(bench.download(memory, program.memory().len(), u32::from_le_bytes))
}

/// How the driver differs from the reference, if the reference finishes.
fn difference(program: &Program) -> Option<String> {
    let Outcome::Finished(expected) = reference(program, FAIR) else { return None };
    match emulate(program, CHECKS, INSTRUCTIONS) {
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

/// Global memory before and after, as PTX comments.
fn memories(program: &Program) -> String {
    let before = hex(&program.memory());
    match reference(program, FAIR) {
        Outcome::Finished(after) => format!("// before: {before}\n// after: {}\n", hex(&after)),
        outcome => format!("// before: {before}\n// after: {outcome:?}\n"),
    }
}

fn programs() -> u64 {
    std::env::var("GENERATED_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(500)
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
fn the_driver_matches_the_reference() {
    let mut wrong = Vec::new();
    for seed in first_seed()..first_seed() + programs() {
        let program = generate::program(seed);
        let Some(how) = difference(&program) else { continue };
        eprintln!("seed {seed}: {how}");
        if wrong.len() < SHRUNK {
            let fails = |program: &Program| is_sound(program) && difference(program).is_some();
            let small = shrink(program, fails);
            let how = difference(&small).unwrap_or_default();
            wrong.push(format!("seed {seed}: {how}\n{}{}", text(&small), memories(&small)));
        } else {
            wrong.push(format!("seed {seed}"));
        }
    }
    assert!(wrong.is_empty(), "{} programs differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn programs_that_never_end_on_the_reference_never_end_on_the_driver() {
    let (mut endless, mut wrong) = (0, Vec::new());
    for seed in first_seed()..first_seed() + programs() / 8 {
        let program = generate::endless(seed);
        // A lane may have ended before it reaches the statement.
        if reference(&program, FAIR) != Outcome::Endless {
            continue;
        }
        endless += 1;
        if end(&program).is_some() {
            let fails = |program: &Program| {
                reference(program, FAIR) == Outcome::Endless && end(program).is_some()
            };
            let small = shrink(program, fails);
            let how = end(&small).unwrap_or_default();
            wrong.push(format!("seed {seed}: {how}\n{}", text(&small)));
        }
    }
    assert!(wrong.is_empty(), "{} programs end\n{}", wrong.len(), wrong.join("\n"));
    assert!(endless > programs() / 16, "{endless} of {} programs are endless", programs() / 8);
}

/// How the driver ends the program, unless it says that it never would.
fn end(program: &Program) -> Option<String> {
    match emulate(program, CHECKS, ENDLESS_INSTRUCTIONS) {
        Ok(_) => Some("it ends".to_string()),
        Err(message) if message.contains("deadlock") || message.contains("still running") => None,
        Err(message) => Some(message),
    }
}

fn text(program: &Program) -> String {
    ptx::module("program", program, &flat::flatten(program))
}

/// Writes programs with their results for `run_on_gpu.py`: a module and a line a program. The line
/// holds what is needed to make memory, and the bits of memory that change. Programs that
/// ptxas makes endless are left out.
#[test]
#[ignore = "writes the programs that a GPU runs"]
fn export() {
    let folder = PathBuf::from(std::env::var("GENERATED_FOLDER").expect("GENERATED_FOLDER is set"));
    std::fs::create_dir_all(&folder).unwrap();
    let mut manifest = String::new();
    let all = (first_seed()..).map(generate::program);
    let exported: Vec<Program> =
        all.filter(|program| !program.releases_by_store()).take(programs() as usize).collect();
    for program in &exported {
        let Program { blocks, threads, seed, .. } = program;
        let flat = flat::flatten(program);
        let name = format!("program_{seed}");
        let Outcome::Finished(expected) = reference(program, FAIR) else {
            panic!("seed {seed} never ends")
        };
        let before = program.memory();
        let changes: Vec<u32> = before.iter().zip(&expected).map(|(a, b)| a ^ b).collect();
        let count = program.results();
        let rest = hex(&before[count as usize..]);
        let changes = hex(&changes);
        let _ = writeln!(manifest, "{name} {blocks} {threads} {seed} {count} {rest} {changes}");
        std::fs::write(folder.join(format!("{name}.ptx")), ptx::module(&name, program, &flat))
            .unwrap();
    }
    std::fs::write(folder.join("manifest"), manifest).unwrap();
}

#[test]
fn a_lock_in_a_body_that_ptxas_makes_endless_is_found() {
    let lock = |tries, order| Stmt::Lock {
        space: Space::Shared,
        lock: 0,
        op: Commutative::Add,
        a: Operand::Lane,
        order,
        tries,
        releases: true,
        body: Vec::new(),
    };
    let found = |statement: Stmt| {
        let body = vec![Stmt::Peel { lanes: 1, a: Var(0), d: Var(1) }, statement];
        let arms = vec![Arm { body, falls: false }];
        let switch = Stmt::Switch { on: Var(0), table: true, arms };
        Program { body: Vec::new(), functions: vec![vec![switch]], ..generate::program(0) }
            .releases_by_store()
    };
    assert!(found(lock(false, Order::Scoped)));
    assert!(!found(lock(true, Order::Scoped)) && !found(lock(false, Order::Fenced)));
}

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
