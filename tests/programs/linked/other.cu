#include "shared.cuh"

__device__ int counter = 10;
static __device__ int offset = 100;
static __device__ __noinline__ int own(int value) { return value * offset; }
__device__ int (*chosen)(int) = twice;
__device__ int twice(int value) { return value * 2 * factor; }

__global__ void second(int *out) {
    out[threadIdx.x] += own(chosen(threadIdx.x));
    if (threadIdx.x == 0) printf("second\n");
}

void launch_other(int *out) {
    fill<int><<<1, 4>>>(out, 2);
    second<<<1, 4>>>(out);
}
