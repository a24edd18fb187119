//! Estimated times by machine code.
//!
//! ptxas 13.0.88 made `machine_code/loops.cubin` of `loops.ptx`: `ptxas -lineinfo -arch sm_90
//! loops.ptx -o loops.cubin`, and `chains.cubin` of `chains.ptx` in the same way. Counts are those
//! of ncu 2025.3.1 on an H200, 2026-11-30, and clocks those of `docs/scripts/estimate/constants.sh`
//! there.

use crate::common::{Argument, Bench};
use fatbin::code::MachineCode;
use gpuprof_emulator::timing::{Estimate, Limit, Machine};

const PTX: &str = include_str!("machine_code/loops.ptx");
const CUBIN: &[u8] = include_bytes!("machine_code/loops.cubin");

const CHAINS: (&str, &[u8]) =
    (include_str!("machine_code/chains.ptx"), include_bytes!("machine_code/chains.cubin"));

/// Clocks of an H200 in a nanosecond, and the instructions of one multiprocessor in a clock.
const CLOCK: f64 = 1.98;
const SLOTS: f64 = 4.0;

/// The estimate of a block of 256 threads, by the machine code or without it.
fn estimated(kernel: &str, by_machine_code: bool, arguments: &[&dyn Argument]) -> Estimate {
    let mut bench = Bench::unchecked(PTX);
    let values = bench.upload(&vec![1f32; 1 << 15]);
    let sums = bench.upload(&[0f32; 256]);
    let of_module = bench.module.kernel(kernel).unwrap();
    if by_machine_code {
        let code = MachineCode::read(CUBIN, kernel).unwrap().expect("it has the kernel");
        of_module.set_machine(Machine::new(&code));
    }
    let memory: &[&dyn Argument] = if kernel == "products" { &[&sums] } else { &[&values, &sums] };
    let launch = bench.launch(kernel, 1, 256, &[memory, arguments].concat());
    launch.estimate.clone().expect("times are estimated")
}

/// The clocks of an iteration of a kernel of `chains.ptx` with one warp.
fn iteration(kernel: &str, arguments: &[&dyn Argument]) -> f64 {
    let (ptx, cubin) = CHAINS;
    let duration = |count: u32| {
        let mut bench = Bench::unchecked(ptx);
        let to = bench.upload(&[0u32]);
        let code = MachineCode::read(cubin, kernel).unwrap().expect("it has the kernel");
        bench.module.kernel(kernel).unwrap().set_machine(Machine::new(&code));
        let own: &[&dyn Argument] = &[&to, &count];
        let launch = bench.launch(kernel, 1, 32, &[own, arguments].concat());
        launch.estimate.clone().expect("times are estimated").duration_ns
    };
    (duration(1088) - duration(64)) * CLOCK / 1024.0
}

/// The share of a limit in the duration, in nanoseconds.
fn nanoseconds(estimate: &Estimate, limit: Limit) -> f64 {
    let share = estimate.limits.iter().find(|known| known.0 == limit);
    share.map_or(0.0, |known| known.1) * estimate.duration_ns
}

/// The instructions that the warps of the block execute.
fn instructions(estimate: &Estimate) -> f64 {
    nanoseconds(estimate, Limit::Issue) * CLOCK * SLOTS
}

#[test]
fn as_many_instructions_are_estimated_as_a_gpu_executes() {
    // ptxas unrolls the loop four times; it moves some of the first addition in front of it.
    let of_sums = [(1, 272), (3, 360), (4, 416), (7, 536), (64, 2696), (99, 4032)];
    for (count, executed) in of_sums {
        let estimate = estimated("sums", true, &[&count]);
        let error = instructions(&estimate) / f64::from(executed) - 1.0;
        let allowed = if count < 16 { 0.3 } else { 0.03 };
        assert!(error.abs() < allowed, "{count}: {} of {executed}", instructions(&estimate));
    }
    // Its loop is unrolled entirely.
    let products = instructions(&estimated("products", true, &[]));
    assert!((products / 768.0 - 1.0).abs() < 0.05, "{products}");
    // The subroutine for rare operands of the division is not executed.
    let quotients = instructions(&estimated("quotients", true, &[&3f32]));
    assert!((quotients / 184.0 - 1.0).abs() < 0.05, "{quotients}");
}

#[test]
fn merged_loads_pass_the_banks_once() {
    let wavefronts = |by_machine_code| {
        nanoseconds(&estimated("products", by_machine_code, &[]), Limit::Shared) * CLOCK
    };
    // Of each warp a store and 64 loads; ptxas makes 16 of these.
    let [by_ptx, by_machine_code] = [false, true].map(wavefronts);
    assert!((by_ptx - 8.0 * 65.0).abs() < 1.0, "{by_ptx}");
    assert!((by_machine_code - 8.0 * 17.0).abs() < 1.0, "{by_machine_code}");
}

#[test]
fn an_estimate_records_whether_it_has_machine_code() {
    let [by_ptx, by_machine_code] = [false, true].map(|known| estimated("sums", known, &[&64u32]));
    assert!(!by_ptx.machine_code_known && by_machine_code.machine_code_known);
    assert!(by_machine_code.duration_ns != by_ptx.duration_ns, "{by_ptx:?}");
}

#[test]
fn a_loop_takes_as_many_clocks_as_on_a_gpu() {
    // ptxas knows 24 of them; the jump is the rest.
    let clocks = iteration("counts", &[]);
    assert!((clocks - 29.0).abs() < 0.5, "{clocks}");
}

#[test]
fn loads_of_different_constants_are_serialised() {
    // An H200 takes 34, 45, 111 and 375 clocks for an address that takes one clock less.
    for (words, expected) in [(1u32, 35.0), (2, 46.0), (8, 112.0), (32, 376.0)] {
        let clocks = iteration("loads", &[&words]);
        assert!((clocks / expected - 1.0).abs() < 0.03, "{words}: {clocks}, not {expected}");
    }
}

#[test]
fn loads_of_a_line_with_other_instructions_are_ordered() {
    let [apart, together] = ["apart", "together"].map(|kernel| iteration(kernel, &[]));
    assert!((apart - 41.0).abs() < 3.0, "{apart}");
    assert!((together / apart - 1.0).abs() < 0.01, "{together} and {apart}");
}
