//! Kernels of `.cu` files run on the emulated driver and give the right sums.

use super::Package;
use crate::emulated::Bench;

const SUM: &str = r#"
#include <cub/block/block_reduce.cuh>
#include <cstdint>

__device__ unsigned long long unused_by_the_sums;

template <int ITEMS, class T>
__global__ void sum(uint32_t n, const T* x, T* y) {
    using Reduce = cub::BlockReduce<T, 64>;
    __shared__ typename Reduce::TempStorage storage;
    T mine = T(0);
    for (uint32_t at = threadIdx.x; at < n && at < ITEMS * 64; at += 64) mine += x[at];
    T all = Reduce(storage).Sum(mine);
    if (threadIdx.x == 0) y[0] = all;
}

// The emulated driver cannot load it, and it is not declared.
__global__ void prints() { printf("%d\n", threadIdx.x); unused_by_the_sums = 1; }
"#;

#[test]
fn template_instances_run_on_the_emulated_driver() {
    let parameters = |cpp: &str, rust: &str| -> Vec<(String, String)> {
        vec![
            ("unsigned int".into(), "u32".into()),
            (format!("const {cpp}*"), format!("*const {rust}")),
            (format!("{cpp}*"), format!("*mut {rust}")),
        ]
    };
    let mut package = Package::new(&[("kernels/sum.cu", SUM)]);
    for (expression, cpp, rust) in [
        ("sum<4, float>", "float", "f32"),
        ("sum<8, float>", "float", "f32"),
        ("sum<8, int>", "int", "i32"),
    ] {
        let owned = parameters(cpp, rust);
        let borrowed: Vec<_> = owned.iter().map(|(c, r)| (c.as_str(), r.as_str())).collect();
        package = package.kernel(expression, &borrowed);
    }
    let compiled = package.compiled();
    assert_eq!(compiled.compiler, "NVRTC 13.3.33");
    assert!(!compiled.ptx.contains("vprintf"), "undeclared kernels are cut away");
    assert!(!compiled.ptx.contains("unused_by_the_sums"));
    let name = |expression: &str| compiled.entries[expression].as_ref().unwrap().as_str();
    let mut bench = Bench::new(&compiled.ptx);
    let floats: Vec<f32> = (0..400u16).map(|it| f32::from(it % 7)).collect();
    let (x, y) = (bench.upload(&floats), bench.upload(&[0f32]));
    for (expression, count) in [("sum<4, float>", 256), ("sum<8, float>", 400)] {
        bench.launch(name(expression), 1, 64, &[&400u32, &x, &y]);
        assert_eq!(bench.floats(y, 1), [floats[..count].iter().sum::<f32>()], "{expression}");
    }
    let ints: Vec<i32> = (0..400).map(|it| it * it).collect();
    let (x, y) = (bench.upload(&ints), bench.upload(&[0i32]));
    bench.launch(name("sum<8, int>"), 1, 64, &[&400u32, &x, &y]);
    assert_eq!(bench.ints(y, 1), [ints.iter().sum::<i32>()]);
}

#[test]
fn an_entry_has_its_bounds_and_shared_memory() {
    let source = r#"
struct Pair { int a; double b; };
extern __shared__ float dynamic[];
extern "C" __global__ void __launch_bounds__(256, 2) bound(Pair p, const float* x, float* y) {
    __shared__ float tile[64];
    tile[threadIdx.x % 64] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x % 64] * p.a;
}
extern "C" __global__ void dynamically(float* y) {
    dynamic[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = dynamic[0];
}
"#;
    let package = Package::new(&[("bound.cu", source)])
        .kernel(
            "bound",
            &[("Pair", "Pair"), ("const float*", "*const f32"), ("float*", "*mut f32")],
        )
        .kernel("dynamically", &[("float*", "*mut f32")]);
    let compiled = package.compiled();
    let bound = compiled.entry("bound").unwrap();
    let sizes: Vec<u64> = bound.parameters.iter().map(|it| it.size).collect();
    assert_eq!(sizes, [16, 8, 8]);
    assert_eq!(
        (bound.max_block, bound.min_blocks_per_multiprocessor),
        (Some([256, 1, 1]), Some(2))
    );
    assert_eq!((bound.static_shared, bound.dynamic_shared), (256, false));
    let dynamically = compiled.entry("dynamically").unwrap();
    assert_eq!((dynamically.static_shared, dynamically.dynamic_shared), (0, true));
    assert_eq!(compiled.entry("neither"), None);
}

#[test]
fn unreferenced_variables_of_several_files_are_kept() {
    let package = Package::new(&[
        ("kernels/a.cu", "namespace ns { __constant__ float coef[4]; }\n#include \"shared.cuh\"\n"),
        ("kernels/b.cu", "extern \"C\" __global__ void scale(float* x) { x[threadIdx.x] *= twice(ns::coef[1]); }\n"),
        ("kernels/shared.cuh", "#pragma once\n__device__ inline float twice(float x) { return 2 * x; }\n"),
    ])
    .kernel("&ns::coef", &[])
    .kernel("scale", &[("float*", "*mut f32")]);
    let compiled = package.compiled();
    let coef = compiled.entries["&ns::coef"].as_ref().unwrap();
    assert!(compiled.ptx.contains(&format!("{coef}[16]")), "{}", compiled.ptx);
    let read: Vec<_> = compiled.headers.iter().map(|(it, _)| it.display().to_string()).collect();
    assert_eq!(read, ["kernels/a.cu", "kernels/b.cu", "kernels/shared.cuh"]);
    let files = compiled.ptx.lines().filter(|line| line.trim_start().starts_with(".file"));
    for file in files {
        assert!(file.contains("\"kernels/"), "{file}");
    }
}

#[test]
fn compiled_bytes_do_not_depend_on_the_folder() {
    let made = || {
        let package = Package::new(&[("kernels/sum.cu", SUM)]);
        let types = [("unsigned", "u32"), ("const float*", "*const f32"), ("float*", "*mut f32")];
        package.kernel("sum<2, float>", &types).compiled().ptx
    };
    let (one, other) = (made(), made());
    assert!(one == other, "{one}\n{other}");
    assert!(one.contains("\"kernels/sum.cu\"") && !one.contains("/tmp/"), "{one}");
}

#[test]
fn without_a_declaration_every_kernel_is_kept_and_each_can_stand_alone() {
    let source = "__device__ int seven;\n__global__ void first(int* x) { x[0] = seven; }\n\
                  extern \"C\" __global__ void second(int* x) { x[0] = 2; }\n\
                  template <int N> __global__ void third(int* x) { x[0] = N; }\n\
                  template __global__ void third<3>(int*);\n";
    let compiled = Package::new(&[("k.cu", source)]).compiled();
    let names: Vec<&String> = compiled.entries.keys().collect();
    assert_eq!(names, ["_Z5firstPi", "_Z5thirdILi3EEvPi", "second"]);
    let alone = compiled.alone("second").unwrap();
    assert!(alone.contains("second(") && !alone.contains("seven"), "{alone}");
    let mut bench = Bench::new(&alone);
    let x = bench.upload(&[0i32]);
    bench.launch("second", 1, 1, &[&x]);
    assert_eq!(bench.ints(x, 1), [2]);
}
