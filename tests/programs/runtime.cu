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
    OK(cudaMemcpyPeer(on_device + 8, 0, on_device, 0, 8 * sizeof(int)));
    OK(cudaMemcpyPeerAsync(on_device + 16, 0, on_device, 0, 8 * sizeof(int), nullptr));
    OK(cudaMemcpy(host, on_device, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[10] == 102 && host[17] == -1 && host[24] == 124);
    CHECK(cudaMemcpyPeer(on_device, 1, on_device, 0, 4) == cudaErrorInvalidDevice);
    fill<<<2, 32>>>(pinned, 200);
    OK(cudaDeviceSynchronize());
    CHECK(pinned[0] == 200 && pinned[63] == 263);
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
    cudaIpcMemHandle_t handle;
    CHECK(cudaIpcGetMemHandle(&handle, &counter) == cudaErrorNotSupported);
    cudaGetLastError();
}

static void areas() {
    cudaPitchedPtr box;
    const cudaExtent extent = make_cudaExtent(3, 4, 2);
    char from[2][5][6], back[2][4][3] = {};
    for (int i = 0; i < (int)sizeof from; ++i) (&from[0][0][0])[i] = i;
    OK(cudaMalloc3D(&box, extent));
    OK(cudaMemset3D(box, 9, extent));
    cudaMemcpy3DParms in = {}, out = {};
    in.srcPtr = make_cudaPitchedPtr(from, 6, 6, 5);
    in.srcPos = make_cudaPos(1, 1, 0);
    in.dstPtr = box;
    in.extent = make_cudaExtent(3, 3, 2);
    in.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&in));
    out.srcPtr = box;
    out.dstPtr = make_cudaPitchedPtr(back, 3, 3, 4);
    out.extent = extent;
    out.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&out, cudaStreamPerThread));
    CHECK(back[0][0][0] == 7 && back[1][2][2] == 30 + 3 * 6 + 3 && back[1][3][0] == 9);
    OK(cudaFree(box.ptr));
}

static void pools() {
    cudaMemPool_t pool, same;
    cudaMemPoolProps properties = {};
    int *values, host[32];
    unsigned long long kept = 1 << 20, found = 0;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaDeviceGetMemPool(&same, 0));
    CHECK(pool == same);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &found));
    CHECK(found == kept);
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&pool, &properties));
    OK(cudaMallocFromPoolAsync((void **)&values, sizeof host, pool, cudaStreamPerThread));
    fill<<<1, 32, 0, cudaStreamPerThread>>>(values, 3);
    OK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[31] == 34);
    OK(cudaFreeAsync(values, cudaStreamPerThread));
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaMemPoolDestroy(pool));
    CHECK(cudaMemPoolDestroy(pool) == cudaErrorInvalidValue);
    cudaGetLastError();
}

__managed__ int shared = 4;

__global__ void add_to(int *values, int by) {
    values[threadIdx.x] += by;
    if (threadIdx.x == 0) shared += by;
}

static void managed() {
    int *values, *mapped, *on_device;
    cudaPointerAttributes attributes;
    CHECK(shared == 4);
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    CHECK(properties.canMapHostMemory == 1);
    OK(cudaMallocManaged(&values, 8 * sizeof *values));
    OK(cudaHostAlloc((void **)&mapped, 8 * sizeof *mapped, cudaHostAllocMapped));
    OK(cudaHostGetDevicePointer((void **)&on_device, mapped, 0));
    for (int i = 0; i < 8; ++i) values[i] = mapped[i] = i;
    add_to<<<1, 8>>>(values, 10);
    add_to<<<1, 8>>>(on_device, 20);
    OK(cudaDeviceSynchronize());
    CHECK(values[0] == 10 && values[7] == 17 && mapped[7] == 27 && shared == 34);
    shared = 1;
    add_to<<<1, 8>>>(values, 1);
    OK(cudaDeviceSynchronize());
    CHECK(values[7] == 18 && shared == 2);
    OK(cudaPointerGetAttributes(&attributes, values));
    CHECK(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == values);
    OK(cudaMemset(values, 0, 4 * sizeof *values));
    CHECK(values[3] == 0 && values[4] == 15);
    OK(cudaFree(values));
    OK(cudaFreeHost(mapped));
}

