//! The book's table from CUDA C++ to gpuprof: each of its rows is compiled here, and each row here
//! is in the table.

#![allow(dead_code, clippy::cast_possible_truncation)]

use std::collections::BTreeSet;

use gpuprof::atomic::{Atomic, Block, Device, Ordering, System};
use gpuprof::prelude::*;

/// The code of a row, which no test runs.
macro_rules! rows {
    ($($code:expr;)*) => {
        // SAFETY: nothing calls the function.
        #[allow(unused_unsafe)]
        unsafe {
            $(let _ = $code;)*
        }
    };
}

#[gpuprof::constant]
static FILTER: [f32; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];

fn indices(v: u32, data: &[f32]) {
    rows! {
        thread::nanoseconds();
        thread::multiprocessor();
        thread::sleep(v);
        thread::indices_1d(data.len());
        thread::x();
        thread::y();
        thread::z();
        block::x();
        block::y();
        block::z();
        block::dim_x();
        block::dim_y();
        block::dim_z();
        grid::dim_x();
        grid::dim_y();
        grid::dim_z();
        thread::global_x();
        grid::dim_x() * block::dim_x();
        thread::index();
        thread::lane();
        thread::warp();
        warp::SIZE;
        thread::clock();
    }
}

fn barriers(p: bool, mask: u32) {
    rows! {
        block::sync();
        block::sync_count(p);
        block::sync_and(p);
        block::sync_or(p);
        warp::sync();
        warp::lanes(mask).sync();
        fence::block();
        fence::device();
        fence::system();
        atomic::fence::<Device>(Ordering::Release);
    }
}

fn warps(v: u32, p: bool, lane: u32, d: u32, m: u32, mask: u32) {
    rows! {
        warp::shuffle_index(v, lane);
        warp::shuffle_up(v, d);
        warp::shuffle_down(v, d);
        warp::shuffle_xor(v, m);
        warp::lanes(mask).shuffle_down(v, d);
        warp::tile::<16>().shuffle_down(v, d);
        warp::ballot(p);
        warp::any(p);
        warp::all(p);
        warp::uniform(p);
        warp::match_any(v);
        warp::match_all(v);
        warp::active_mask();
        warp::reduce_add(v);
        warp::reduce_min(v);
        warp::reduce_max(v);
        warp::reduce_and(v);
        warp::reduce_or(v);
        warp::reduce_xor(v);
        warp::lanes(mask).reduce_add(v);
        warp::lanemask_lt();
        warp::lanemask_le();
        warp::lanemask_eq();
        warp::lanemask_ge();
        warp::lanemask_gt();
        warp::elect();
    }
}

fn collectives(v: u32, p: bool, tile: warp::Tile<16>, scratch: Shared<u32>) {
    rows! {
        warp::tile::<16>();
        tile.lane();
        tile.index();
        tile.shuffle_xor(v, 1);
        tile.ballot(p);
        tile.sync();
        warp::lanes(warp::active_mask());
        tile.elect();
        tile.reduce_add(v);
        tile.reduce(v, u32::max);
        tile.inclusive_sum(v);
        tile.exclusive_sum(v);
        warp::reduce_add(v);
        warp::inclusive_sum(v);
        block::reduce_add(v, scratch);
        block::reduce(v, scratch, u32::max);
        block::inclusive_sum(v, scratch);
        block::exclusive_sum(v, scratch);
        block::exclusive_scan(v, 0, scratch, u32::max);
    }
}

