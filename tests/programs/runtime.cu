// A program of the CUDA runtime that checks itself: its exit code is the number of failed checks.

#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

static int failures;

static void check(bool holds, const char *what, int line) {
    if (!holds) {
        printf("line %d: %s, last error %s\n", line, what, cudaGetErrorName(cudaPeekAtLastError()));
        ++failures;
    }
}

#define CHECK(condition) check(condition, #condition, __LINE__)
#define OK(call) CHECK((call) == cudaSuccess)

__constant__ float weights[4];
__device__ int counter = 5;

__global__ void fill(int *values, int first) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    values[at] = first + at;
}

__global__ void weigh(const float *x, float *y) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    unsigned at = blockDim.x - 1 - threadIdx.x;
    y[blockIdx.x * blockDim.x + threadIdx.x] = tile[at] * weights[at % 4];
}

template <typename T> __global__ void bump(T by) { atomicAdd(&counter, by); }

__global__ void greet(int times) { printf("greetings %d of %d\n", threadIdx.x + 1, times); }

static void device() {
    int count = 0, version = 0, multiprocessors = 0;
    cudaDeviceProp properties;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version / 1000 == CUDART_VERSION / 1000);
    OK(cudaGetDeviceProperties(&properties, 0));
    OK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(properties.multiProcessorCount == multiprocessors && multiprocessors > 100);
    CHECK(properties.warpSize == 32 && properties.major == 9);
    CHECK(properties.maxThreadsPerMultiProcessor == 2048 && properties.l2CacheSize > 1 << 20);
    CHECK(properties.sharedMemPerBlockOptin > 200000 && strlen(properties.name) > 3);
    CHECK(properties.maxBlocksPerMultiProcessor == 32 && properties.cooperativeLaunch == 1);
    CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
    CHECK(strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
}

static void memory() {
    int *on_device, *pinned, host[64] = {};
    OK(cudaMalloc(&on_device, sizeof host));
    OK(cudaMallocHost(&pinned, sizeof host));
    fill<<<2, 32>>>(on_device, 100);
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, on_device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[0] == 100 && host[63] == 163);
    OK(cudaMemset(on_device + 1, 0xff, sizeof(int)));
    OK(cudaMemcpy(pinned, on_device, sizeof host, cudaMemcpyDefault));
    CHECK(pinned[0] == 100 && pinned[1] == -1 && pinned[2] == 102);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, on_device));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == on_device);
    OK(cudaPointerGetAttributes(&attributes, pinned));
    CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned);
    OK(cudaPointerGetAttributes(&attributes, host));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    size_t pitch = 0, free = 0, total = 0;
    char *rows, back[3][5];
    OK(cudaMallocPitch(&rows, &pitch, 5, 3));
    CHECK(pitch >= 5);
    OK(cudaMemset2D(rows, pitch, 7, 5, 3));
    OK(cudaMemcpy2D(back, 5, rows, pitch, 5, 3, cudaMemcpyDeviceToHost));
    CHECK(back[0][0] == 7 && back[2][4] == 7);
    OK(cudaMemGetInfo(&free, &total));
    CHECK(free < total);
    CHECK(cudaMemcpy(host, on_device, 4, (cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(rows));
    OK(cudaFree(on_device));
    OK(cudaFree(nullptr));
    cudaGetLastError();
}

static void symbols() {
    float given[4] = {1, 10, 100, 1000}, x[64], y[64], *a, *b;
    int value = 0;
    size_t bytes = 0;
    for (int i = 0; i < 64; ++i) x[i] = i;
    OK(cudaMemcpyToSymbol(weights, given, sizeof given));
    OK(cudaMalloc(&a, sizeof x));
    OK(cudaMalloc(&b, sizeof y));
    OK(cudaMemcpy(a, x, sizeof x, cudaMemcpyHostToDevice));
    weigh<<<dim3(2), dim3(32), 32 * sizeof(float)>>>(a, b);
    OK(cudaMemcpy(y, b, sizeof y, cudaMemcpyDeviceToHost));
    CHECK(y[0] == 31 * 1000.0f && y[31] == 0 && y[32] == 63 * 1000.0f);
    bump<<<1, 8>>>(2);
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 5 + 16);
    OK(cudaGetSymbolSize(&bytes, weights));
    CHECK(bytes == sizeof given);
    CHECK(cudaMemcpyToSymbol(weights, given, 8, 12) == cudaErrorInvalidValue);
    CHECK(cudaMemcpyToSymbol((const void *)given, given, 8) == cudaErrorInvalidSymbol);
    OK(cudaFree(a));
    OK(cudaFree(b));
    cudaGetLastError();
}

static void CUDART_CB count_up(void *argument) { ++*(int *)argument; }

static void streams() {
    cudaStream_t stream;
    cudaEvent_t start, end;
    int *values, host[32], called = 0;
    float milliseconds = -1;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreateWithFlags(&end, cudaEventDefault));
    OK(cudaMallocAsync(&values, sizeof host, stream));
    OK(cudaEventRecord(start, stream));
    fill<<<1, 32, 0, stream>>>(values, 7);
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamWaitEvent(cudaStreamPerThread, end, 0));
    OK(cudaMemcpyAsync(host, values, sizeof host, cudaMemcpyDeviceToHost, stream));
    OK(cudaLaunchHostFunc(stream, count_up, &called));
    OK(cudaStreamSynchronize(stream));
    CHECK(host[0] == 7 && host[31] == 38 && called == 1);
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds >= 0);
    OK(cudaFreeAsync(values, stream));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaStreamDestroy(stream));
}

static void kernels() {
    cudaFuncAttributes attributes;
    int blocks = 0, grid = 0, block = 0;
    OK(cudaFuncGetAttributes(&attributes, weigh));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.ptxVersion == 80);
    OK(cudaFuncSetAttribute(weigh, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, weigh, 256, 100 << 10));
    CHECK(blocks == 2);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill));
    CHECK(block >= 32 && grid > 100);
    greet<<<1, 2>>>(2);
    OK(cudaDeviceSynchronize());
    fill<<<1, 4096>>>(nullptr, 0);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0) == cudaErrorNotSupported);
    cudaGetLastError();
}

static void reset() {
    int value = 0;
    OK(cudaDeviceReset());
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 5);
    bump<<<1, 1>>>(1);
    OK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    CHECK(value == 6);
}

int main() {
    device();
    memory();
    symbols();
    streams();
    kernels();
    reset();
    printf("%d failures\n", failures);
    return failures;
}
