// Micro-benchmarks of a GPU: the constants of the emulated driver's model of time.
// Kernels that are timed as a whole are named t_NAME and read by ncu; the others print clocks.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <numeric>
#include <random>

__global__ void t_empty(int *out) { if (out == (int *)1) *out = 1; }

// COUNT different dependent instructions without a branch.
template <int COUNT> __global__ void t_straight(float *out, float x) {
    float y = x;
#pragma unroll
    for (int i = 0; i < COUNT; i++) y = y * (1.0f + i) + x;
    out[threadIdx.x] = y;
}

__global__ void t_read(const float4 *from, float *out, size_t count) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    float4 v = i < count ? from[i] : make_float4(0, 0, 0, 0);
    if (v.x + v.y + v.z + v.w == 1.5f) *out = 1;
}
__global__ void t_write(float4 *to, size_t count) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count) to[i] = make_float4(1, 2, 3, 4);
}
__global__ void t_copy(const float4 *from, float4 *to, size_t count) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i];
}
// One word of each sector; STRIDE sectors between lanes.
__global__ void t_scattered_write(unsigned *to, unsigned mask, unsigned stride) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[((i * stride) & mask) * 8] = i;
}
// Words of a matrix by columns, as a simple transpose writes them.
__global__ void t_transposed_write(unsigned *to, unsigned rows, unsigned columns) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) to[i % rows * columns + i / rows] = i;
}
__global__ void t_scattered_read(const unsigned *from, unsigned *out, unsigned mask, unsigned stride) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = from[((i * stride) & mask) * 8];
    if (v == 12345) *out = v;
}
// Each thread updates TIMES words of `addresses`.
__global__ void t_red(unsigned *to, unsigned addresses, int times) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < times; k++) atomicAdd(to + (i * 2654435761u + k * 40503u) % addresses, 1u);
}
// As `t_red` on one address, by `lanes` lanes of each warp; `returns`: and uses the old value.
template <typename T> __global__ void t_one_address(T *to, unsigned lanes, int times, bool returns) {
    if (threadIdx.x % 32 >= lanes) return;
    T old = 0;
    for (int k = 0; k < times; k++) {
        if (returns) old += atomicAdd(to, (T)1);
        else atomicAdd(to, (T)1);
    }
    if (returns && old == (T)-1) to[1] = old;
}
// Each block waits for the one before it.
__global__ void t_chain(volatile unsigned *flags, int fences) {
    if (blockIdx.x > 0) while (flags[blockIdx.x - 1] == 0) {}
    if (fences) __threadfence();
    flags[blockIdx.x] = 1;
}
// A dependent load in each iteration of a loop whose step is not constant.
__global__ void t_grid_stride(const float *from, float *out, unsigned count) {
    float sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += from[i];
    if (sum == 1.5f) *out = 1;
}
__global__ void t_shared_red(unsigned *out, unsigned addresses, int times) {
    __shared__ unsigned s[4096];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) s[i] = 0;
    __syncthreads();
    for (int k = 0; k < times; k++) atomicAdd(s + (threadIdx.x * 2654435761u + k * 40503u) % addresses, 1u);
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
// Data that L2 holds is read again and again.
__global__ void t_l2(const float4 *from, float *out, unsigned mask, int times) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    float sum = 0;
    for (int k = 0; k < times; k++) {
        float4 v = __ldcg(from + ((i + k * all) & mask));
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 1.5f) *out = 1;
}