fn atomics(p: *mut u32, v: u32, n: u32, i: u32, (a, b): (u32, u32), shared: Shared<u32>) {
    rows! {
        atomic::add(p, v);
        atomic::sub(p, v);
        atomic::min(p, v);
        atomic::max(p, v);
        atomic::and(p, v);
        atomic::or(p, v);
        atomic::xor(p, v);
        atomic::exchange(p, v);
        atomic::compare_exchange(p, a, b);
        atomic::inc(p, n);
        atomic::dec(p, n);
        Atomic::from_ptr(p).with_scope::<Block>().fetch_add(v, Ordering::Relaxed);
        Atomic::from_ptr(p).with_scope::<System>().fetch_add(v, Ordering::Relaxed);
        Atomic::from_ptr(p).fetch_add(v, Ordering::SeqCst);
        Atomic::from_ptr(p).load(Ordering::Acquire);
        Atomic::from_ptr(p).store(v, Ordering::Release);
        shared.atomic_add(i, v);
        shared.atomic(i).compare_exchange(a, b, Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn memory(
    shared: Shared<u32>,
    turned: Shared<f32, (u32, u32)>,
    i: u32,
    v: u32,
    x: f32,
    (row, column): (u32, u32),
) {
    rows! {
        shared!([f32; 256]);
        shared!([[f32; 33]; 32]);
        dynamic_shared!(f32);
        shared.read(i);
        shared.write(i, v);
        turned[(row, column)].get();
        turned[(row, column)].set(x);
        FILTER.read(i);
    }
}

fn parameters(
    data: &[f32],
    mut out: DisjointSlice<'_, f32>,
    at: gpuprof::ThreadIndex,
    (x, y, z): (f32, f32, f32),
) {
    rows! {
        data[at.get()];
        if let Some(out) = out.get_mut(at) { *out = x };
        out[at] += x;
        f32x4::from_array([x, y, z, 1.0]);
        f32x4::splat(x)[0];
        f32x4::slice(data)[at.get()];
    }
}

fn halves((h, k): (f16, f16), (h2, k2, l2): (f16x2, f16x2, f16x2), (x, y): (f32, f32), d: u32) {
    let halves: *mut f16 = core::ptr::null_mut();
    let pairs: *mut f16x2 = core::ptr::null_mut();
    let (shorts, u, w): (*mut u16, _, _) = (core::ptr::null_mut(), 1, 2);
    rows! {
        f16::from_f32(x);
        h.to_f32();
        bf16::from_f32(x);
        h + k;
        h * k;
        h.mul_add(k, h);
        h.max(k);
        h < k;
        f16x2::splat(h);
        f16x2::new(h, k);
        f16x2::from_f32s(x, y);
        h2.to_f32s();
        h2.low();
        h2 + k2;
        h2.mul_add(k2, l2);
        h2.max(k2);
        atomic::add(halves, h);
        atomic::add(pairs, h2);
        atomic::compare_exchange(shorts, u, w);
        warp::shuffle_down(h2, d);
    }
}

#[allow(unreachable_code, clippy::diverging_sub_expression)]
fn speaking(x: f32, v: u32, w: u32) {
    rows! {
        device_print!("x is {x} in {v}");
        assert!(v < w);
        panic!("why");
    }
}

fn mathematics(x: f32, y: f32, z: f32) {
    rows! {
        x.fast_tan();
        x.fast_log2();
        x.fast_exp2();
        x.fast_tanh();
        x.asinh();
        x.acosh();
        x.atanh();
        x.sqrt();
        x.rsqrt();
        x.cbrt();
        x.mul_add(y, z);
        x.exp();
        x.exp2();
        x.exp_m1();
        x.ln();
        x.log2();
        x.log10();
        x.ln_1p();
        x.powf(y);
        x.sin();
        x.cos();
        x.tan();
        x.sin_cos();
        x.asin();
        x.acos();
        x.atan();
        y.atan2(x);
        x.sinh();
        x.cosh();
        x.tanh();
        x.hypot(y);
        x.floor();
        x.ceil();
        x.trunc();
        x.round();
        x.round_ties_even();
        x.min(y);
        x.max(y);
        x.abs();
        x.copysign(y);
        math::erf(x);
        math::erfc(x);
        math::gamma(x);
        math::ln_gamma(x);
        x.fast_exp();
        x.fast_ln();
        x.fast_sin();
        x.fast_cos();
        x.fast_powf(y);
        x.fast_div(y);
        x.clamp(0.0, 1.0);
    }
}

fn words(v: u32, w: u32, x: f32) {
    rows! {
        bits::permute(v, w, 0x0123);
        bits::funnel_shl(v, w, 8);
        bits::funnel_shr(v, w, 8);
        bits::dot4_u8(v, w, v);
        v.min(w);
        x.is_nan();
        x.is_infinite();
        x.is_sign_negative();
        x.round_ties_even() as i32;
        v.count_ones();
        v.leading_zeros();
        v.reverse_bits();
        v.trailing_zeros();
        ((u64::from(v) * u64::from(w)) >> 32) as u32;
        x.to_bits();
        f32::from_bits(v);
        x as i32;
        v as f32;
    }
}

/// Code without spaces and line breaks, which a formatter may have moved.
fn packed(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace()).collect::<String>().replace(",)", ")")
}

#[test]
fn every_row_of_the_table_compiles() {
    let page = include_str!("../../docs/book/src/from-cuda.md");
    let row = |line: &str| {
        let (_, ours) = line.strip_prefix("| `")?.strip_suffix("` |")?.split_once("` | `")?;
        Some(packed(ours))
    };
    let in_page: Vec<String> = page.lines().filter_map(row).collect();
    assert!(in_page.len() >= 80, "{} rows", in_page.len());
    let source = include_str!("from_cuda.rs").replace("/// Code", "");
    let bodies = source.split("    rows! {\n").skip(1);
    let compiled: BTreeSet<String> = bodies
        .flat_map(|body| body.split("\n    }\n").next().unwrap_or_default().split(';'))
        .map(packed)
        .collect();
    // `;` also separates type and length of an array.
    let is_compiled = |row: &String| row.split(';').all(|part| compiled.contains(part));
    let missing: Vec<&String> = in_page.iter().filter(|row| !is_compiled(row)).collect();
    assert_eq!(missing, [""; 0], "rows of the table that no function here compiles");
}
