use gpuprof::prelude::*;

struct Pair(f32, f32);

#[gpuprof::host(yes)]
fn on_host() {}

fn main() {
    on_host();
    let _ = Pair(0.0, 0.0).0 + Pair(0.0, 0.0).1;
    let _ = shared!(f32);
    let _ = shared!([[[[f32; 4]; 4]; 4]; 4]);
    let _ = dynamic_shared!([f32; 4]);
    let _ = shared!([Pair; 4]);
}
