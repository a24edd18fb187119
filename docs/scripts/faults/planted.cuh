// What the files of kernels next to this one share. `../faults.py` describes the comment above each
// kernel and how a kernel is launched.
#pragma once
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;

#define KERNEL(name) extern "C" __global__ void name(float *x, float *y, int n)
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
