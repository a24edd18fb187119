// Dense and sparse linear algebra.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

// c <- a b of halves, by `wmma`: a block computes TILE by TILE through shared memory, with its
// warps in two columns.
template <int TILE, int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    wmma_product(int n, const half *a, const half *b, float *c) {
    using namespace nvcuda::wmma;
    constexpr int DEPTH = 32, HIGH = TILE / 16 / (WARPS / 2), WIDE = TILE / 16 / 2;
    __shared__ __align__(32) half of_a[TILE][DEPTH + 8], of_b[DEPTH][TILE + 8];
    int warp = threadIdx.x / 32, row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    int top = warp / 2 * HIGH * 16, left = warp % 2 * WIDE * 16;
    fragment<accumulator, 16, 16, 16, float> sums[HIGH][WIDE];
    for (auto &line : sums)
        for (auto &sum : line) fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += DEPTH) {
        for (int i = threadIdx.x * 8; i < TILE * DEPTH; i += blockDim.x * 8) {
            int y = i / DEPTH, x = i % DEPTH, v = i / TILE, u = i % TILE;
            *(uint4 *)&of_a[y][x] = *(const uint4 *)&a[(row + y) * n + k + x];
            *(uint4 *)&of_b[v][u] = *(const uint4 *)&b[(k + v) * n + column + u];
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d += 16) {
            fragment<matrix_a, 16, 16, 16, half, row_major> lefts[HIGH];
#pragma unroll
            for (int y = 0; y < HIGH; y++)
                load_matrix_sync(lefts[y], &of_a[top + 16 * y][d], DEPTH + 8);
#pragma unroll
            for (int x = 0; x < WIDE; x++) {
                fragment<matrix_b, 16, 16, 16, half, row_major> right;
                load_matrix_sync(right, &of_b[d][left + 16 * x], TILE + 8);
#pragma unroll
                for (int y = 0; y < HIGH; y++) mma_sync(sums[y][x], lefts[y], right, sums[y][x]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int y = 0; y < HIGH; y++)
#pragma unroll
        for (int x = 0; x < WIDE; x++) {
            float *to = c + (row + top + 16 * y) * n + column + left + 16 * x;
            store_matrix_sync(to, sums[y][x], n, mem_row_major);
        }
}

__device__ void copy_async(void *to, const void *from) {
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
}

__device__ void load_four(unsigned (&words)[4], const void *from) {
    unsigned address = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address));
}

// c <- a bT, a linear layer in bf16: `mma.sync` on tiles of ROWS by 64, which asynchronous copies
// fetch STAGES ahead. A warp computes 32 by 32.
template <int ROWS, int STAGES>
__global__ void __launch_bounds__(2 * ROWS)
    mma_product(int n, int k, const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c) {
    constexpr int DEPTH = 32, PITCH = DEPTH + 8, SIZE = (ROWS + 64) * PITCH;
    extern __shared__ __align__(16) __nv_bfloat16 tiles[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = blockIdx.y * ROWS, column = blockIdx.x * 64;
    auto fetch = [&](int step) {
        __nv_bfloat16 *tile = tiles + step % STAGES * SIZE;
        if (step * DEPTH < k)
            for (int i = threadIdx.x; i < (ROWS + 64) * DEPTH / 8; i += blockDim.x) {
                int y = i / (DEPTH / 8), x = i % (DEPTH / 8) * 8;
                bool is_left = y < ROWS;
                int line = is_left ? row + y : column + y - ROWS;
                const __nv_bfloat16 *from = (is_left ? a : b) + line * k + step * DEPTH + x;
                copy_async(tile + y * PITCH + x, from);
            }
        asm volatile("cp.async.commit_group;");
    };
    for (int step = 0; step < STAGES - 1; step++) fetch(step);
    float sums[2][4][4] = {};
    for (int step = 0; step * DEPTH < k; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        fetch(step + STAGES - 1);
        const __nv_bfloat16 *tile = tiles + step % STAGES * SIZE;
        const __nv_bfloat16 *above = tile + (warp / 2 * 32 + lane % 16) * PITCH + lane / 16 * 8;
        const __nv_bfloat16 *beside =
            tile + (ROWS + warp % 2 * 32 + lane / 16 * 8 + lane % 8) * PITCH + lane / 8 % 2 * 8;
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            unsigned left[2][4], right[2][4];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                load_four(left[i], above + 16 * i * PITCH + d);
                load_four(right[i], beside + 16 * i * PITCH + d);
            }
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    float(&sum)[4] = sums[u][v];
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                                 : "r"(left[u][0]), "r"(left[u][1]), "r"(left[u][2]),
                                   "r"(left[u][3]), "r"(right[v / 2][v % 2 * 2]),
                                   "r"(right[v / 2][v % 2 * 2 + 1]));
                }
        }
    }
    int top = row + warp / 2 * 32 + lane / 4, start = column + warp % 2 * 32 + lane % 4 * 2;
