// Enough of CUDA's runtime for host code to be read and thrown away: it is compiled as device code
// that nobody calls. Nothing here is ever defined.
#pragma once
extern "C" void* cudaGetParameterBufferV2(void*, dim3, dim3, unsigned int);
extern "C" cudaError_t cudaLaunchDeviceV2(void*, cudaStream_t);
#define GPUPROF_STUB(name) template <class... Arguments> cudaError_t name(Arguments...);
#define GPUPROF_TEMPLATE_STUB(name) \
    template <class Type, class... Arguments> cudaError_t name(Type, Arguments...);
