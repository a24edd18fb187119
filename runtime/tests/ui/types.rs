//! Types as an axis: what does not fit is an error at the type.

use gpuprof::prelude::*;

#[gpuprof::kernel(series(block = 64), grid = 1, args(zeros(1)))]
fn nothing_lists_them<T: Real>(_y: DisjointSlice<T>) {}

#[gpuprof::kernel(series(block = 64, T = [f32, 8, f32]), grid = 1, args(zeros(1)))]
fn no_type<T: Real>(_y: DisjointSlice<T>) {}

#[gpuprof::kernel(series(block = 64, T = [f32, f64, f32]), grid = 1, args(zeros(1)))]
fn one_twice<T: Real>(_y: DisjointSlice<T>) {}

#[gpuprof::kernel(series(block = 64, T = [f32, Shape]), grid = 1, args(zeros(1)))]
fn no_number<T: Copy>(_y: DisjointSlice<T>) {}

#[gpuprof::kernel(series(zip(block = [64, 128], T = [f32, f64])), grid = 1, args(zeros(1)))]
fn zipped<T: Real>(_y: DisjointSlice<T>) {}

#[gpuprof::kernel(series(block = 64, T = [f32, u32]), grid = 1, args(normal(1, 0, 1)))]
fn no_float<T: Copy>(_y: DisjointSlice<T>) {}

fn main() {}
