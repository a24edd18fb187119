//! Device functions type-check on the host, and panic with an explanation when they are called
//! there.

use gpuprof::prelude::*;

const LENGTH: usize = 64;

#[gpuprof::kernel(block = (8, 8), grid = 1, args(zeros(1), zeros(1)))]
pub unsafe fn everything(sums: *mut f32, counts: *mut i64) {
    let fixed = shared!([f32; LENGTH]);
    let dynamic = dynamic_shared!(u32);
    let shared_counts = shared!([i64; 2 * LENGTH]);
    let bit = warp::ballot(thread::lane() < 4) | warp::active_mask();
    let sum = warp::shuffle_xor(1.0_f64, 16) + warp::shuffle_down(2.0_f64, 1);
    let word = warp::shuffle_up(3_u64, 1) + warp::shuffle_index(4_u64, 0);
    block::sync();
    if warp::any(bit == 0) && warp::all(word > 0) {
        unsafe {
            fixed.write(0, sum as f32);
            atomic::add(sums, fixed.read(0) + fixed.atomic_add(1, 1.0));
            atomic::max(counts, shared_counts.atomic_min(0, 5));
            dynamic.atomic_max(0, grid::dim_x() + block::dim_z() + thread::warp());
        }
    }
}

fn main() {
    assert_eq!(shared!([f32; LENGTH]).len(), 64);
    assert_eq!((2.0_f32.mul_add(3.0, 1.0), 4.0_f64.sqrt()), (7.0, 2.0));
    std::panic::set_hook(Box::new(|_| {}));
    let panic = std::panic::catch_unwind(thread::global_x).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("`gpuprof::block::x` runs on the device only"), "{message}");
}