static void captured_graph() {
    cudaStream_t first, second;
    cudaEvent_t forked, joined;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamCaptureStatus status;
    int *values, host[32] = {}, called = 0;
    size_t nodes = 0;
    OK(cudaMalloc(&values, sizeof host));
    OK(cudaMemset(values, 0, sizeof host));
    OK(cudaStreamCreate(&first));
    OK(cudaStreamCreate(&second));
    OK(cudaEventCreate(&forked));
    OK(cudaEventCreate(&joined));
    OK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    OK(cudaStreamIsCapturing(first, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    add_to<<<1, 32, 0, first>>>(values, 1);
    OK(cudaEventRecord(forked, first));
    OK(cudaStreamWaitEvent(second, forked, 0));
    add_to<<<1, 32, 0, second>>>(values, 2);
    OK(cudaEventRecord(joined, second));
    OK(cudaStreamWaitEvent(first, joined, 0));
    OK(cudaMemcpyAsync(host, values, sizeof host, cudaMemcpyDeviceToHost, first));
    OK(cudaLaunchHostFunc(first, count_up, &called));
    CHECK(cudaStreamSynchronize(first) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaMemcpy(host, values, 4, cudaMemcpyDeviceToHost) == cudaErrorStreamCaptureImplicit);
    OK(cudaStreamEndCapture(first, &graph));
    CHECK(host[5] == 0 && called == 0);
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(nodes == 4);
    OK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(executable, second));
    OK(cudaStreamSynchronize(second));
    CHECK(host[5] == 9 && called == 3);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(values));
    cudaGetLastError();
}

static void graph_memory() {
    cudaStream_t stream;
    cudaGraph_t graph, clone;
    cudaGraphExec_t executable;
    int *values, host[32] = {};
    OK(cudaStreamCreate(&stream));
    // A graph that frees what it allocates runs any number of times.
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync(&values, sizeof host, stream));
    fill<<<1, 32, 0, stream>>>(values, 7);
    OK(cudaMemcpyAsync(host, values, sizeof host, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(values, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaMemset(values, 0, 4) == cudaErrorInvalidValue);
    OK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 3; ++i) {
        host[31] = 0;
        OK(cudaGraphLaunch(executable, stream));
        OK(cudaStreamSynchronize(stream));
        CHECK(host[31] == 38);
    }
    CHECK(cudaGraphClone(&clone, graph) == cudaErrorNotSupported);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    // One that keeps it: the program uses and frees it, or the next launch does.
    cudaGraphNode_t allocated, filled;
    cudaMemAllocNodeParams allocation = {};
    allocation.poolProps.allocType = cudaMemAllocationTypePinned;
    allocation.poolProps.location.type = cudaMemLocationTypeDevice;
    allocation.bytesize = sizeof host;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &allocation));
    values = (int *)allocation.dptr;
    int first = 5;
    void *arguments[] = {&values, &first};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)fill;
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(32);
    launch.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&filled, graph, &allocated, 1, &launch));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host[31] == 36);
    CHECK(cudaGraphLaunch(executable, stream) == cudaErrorInvalidValue);
    OK(cudaFreeAsync(values, stream));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaFree(values));
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(executable, stream));
    cudaGraphNode_t freed;
    OK(cudaGraphAddMemFreeNode(&freed, graph, &filled, 1, values));
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &filled, 1, host) == cudaErrorInvalidValue);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(executable, stream));
    CHECK(cudaFree(values) == cudaErrorInvalidValue);
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    cudaGetLastError();
}

static void added_graph() {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t filled, added, copied;
    int *values, host[32] = {}, by = 5;
    void *arguments[] = {&values, &by};
    OK(cudaMalloc(&values, sizeof host));
    OK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams fill = {};
    fill.dst = values;
    fill.value = 7;
    fill.elementSize = 4;
    fill.width = 32;
    fill.height = 1;
    OK(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add_to;
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(32);
    launch.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&added, graph, &filled, 1, &launch));
    OK(cudaGraphAddMemcpyNode1D(&copied, graph, &added, 1, host, values, sizeof host,
                                cudaMemcpyDeviceToHost));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphLaunch(executable, 0));
    CHECK(host[0] == 12 && host[31] == 12);
    by = 6;
    OK(cudaGraphExecKernelNodeSetParams(executable, added, &launch));
    OK(cudaGraphLaunch(executable, 0));
    CHECK(host[31] == 13);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(values));
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
    areas();
    pools();
    managed();
    captured_graph();
    graph_memory();
    added_graph();
    reset();
    printf("%d failures\n", failures);
    return failures;
}
