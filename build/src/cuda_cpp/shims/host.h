// Enough of the host's side for host code to be read and thrown away: it is compiled as device code
// that nobody calls. No function here is ever defined.
#pragma once
#undef __host__
#define __host__
#if __has_include(<cuda/std/algorithm>)
#include <cuda/std/algorithm>
#include <cuda/std/cmath>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
namespace std {
using namespace cuda::std;
}
#endif
// What a launch compiles to.
extern "C" void* cudaGetParameterBufferV2(void*, dim3, dim3, unsigned int);
extern "C" cudaError_t cudaLaunchDeviceV2(void*, cudaStream_t);
#define GPUPROF_STUB(name) \
    template <class... Arguments> cudaError_t name(Arguments...);
GPUPROF_STUB(cudaDeviceGetAttribute)
GPUPROF_STUB(cudaDeviceReset)
GPUPROF_STUB(cudaDeviceSetLimit)
GPUPROF_STUB(cudaDeviceSynchronize)
GPUPROF_STUB(cudaDriverGetVersion)
GPUPROF_STUB(cudaEventCreate)
GPUPROF_STUB(cudaEventCreateWithFlags)
GPUPROF_STUB(cudaEventDestroy)
GPUPROF_STUB(cudaEventElapsedTime)
GPUPROF_STUB(cudaEventRecord)
GPUPROF_STUB(cudaEventSynchronize)
GPUPROF_STUB(cudaFree)
GPUPROF_STUB(cudaFreeAsync)
GPUPROF_STUB(cudaFreeHost)
GPUPROF_STUB(cudaFuncGetAttributes)
GPUPROF_STUB(cudaFuncSetAttribute)
GPUPROF_STUB(cudaFuncSetCacheConfig)
GPUPROF_STUB(cudaGetDevice)
GPUPROF_STUB(cudaGetDeviceCount)
GPUPROF_STUB(cudaGetDeviceProperties)
GPUPROF_STUB(cudaGetLastError)
GPUPROF_STUB(cudaGetSymbolAddress)
GPUPROF_STUB(cudaHostAlloc)
GPUPROF_STUB(cudaHostGetDevicePointer)
GPUPROF_STUB(cudaHostRegister)
GPUPROF_STUB(cudaHostUnregister)
GPUPROF_STUB(cudaLaunchCooperativeKernel)
GPUPROF_STUB(cudaLaunchKernel)
GPUPROF_STUB(cudaLaunchKernelEx)
GPUPROF_STUB(cudaLaunchKernelExC)
GPUPROF_STUB(cudaMalloc)
GPUPROF_STUB(cudaMallocAsync)
GPUPROF_STUB(cudaMallocHost)
GPUPROF_STUB(cudaMallocManaged)
GPUPROF_STUB(cudaMemcpy)
GPUPROF_STUB(cudaMemcpy2D)
GPUPROF_STUB(cudaMemcpy2DAsync)
GPUPROF_STUB(cudaMemcpyAsync)
GPUPROF_STUB(cudaMemcpyFromSymbol)
GPUPROF_STUB(cudaMemcpyPeerAsync)
GPUPROF_STUB(cudaMemcpyToSymbol)
GPUPROF_STUB(cudaMemcpyToSymbolAsync)
GPUPROF_STUB(cudaMemGetInfo)
GPUPROF_STUB(cudaMemPrefetchAsync)
GPUPROF_STUB(cudaMemset)
GPUPROF_STUB(cudaMemsetAsync)
GPUPROF_STUB(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
GPUPROF_STUB(cudaOccupancyMaxPotentialBlockSize)
GPUPROF_STUB(cudaPeekAtLastError)
GPUPROF_STUB(cudaRuntimeGetVersion)
GPUPROF_STUB(cudaSetDevice)
GPUPROF_STUB(cudaStreamCreate)
GPUPROF_STUB(cudaStreamCreateWithFlags)
GPUPROF_STUB(cudaStreamDestroy)
GPUPROF_STUB(cudaStreamIsCapturing)
GPUPROF_STUB(cudaStreamSynchronize)
GPUPROF_STUB(cudaStreamWaitEvent)
#undef GPUPROF_STUB
const char* cudaGetErrorName(cudaError_t);
const char* cudaGetErrorString(cudaError_t);
struct FILE;
extern FILE* stderr;
extern FILE* stdout;
int fprintf(FILE*, const char*, ...);
int snprintf(char*, size_t, const char*, ...);
int fflush(FILE*);
void abort();
void exit(int);
char* getenv(const char*);
int atoi(const char*);
double atof(const char*);
int strcmp(const char*, const char*);
