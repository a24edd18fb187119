// Caches whose capacity and rate the model of estimated times knows: of instructions, of constants
// and of L1. Prints clocks; see constants.sh.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)

__constant__ unsigned table[1024];
static long long *d_clocks;
static unsigned *d_out;

static double taken() {
    long long clocks;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&clocks, d_clocks, sizeof clocks, cudaMemcpyDeviceToHost));
    return clocks;
}

// A loop of COUNT sums of products that do not depend on each other.
template <int COUNT> __global__ void straight(int times, float y, long long *clocks, unsigned *out) {
    float sums[8];
    for (int i = 0; i < 8; i++) sums[i] = threadIdx.x + i;
    long long begin = 0;
    for (int t = 0; t < times; t++) {
        if (t == 1) begin = clock64();
#pragma unroll
        for (int i = 0; i < COUNT; i++) asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(sums[i % 8]) : "f"(y));
    }
    *clocks = clock64() - begin;
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += sums[i];
    out[threadIdx.x] = sum;
}

template <int COUNT> void print_straight(int threads) {
    double clocks[2];
    for (int k = 0; k < 2; k++) {
        straight<COUNT><<<1, threads>>>(k ? 21 : 5, 3, d_clocks, d_out);
        straight<COUNT><<<1, threads>>>(k ? 21 : 5, 3, d_clocks, d_out);
        clocks[k] = taken();
    }
    printf("code of %5d instructions, %3d threads: %.2f clocks each\n", COUNT, threads, (clocks[1] - clocks[0]) / 16 / COUNT);
}

// Constants of which the lanes of a warp load `words` different ones: CHAINS chains.
template <int CHAINS> __global__ void constants(unsigned words, long long *clocks, unsigned *out) {
    unsigned at[CHAINS], sum = 0;
    for (int i = 0; i < CHAINS; i++) at[i] = threadIdx.x % words;
    long long begin = 0;
#pragma unroll 1
    for (int t = 0; t < 33; t++) {
        if (t == 1) begin = clock64();
#pragma unroll
        for (int k = 0; k < 16 / CHAINS; k++)
#pragma unroll
            for (int i = 0; i < CHAINS; i++) at[i] = table[at[i]];
    }
    *clocks = clock64() - begin;
    for (int i = 0; i < CHAINS; i++) sum += at[i];
    out[threadIdx.x] = sum;
}

// A chain through L1: `count` words, `stride` words apart.
__global__ void sparse(const unsigned *next, int count, long long *clocks, unsigned *out) {
    unsigned at = 0;
    long long begin = 0;
    for (int t = 0; t < 3; t++) {
        if (t == 2) begin = clock64();
        for (int i = 0; i < count; i++) at = __ldca(next + at);
    }
    *clocks = clock64() - begin;
    *out = at;
}

int main() {
    CHECK(cudaMalloc(&d_clocks, sizeof(long long)));
    CHECK(cudaMalloc(&d_out, 4096));
    unsigned own[1024];
    for (int i = 0; i < 1024; i++) own[i] = i;
    CHECK(cudaMemcpyToSymbol(table, own, sizeof own));
    for (int threads : {32, 128, 256}) {
        print_straight<256>(threads);
        print_straight<1536>(threads);
        print_straight<3072>(threads);
        print_straight<7168>(threads);
    }
    for (int threads : {32, 256})
        for (unsigned words : {1, 2, 4, 8, 16, 32}) {
            double clocks[2];
            for (int k = 0; k < 4; k++) {
                k % 2 ? constants<8><<<1, threads>>>(words, d_clocks, d_out) : constants<1><<<1, threads>>>(words, d_clocks, d_out);
                clocks[k % 2] = taken();
            }
            printf("constants, %3d threads, %2u words: chain %.2f clocks a load, 8 chains %.2f\n", threads, words, clocks[0] / 512, clocks[1] / 512);
        }
    unsigned *next, *host = (unsigned *)malloc(1 << 20);
    CHECK(cudaMalloc(&next, 1 << 20));
    for (int stride : {8, 32})
        for (int count : {1024, 1536, 1792, 2048, 4096, 6144, 8192}) {
            if (count * stride > 1 << 18) continue;
            for (int i = 0; i < count; i++) host[i * stride] = (i + 1) % count * stride;
            CHECK(cudaMemcpy(next, host, 1 << 20, cudaMemcpyHostToDevice));
            sparse<<<1, 1>>>(next, count, d_clocks, d_out);
            printf("L1, %4d words, %3d bytes apart: %.1f clocks a load\n", count, 4 * stride, taken() / count);
        }
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    printf("%s\n", properties.name);
}
