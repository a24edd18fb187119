// One launch; prints how it ended.

#include <cstdio>
#include <cuda_runtime.h>

__global__ void nothing() {}

int main() {
    nothing<<<1, 1>>>();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    return 0;
}
