// Device code in two files that use each other's functions and variables (nvcc -rdc=true).

#include "shared.cuh"

__constant__ int factor = 3;
static __device__ int offset = 5;
static __device__ __noinline__ int own(int value) { return value + offset; }

__global__ void first(int *out) {
    extern __shared__ int pool[];
    pool[threadIdx.x] = own(twice(threadIdx.x));
    __syncthreads();
    out[threadIdx.x] = pool[threadIdx.x] + counter;
    if (threadIdx.x == 0) printf("first\n");
}

static void show(const int *on_device) {
    int host[4] = {};
    cudaMemcpy(host, on_device, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d %d %d %d\n", host[0], host[1], host[2], host[3]);
    fflush(stdout);
}

int main() {
    int *out;
    cudaMalloc(&out, 4 * sizeof *out);
    fill<int><<<1, 4>>>(out, 1);
    show(out);
    first<<<1, 4, 16>>>(out);
    show(out);
    launch_other(out);
    show(out);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
