// Objects on the device heap, which one kernel makes and others use and delete. The last launch
// deletes them again, which is a fault.

#include <cstdio>
#include <cuda_runtime.h>

struct Shape {
    __device__ virtual int area() const = 0;
    __device__ virtual ~Shape() {}
};

struct Square : Shape {
    int side;
    __device__ Square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
};

struct Staircase : Shape {
    int steps, *heights;
    __device__ Staircase(int steps) : steps(steps), heights(new int[steps]) {
        for (int i = 0; i < steps; ++i) heights[i] = i + 1;
    }
    __device__ int area() const override {
        int sum = 0;
        for (int i = 0; i < steps; ++i) sum += heights[i];
        return sum;
    }
    __device__ ~Staircase() { delete[] heights; }
};

__global__ void make(Shape **shapes) {
    unsigned i = threadIdx.x;
    if (i % 2) shapes[i] = new Square(i);
    else shapes[i] = new Staircase(i + 1);
}

__global__ void measure(Shape **shapes, int *areas) {
    areas[threadIdx.x] = shapes[threadIdx.x]->area();
}

__global__ void remove(Shape **shapes) {
    delete shapes[threadIdx.x];
}

__global__ void fill_up(int *blocks, size_t bytes) {
    while (malloc(bytes)) ++*blocks;
}

int main() {
    Shape **shapes;
    int *areas, *blocks, host[64], count = 0;
    size_t heap = 0;
    cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20);
    cudaMalloc(&shapes, 64 * sizeof *shapes);
    cudaMalloc(&areas, sizeof host);
    cudaMalloc(&blocks, sizeof count);
    cudaMemset(blocks, 0, sizeof count);
    make<<<1, 64>>>(shapes);
    measure<<<1, 64>>>(shapes, areas);
    cudaMemcpy(host, areas, sizeof host, cudaMemcpyDeviceToHost);
    printf("areas %d %d %d\n", host[2], host[3], host[63]);
    printf("%s\n", cudaGetErrorName(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 << 20)));
    cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
    fill_up<<<1, 1>>>(blocks, 64 << 10);
    cudaMemcpy(&count, blocks, sizeof count, cudaMemcpyDeviceToHost);
    printf("%d blocks of 64 KiB fit into the rest of %zu KiB\n", count, heap >> 10);
    remove<<<1, 64>>>(shapes);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    remove<<<1, 64>>>(shapes);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
