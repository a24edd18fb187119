//! How many PTX thread instructions a second one core executes: `cargo bench -p gpuprof-emulator`.
//!
//! Each kernel is launched several times on one host thread; the median is printed. The number is
//! instructions of active threads, as counted in `ptx__thread_inst_executed.sum`, over wall time of
//! the launch.

use gpuprof_emulator::device::{Device, LaunchConfig};
use std::time::Instant;

const KERNELS: &str = include_str!("../tests/fixtures/kernels.ptx");
const RUNS: usize = 9;

fn measure(
    name: &str,
    grid: [u32; 3],
    block: [u32; 3],
    bytes: u64,
    params: impl Fn(&[u64]) -> Vec<u8>,
) {
    let mut device = Device::default().with_host_threads(1);
    let module = device.load(KERNELS).expect("the fixture loads");
    let kernel = module.kernel(name).expect("the fixture has the kernel").clone();
    let buffers: Vec<u64> =
        (0..3).map(|_| device.memory.allocate(bytes).expect("there is memory")).collect();
    for &buffer in &buffers {
        device
            .memory
            .fill(buffer, &1.25f32.to_le_bytes(), bytes / 4)
            .expect("the buffer is allocated");
    }
    let params = params(&buffers);
    let config = LaunchConfig { grid, block, shared_bytes: 0 };
    let mut rates: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let record = device.launch(&kernel, config, &params, 0).expect("the kernel runs");
            let seconds = start.elapsed().as_secs_f64();
            record.counter("ptx__thread_inst_executed.sum").unwrap_or(0) as f64 / seconds
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!(
        "{name}: {:.0} million thread instructions/s (median of {RUNS}, one core)",
        rates[RUNS / 2] / 1e6
    );
}

fn main() {
    let n = 1i32 << 22;
    measure("saxpy", [(n / 256) as u32, 1, 1], [256, 1, 1], 4 * n as u64, |buffers| {
        let mut params = n.to_le_bytes().to_vec();
        params.extend(2.5f32.to_le_bytes());
        params.extend(buffers[0].to_le_bytes());
        params.extend(buffers[1].to_le_bytes());
        params
    });
    let n = 256i32;
    measure(
        "matmul",
        [(n / 32) as u32, (n / 32) as u32, 1],
        [32, 32, 1],
        4 * (n * n) as u64,
        |buffers| {
            let mut params: Vec<u8> =
                buffers.iter().flat_map(|buffer| buffer.to_le_bytes()).collect();
            params.extend(n.to_le_bytes());
            params
        },
    );
}
