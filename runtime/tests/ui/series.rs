use gpuprof::prelude::*;

#[gpuprof::series(
    series(block = 64),
    n = 1K..1,
    bytes = 4,
    verify = check,
    metric(registers),
    threshold("registers <= 5 us"),
)]
fn copy(run: &mut Run<'_>, n: usize) -> gpuprof::Result<()> {
    let _ = n;
    run.measure(|_| Ok(()))
}

#[gpuprof::series(n = 1K)]
fn wrong_type(n: u32) -> gpuprof::Result<()> {
    let _ = n;
    Ok(())
}

fn main() {}
