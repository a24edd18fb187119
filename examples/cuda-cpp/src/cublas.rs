//! The product of cuBLAS, measured as a series next to our kernel.

use cudarc::cublas::{CudaBlas, result, sys};
use cudarc::driver::{DevicePtr, DevicePtrMut};
use gpuprof::Run;

/// c ← a b by cuBLAS, square matrices of halves
#[gpuprof::series(n = [512], T = [f16, bf16], metrics(flop_rate))]
fn matmul_of_cublas(run: &mut Run<'_>) -> gpuprof::Result<()> {
    let n = run.value::<usize>("n")?;
    let half = match run.value::<String>("T")?.as_str() {
        "f16" => sys::cudaDataType::CUDA_R_16F,
        _ => sys::cudaDataType::CUDA_R_16BF,
    };
    let stream = run.stream();
    let blas = CudaBlas::new(stream.clone()).map_err(|e| run.invalid(e.to_string()))?;
    // 0.5 as f16, and a small number as bf16.
    let halves = vec![0x3800_u16; n * n];
    let (a, b) = (stream.clone_htod(&halves)?, stream.clone_htod(&halves)?);
    let mut c = stream.alloc_zeros::<f32>(n * n)?;
    run.bytes(8 * n * n)?;
    run.flops(2 * n * n * n)?;
    let size = i32::try_from(n).map_err(|e| run.invalid(e.to_string()))?;
    let none = sys::cublasOperation_t::CUBLAS_OP_N;
    run.measure(|_| {
        let (one, zero) = (1.0_f32, 0.0_f32);
        let ((a, _a), (b, _b), (c, _c)) =
            (a.device_ptr(&stream), b.device_ptr(&stream), c.device_ptr_mut(&stream));
        // By columns, as cuBLAS stores matrices, ours are transposed: c' = b' a'.
        // SAFETY: the three matrices have n rows and columns, and live until the stream has ended.
        unsafe {
            result::gemm_ex(
                *blas.handle(),
                none,
                none,
                size,
                size,
                size,
                (&raw const one).cast(),
                b as *const _,
                half,
                size,
                a as *const _,
                half,
                size,
                (&raw const zero).cast(),
                c as *mut _,
                sys::cudaDataType::CUDA_R_32F,
                size,
                sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
                sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        }
        .map_err(|e| gpuprof::Error::failed(e.to_string()))
    })
}
