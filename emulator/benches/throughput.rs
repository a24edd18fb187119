//! How many PTX thread instructions one core executes in a second: `cargo bench -p
//! gpuprof-emulator`, or with `-- NAME` for kernels with that name.
//!
//! Each kernel is launched again and again on one host thread, with the default checks and without
//! checks in turn. The best of several runs is printed, by CPU time, which other processes disturb
//! least, and the cost of the checks: how much longer a launch takes with them. Instructions are
//! those of active threads, as counted in `ptx__thread_inst_executed.sum`.

use gpuprof_emulator::device::{Checks, Device, LaunchConfig};
use std::time::Instant;

const KERNELS: &str = include_str!("throughput.ptx");
const RUNS: usize = 21;
/// Seconds of one run.
const SAMPLE: f64 = 0.05;

/// The initial contents of a buffer.
#[derive(Clone, Copy)]
enum Fill {
    /// The same number everywhere.
    Floats,
    /// Scattered numbers below the count.
    Scattered,
    Zeros,
}

/// A kernel argument.
#[derive(Clone, Copy)]
enum Argument {
    Int(i32),
    Float(f32),
    /// So many words.
    Buffer(u32, Fill),
}
use Argument::{Buffer, Float, Int};

struct Case {
    name: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: Vec<Argument>,
}

fn words(count: u32, fill: Fill) -> Vec<u8> {
    let word = |at: u32| match fill {
        Fill::Floats => 1.25f32.to_bits(),
        Fill::Scattered => {
            ((u64::from(at.wrapping_mul(2_654_435_761)) * u64::from(count)) >> 32) as u32
        }
        Fill::Zeros => 0,
    };
    (0..count).flat_map(|at| word(at).to_le_bytes()).collect()
}

/// Seconds of CPU time of this thread, or wall time on systems that do not count them.
fn cpu_seconds(start: Instant) -> f64 {
    // The system counts the CPU time of a running thread now and then, and when it yields.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

/// Prepares a kernel. Returns a function that runs it for a while and measures instructions a
/// second.
fn prepare(case: &Case, checks: Checks) -> impl FnMut() -> f64 {
    let mut device = Device::default().with_host_threads(1).with_checks(checks);
    let module = device.load(KERNELS).expect("the kernels load");
    let kernel = module.kernel(case.name).expect("the kernel is there").clone();
    let mut params: Vec<u8> = Vec::new();
    for (argument, &(offset, _)) in case.arguments.iter().zip(kernel.params()) {
        params.resize(offset as usize, 0);
        match *argument {
            Int(value) => params.extend(value.to_le_bytes()),
            Float(value) => params.extend(value.to_le_bytes()),
            Buffer(count, fill) => {
                let address = device.memory.allocate(4 * u64::from(count)).expect("memory");
                device.memory.write(address, &words(count, fill)).expect("it is allocated");
                params.extend(address.to_le_bytes());
            }
        }
    }
    let config = LaunchConfig { grid: case.grid, block: case.block, shared_bytes: 0 };
    let begin = Instant::now();
    move || {
        let (start, mut executed) = (cpu_seconds(begin), 0);
        loop {
            let record = device.launch(&kernel, config, &params, 0).expect("the kernel runs");
            executed += record.counter("ptx__thread_inst_executed.sum").unwrap_or(0);
            let seconds = cpu_seconds(begin) - start;
            if seconds > SAMPLE {
                return executed as f64 / seconds;
            }
        }
    }
}

/// The best rates with the default checks and without checks.
fn measure(case: &Case) -> [f64; 2] {
    let mut rates = [Checks::default(), Checks::NONE].map(|checks| prepare(case, checks));
    let mut best = [0f64; 2];
    for _ in 0..RUNS {
        for (best, rate) in best.iter_mut().zip(&mut rates) {
            *best = best.max(rate());
        }
    }
    best
}

fn cases() -> Vec<Case> {
    let case = |name, grid: u32, block: u32, arguments| Case {
        name,
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        arguments,
    };
    let (floats, zeros, scattered) = (Fill::Floats, Fill::Zeros, Fill::Scattered);
    let (n, rows, side) = (1 << 20, 512, 256);
    let square = Buffer(side * side, floats);
    vec![
        case(
            "saxpy",
            n / 256,
            256,
            vec![Int(n as i32), Float(2.5), Buffer(n, floats), Buffer(n, floats)],
        ),
        case("reduce", 64, 256, vec![Int(n as i32), Buffer(n, floats), Buffer(64, zeros)]),
        case("scan", n / 1024, 256, vec![Buffer(n / 4, zeros), Buffer(n / 4, zeros)]),
        case(
            "softmax",
            rows,
            256,
            vec![Buffer(rows * 2000, floats), Buffer(rows * 2000, zeros), Int(2000)],
        ),
        case(
            "gather",
            n / 256,
            256,
            vec![Int(n as i32), Buffer(n, scattered), Buffer(n, floats), Buffer(n, zeros)],
        ),
        case("histogram", 64, 256, vec![Int(n as i32), Buffer(n, scattered), Buffer(256, zeros)]),
        case("divergent", n / 1024, 256, vec![Int(n as i32 / 4), Buffer(n / 4, zeros)]),
        case("atomics", n / 1024, 256, vec![Buffer(4096, zeros), Buffer(n / 4, zeros)]),
        Case {
            name: "matmul16",
            grid: [side / 16, side / 16, 1],
            block: [16, 16, 1],
            arguments: vec![square, square, Buffer(side * side, zeros), Int(side as i32)],
        },
    ]
}

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!(
        "{:<10} {:>16} {:>16} {:>16}",
        "kernel", "default checks", "no checks", "cost of checks"
    );
    for case in cases() {
        if wanted.is_empty() || wanted.iter().any(|name| case.name.contains(name.as_str())) {
            let [checked, unchecked] = measure(&case).map(|rate| rate / 1e6);
            let cost = 100.0 * (unchecked / checked - 1.0);
            println!("{:<10} {checked:>16.0} {unchecked:>16.0} {cost:>14.0} %", case.name);
        }
    }
    println!("million thread instructions in a second of one core, best of {RUNS}");
}