// Follows links from where the last chase ended; a lap of `warm` steps is not timed.
__global__ void chase(const unsigned *next, int warm, int steps, long long *clocks, unsigned *end, int cached) {
    unsigned at = *end;
    for (int i = 0; i < warm; i++) at = cached ? next[at] : __ldcg(next + at);
    long long begin = clock64();
    for (int i = 0; i < steps; i++) at = cached ? next[at] : __ldcg(next + at);
    *clocks = clock64() - begin;
    *end = at;
}
__global__ void chase_shared(long long *clocks, unsigned *end) {
    __shared__ unsigned next[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) next[i] = (i + 33) % 1024;
    __syncthreads();
    unsigned at = threadIdx.x;
    long long begin = clock64();
    for (int i = 0; i < 512; i++) at = next[at];
    *clocks = clock64() - begin;
    *end = at;
}
template <int WHAT> __global__ void chain(float x, long long *clocks, float *end, int steps) {
    float y = x;
    double z = x;
    unsigned u = (unsigned)x + threadIdx.x, v = (unsigned)(x * 5.7f);
    unsigned long long w = u + 12345;
    long long begin = clock64();
#pragma unroll 16
    for (int i = 0; i < steps; i++) {
        if (WHAT == 0) y = y * x + x;
        if (WHAT == 1) u = u * v + 3;
        if (WHAT == 2) y = sqrtf(y) + x;
        if (WHAT == 3) y = x / y;
        if (WHAT == 4) y = expf(-y);
        if (WHAT == 5) z = z * 0.5 + 1.0;
        if (WHAT == 6) z = 1.5 / z;
        if (WHAT == 7) u = __shfl_xor_sync(~0u, u, 1) + 1;
        if (WHAT == 8) u = 0xffffffffu / (u | 1);
        if (WHAT == 9) y = (float)(int)y + x;
        if (WHAT == 10) w = 0xffffffffffffull / (w | 1);
        if (WHAT == 11) { __syncthreads(); }
        if (WHAT == 12) { __threadfence(); }
        if (WHAT == 13) u = __popc(u) + threadIdx.x;
        if (WHAT == 14) u = __ballot_sync(~0u, u & 1) + 1;
        if (WHAT == 15) z = sqrt(z) + 1.0;
        if (WHAT == 16) y = __expf(y) * x;
        if (WHAT == 17) u = __clz(u) + threadIdx.x;
    }
    *clocks = clock64() - begin;
    *end = y + (float)z + u + (float)w;
}
// A loop that is not unrolled.
__global__ void chain_loop(float x, long long *clocks, float *end, int steps) {
    float y = x;
    long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < steps; i++) y = y * x + x;
    *clocks = clock64() - begin;
    *end = y;
}
__global__ void chase_atomic(unsigned *next, long long *clocks, unsigned *end) {
    unsigned at = 0;
    long long begin = clock64();
    for (int i = 0; i < 256; i++) at = atomicAdd(next + at, 0u);
    *clocks = clock64() - begin;
    *end = at;
}

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)
static long long *d_clocks; static float *d_out; static unsigned *d_end;
static long long taken() { long long c; CHECK(cudaDeviceSynchronize()); CHECK(cudaMemcpy(&c, d_clocks, 8, cudaMemcpyDeviceToHost)); return c; }

template <int WHAT> void print_chain(const char *name, int threads = 32) {
    double best[2];
    int steps[2] = {64, 320};
    for (int k = 0; k < 2; k++) {
        best[k] = 1e18;
        for (int i = 0; i < 5; i++) { chain<WHAT><<<1, threads>>>(1.25f, d_clocks, d_out, steps[k]); best[k] = std::min(best[k], (double)taken()); }
    }
    printf("chain %s threads %d: %.2f clocks\n", name, threads, (best[1] - best[0]) / 256);
}

