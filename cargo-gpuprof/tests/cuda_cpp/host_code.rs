//! Files that were written for nvcc, with headers and host code, are compiled as they are.

use gpuprof_build::cuda_cpp::Severity;

use super::Package;
use crate::emulated::Bench;

const SCALE: &str = r#"
#include <assert.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <limits>
#include <stdint.h>
#include <stdio.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t error = (call);                                            \
        if (error != cudaSuccess) {                                            \
            fprintf(stderr, "%s\n", cudaGetErrorString(error));                \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

int divided_up(int a, int b) { return (a + b - 1) / b; }

template <typename T> __global__ void scale(T* x, T by, uint32_t n) {
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    assert(blockDim.x <= 1024);
    if (at < n) x[at] *= by;
}

static int launches = 0;

extern "C" void scale_on_device(float* host, float by, int n, cudaStream_t stream) {
    float* device = nullptr;
    int devices;
    CHECK(cudaGetDevice(&devices));
    CHECK(cudaMalloc((void**)&device, n * sizeof(float)));
    CHECK(cudaMemcpyAsync(device, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
    scale<float><<<std::min(divided_up(n, 256), 65535), 256, 0, stream>>>(device, by, n);
    launches += 1;
    CHECK(cudaGetLastError());
    CHECK(cudaFree(device));
}
"#;

const TYPES: [(&str, &str); 3] =
    [("float*", "*mut f32"), ("float", "f32"), ("unsigned int", "u32")];

#[test]
fn a_file_with_host_launches_compiles_unchanged_and_its_kernel_runs() {
    let package = Package::new(&[("kernels/scale.cu", SCALE)]).kernel("scale<float>", &TYPES);
    let compiled = package.compiled();
    let notes: Vec<_> =
        compiled.warnings.iter().filter(|it| it.severity == Severity::Note).collect();
    let [note] = notes.as_slice() else { panic!("{:?}", compiled.warnings) };
    let told = "kernels/scale.cu: NVRTC 13.3.33 compiled the kernels alone, with stand-ins for the \
                host's headers";
    assert_eq!(note.message, told);
    let again = package.compiled();
    assert!(again.warnings.iter().all(|it| it.severity != Severity::Note), "{again:?}");
    for host in ["cudaMalloc", "scale_on_device", "launches", "cudaLaunchDevice"] {
        assert!(!compiled.ptx.contains(host), "{host}: {}", compiled.ptx);
    }
    let mut bench = Bench::new(&compiled.ptx);
    let values: Vec<f32> = (0..100u8).map(f32::from).collect();
    let x = bench.upload(&values);
    let name = compiled.entries["scale<float>"].as_ref().unwrap();
    // 2.5, by its bits.
    bench.launch(name, 2, 64, &[&x, &0x4020_0000_u32, &90u32]);
    let expected = values.iter().map(|it| if *it < 90.0 { it * 2.5 } else { *it });
    assert_eq!(bench.floats(x, 100), expected.collect::<Vec<_>>());
}

/// A file that compiles with the standard headers alone gets no stand-in for the host.
#[test]
fn standard_library_headers_alone_need_no_stand_ins() {
    let source = "#include <cstdint>\n#include <cmath>\n#include <type_traits>\n\
                  #include <climits>\n#include <cfloat>\n#include <stdio.h>\n\
                  template <class T> __global__ void k(T* x) {\n\
                  static_assert(std::is_same<T, float>::value, \"\");\n\
                  static_assert(sizeof(std::int64_t) == 8 && INT_MAX == 2147483647, \"\");\n\
                  x[0] = x[0] > FLT_MAX ? INFINITY : std::sqrt(x[0]);\n}\n";
    let package = Package::new(&[("k.cu", source)]).kernel("k<float>", &TYPES[..1]);
    let compiled = package.compiled();
    assert!(compiled.warnings.is_empty(), "{:?}", compiled.warnings);
    let mut bench = Bench::new(&compiled.ptx);
    let x = bench.upload(&[9f32]);
    bench.launch(compiled.entries["k<float>"].as_ref().unwrap(), 1, 1, &[&x]);
    assert_eq!(bench.floats(x, 1), [3.0]);
}
