#[gpuprof::constant]
fn table() {}

#[gpuprof::constant(shared)]
static TABLE: [f32; 2] = [1.0, 2.0];

#[gpuprof::constant]
static mut CHANGED: [f32; 2] = [1.0, 2.0];

fn main() {
    table();
    let _ = TABLE[0];
}