int main(int argc, char **argv) {
    bool timed = argc > 1;  // under ncu
    size_t most = 1ull << 30;
    float4 *a, *b;
    CHECK(cudaMalloc(&a, most)); CHECK(cudaMalloc(&b, most));
    CHECK(cudaMemset(a, 0, most)); CHECK(cudaMemset(b, 0, most));
    CHECK(cudaMalloc(&d_clocks, 8)); CHECK(cudaMalloc(&d_out, 1 << 20)); d_end = (unsigned *)d_out;
    if (timed && argv[1][0] == 'm') {  // more
        unsigned *counts = (unsigned *)b;
        for (unsigned lanes : {1u, 2u, 8u, 32u}) for (int returns = 0; returns < 2; returns++) {
            t_one_address<unsigned><<<264, 256>>>(counts, lanes, 16, returns);
            t_one_address<float><<<264, 256>>>((float *)b, lanes, 16, returns);
        }
        for (int blocks : {33, 132, 1056}) for (int fences = 0; fences < 2; fences++) {
            CHECK(cudaMemset(b, 0, 1 << 20));
            t_chain<<<blocks, 32>>>(counts, fences);
        }
        for (unsigned words : {1u << 18, 1u << 20}) for (unsigned stride : {33u, 129u, 257u})
            t_scattered_write<<<words / 256, 256>>>(counts, words - 1, stride);
        for (unsigned rows : {256u, 1000u, 1024u, 4096u}) for (unsigned columns : {256u, 1000u, 1024u})
            t_transposed_write<<<(rows * columns + 255) / 256, 256>>>(counts, rows, columns);
        for (int blocks : {132, 528, 1056}) for (unsigned count : {1u << 18, 1u << 20, 1u << 22})
            t_grid_stride<<<blocks, 256>>>((float *)a, d_out, count);
        CHECK(cudaDeviceSynchronize());
        return 0;
    }
    if (timed) {
        for (int threads : {32, 64, 256, 1024})
            for (int blocks : {1, 4, 132, 1056, 8192, 65536, 1048576}) t_empty<<<blocks, threads>>>((int *)d_out);
        t_straight<64><<<1, 32>>>(d_out, 1.0f); t_straight<256><<<1, 32>>>(d_out, 1.0f); t_straight<1024><<<1, 32>>>(d_out, 1.0f);
        t_straight<4096><<<1, 32>>>(d_out, 1.0f); t_straight<1024><<<132, 256>>>(d_out, 1.0f); t_straight<4096><<<132, 256>>>(d_out, 1.0f);
        for (int shift = 16; shift <= 30; shift += 2) {
            size_t count = (1ull << shift) / 16; unsigned blocks = count / 256 ? count / 256 : 1;
            t_read<<<blocks, 256>>>(a, d_out, count); t_write<<<blocks, 256>>>(b, count); t_copy<<<blocks, 256>>>(a, b, count);
        }
        for (unsigned words = 1 << 14; words <= 1 << 22; words <<= 2)
            for (unsigned stride : {1u, 1025u}) {
                t_scattered_write<<<words / 256, 256>>>((unsigned *)b, words - 1, stride);
                t_scattered_read<<<words / 256, 256>>>((unsigned *)a, d_end, words - 1, stride);
            }
        for (unsigned addresses : {1u, 32u, 1024u, 4096u, 1048576u})
            for (int times : {16, 64}) t_red<<<528, 256>>>((unsigned *)b, addresses, times);
        for (unsigned addresses : {1u, 32u, 256u, 4096u}) for (int times : {64, 256}) t_shared_red<<<132, 256>>>(d_end, addresses, times);
        for (unsigned megabytes : {1u, 8u, 16u, 32u, 64u}) for (int times : {16, 64}) t_l2<<<264, 1024>>>(a, d_out, megabytes * 65536 - 1, times);
        CHECK(cudaDeviceSynchronize());
        return 0;
    }
    print_chain<0>("ffma"); print_chain<1>("imad"); print_chain<2>("sqrtf+add"); print_chain<3>("divf"); print_chain<4>("expf");
    print_chain<5>("dfma"); print_chain<6>("ddiv"); print_chain<7>("shfl+add"); print_chain<8>("udiv32"); print_chain<9>("f2i+i2f+add");
    print_chain<10>("udiv64"); print_chain<12>("threadfence"); print_chain<13>("popc+add"); print_chain<14>("ballot"); print_chain<15>("dsqrt+add");
    print_chain<16>("__expf*x"); print_chain<17>("clz+add");
    for (int threads : {128, 256, 512, 1024}) { print_chain<0>("ffma", threads); print_chain<2>("sqrtf+add", threads); print_chain<3>("divf", threads); print_chain<4>("expf", threads); print_chain<8>("udiv32", threads); print_chain<6>("ddiv", threads); print_chain<9>("f2i+i2f+add", threads); print_chain<7>("shfl+add", threads); }
    for (int threads : {32, 64, 128, 256, 512, 1024}) print_chain<11>("barrier", threads);
    { double t[2]; int steps[2] = {64, 1088}; for (int k = 0; k < 2; k++) { for (int i = 0; i < 3; i++) { chain_loop<<<1, 32>>>(1.25f, d_clocks, d_out, steps[k]); t[k] = taken(); } } printf("loop of one ffma: %.2f clocks\n", (t[1] - t[0]) / 1024); }
    chase_shared<<<1, 32>>>(d_clocks, d_end); chase_shared<<<1, 32>>>(d_clocks, d_end); printf("shared: %.1f clocks\n", taken() / 512.0);
    std::mt19937 random(1);
    for (size_t bytes : {(size_t)16 << 10, (size_t)128 << 10, (size_t)1 << 20, (size_t)16 << 20, (size_t)40 << 20, (size_t)256 << 20, (size_t)1 << 30}) {
        size_t lines = bytes / 128; std::vector<unsigned> order(lines), next(bytes / 4);
        std::iota(order.begin(), order.end(), 0u); std::shuffle(order.begin() + 1, order.end(), random);
        for (size_t i = 0; i < lines; i++) next[(size_t)order[i] * 32] = order[(i + 1) % lines] * 32;
        CHECK(cudaMemcpy(a, next.data(), bytes, cudaMemcpyHostToDevice));
        for (int cached = 0; cached < 2; cached++) {
            int steps = (int)std::min<size_t>(lines, 100000), warm = lines <= 2048 ? lines : 64;
            CHECK(cudaMemset(d_end, 0, 4));
            for (int i = 0; i < 2; i++) chase<<<1, 1>>>((unsigned *)a, warm, steps, d_clocks, d_end, cached);
            printf("chase %zu KiB cached %d: %.1f clocks\n", bytes >> 10, cached, taken() / (double)steps);
        }
    }
    CHECK(cudaMemset(b, 0, 1 << 20));
    chase_atomic<<<1, 1>>>((unsigned *)b, d_clocks, d_end); chase_atomic<<<1, 1>>>((unsigned *)b, d_clocks, d_end);
    printf("atomic: %.1f clocks\n", taken() / 256.0);
    return 0;
}