#pragma unroll
    for (int u = 0; u < 2; u++)
#pragma unroll
        for (int v = 0; v < 4; v++) {
            float *to = c + (top + 16 * u) * n + start + 8 * v;
            *(float2 *)to = make_float2(sums[u][v][0], sums[u][v][1]);
            *(float2 *)(to + 8 * n) = make_float2(sums[u][v][2], sums[u][v][3]);
        }
}

// c <- alpha aT b + beta c. A thread computes EACH by EACH neighbours; the next tiles wait in
// registers.
template <int TILE, int EACH>
__global__ void tiled_product(int n, float alpha, float beta, const float *a, const float *b,
                              float *c) {
    constexpr int DEPTH = 8, SIDE = TILE / EACH, THREADS = SIDE * SIDE;
    constexpr int LOADS = (TILE * DEPTH + THREADS - 1) / THREADS;
    __shared__ float of_a[DEPTH][TILE], of_b[DEPTH][TILE];
    int x = threadIdx.x % SIDE * EACH, y = threadIdx.x / SIDE * EACH;
    const float *from_a = a + blockIdx.y * TILE, *from_b = b + blockIdx.x * TILE;
    float next_a[LOADS], next_b[LOADS], sums[EACH][EACH] = {};
    auto load = [&](int k) {
#pragma unroll
        for (int l = 0; l < LOADS; l++) {
            int i = threadIdx.x + l * THREADS;
            if (i >= TILE * DEPTH) continue;
            next_a[l] = from_a[(k + i / TILE) * n + i % TILE];
            next_b[l] = from_b[(k + i / TILE) * n + i % TILE];
        }
    };
    load(0);
    for (int k = 0; k < n; k += DEPTH) {
#pragma unroll
        for (int l = 0; l < LOADS; l++) {
            int i = threadIdx.x + l * THREADS;
            if (i >= TILE * DEPTH) continue;
            of_a[i / TILE][i % TILE] = next_a[l];
            of_b[i / TILE][i % TILE] = next_b[l];
        }
        __syncthreads();
        if (k + DEPTH < n) load(k + DEPTH);
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            float left[EACH], right[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e++) left[e] = of_a[d][y + e], right[e] = of_b[d][x + e];
#pragma unroll
            for (int u = 0; u < EACH; u++)
#pragma unroll
                for (int v = 0; v < EACH; v++) sums[u][v] = fmaf(left[u], right[v], sums[u][v]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < EACH; u++)
#pragma unroll
        for (int v = 0; v < EACH; v++) {
            float *to = c + (blockIdx.y * TILE + y + u) * n + blockIdx.x * TILE + x + v;
            *to = alpha * sums[u][v] + beta * *to;
        }
}

// Products of many small matrices: SIZE threads for a matrix, a row of the result for a thread.
template <int SIZE>
__global__ void small_products(const float *a, const float *b, float *c) {
    extern __shared__ float rights[];
    size_t row = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % SIZE;
    float *right = rights + threadIdx.x / SIZE * SIZE * SIZE;
    float left[SIZE], sums[SIZE] = {};
    for (int k = 0; k < SIZE; k++) {
        right[k * SIZE + lane] = b[(row - lane + k) * SIZE + lane];
        left[k] = a[row * SIZE + k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < SIZE; k++)
#pragma unroll
        for (int x = 0; x < SIZE; x++) sums[x] += left[k] * right[k * SIZE + x];
    for (int x = 0; x < SIZE; x++) c[row * SIZE + x] = sums[x];
}

// y <- a x of a sparse matrix in double precision, LANES threads for a row.
template <int LANES>
__global__ void csr_product(unsigned rows, const unsigned *starts, const unsigned *columns,
                            const double *values, const double *x, double *y) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, row = thread / LANES;
    double sum = 0;
    if (row < rows)
        for (unsigned i = starts[row] + thread % LANES; i < starts[row + 1]; i += LANES)
            sum += values[i] * __ldg(x + columns[i]);
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (row < rows && thread % LANES == 0) y[row] = sum;
}

// y <- a x of bytes, with a scale for each 32 of them; a warp for a row.
__global__ void dot_bytes(int columns, const int4 *a, const float *a_scales, const int4 *x,
                          const float *x_scales, float *y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = lane; i < columns / 16; i += 32) {
        int4 left = a[(size_t)row * (columns / 16) + i], right = x[i];
        int dot = __dp4a(left.x, right.x, 0);
        dot = __dp4a(left.y, right.y, dot);
        dot = __dp4a(left.z, right.z, dot);
        dot = __dp4a(left.w, right.w, dot);
        sum += dot * a_scales[row * (columns / 32) + i / 2] * x_scales[i / 2];
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (lane == 0) y[row] = sum;
}
