#[gpuprof::kernel(
    series(blok = 64..1024, n = [64, 128, 64], m = 100..10, n = 2),
    grid = n n,
    metrics(througput, "dram__bytes.sum"),
    threshold("every duraton <= 5 us", "best throughput => 60%"),
    seed = "x",
    grid(1),
    args(n),
)]
pub fn scale(n: u32, x: &mut [f32]) -> u32 {
    let _ = x;
    n
}

fn main() {}
