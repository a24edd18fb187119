// Dense and sparse linear algebra.
#include <cuda_fp16.h>
#include <mma.h>

// c <- alpha a b + beta c. A thread computes four squares of 4 by 4. Two pairs of tiles alternate.
template <int ROWS, int COLUMNS>
__global__ void __launch_bounds__(ROWS * COLUMNS / 64)
    sgemm(int n, int depth, float alpha, float beta, const float *a, const float *b, float *c) {
    constexpr int DEPTH = 8, THREADS = ROWS * COLUMNS / 64, QUADS = COLUMNS / 4;
    constexpr int OF_A = 2 * ROWS / THREADS, OF_B = 2 * COLUMNS / THREADS;
    __shared__ __align__(16) float tiles_a[2][DEPTH][ROWS], tiles_b[2][DEPTH][COLUMNS];
    int row = blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
    float4 next_a[OF_A], next_b[OF_B];
    auto load = [&](int k) {
#pragma unroll
        for (int i = 0; i < OF_A; i++) {
            int at = threadIdx.x + i * THREADS;
            next_a[i] = *(const float4 *)&a[(row + at / 2) * depth + k + at % 2 * 4];
        }
#pragma unroll
        for (int i = 0; i < OF_B; i++) {
            int at = threadIdx.x + i * THREADS;
            next_b[i] = *(const float4 *)&b[(k + at / QUADS) * n + column + at % QUADS * 4];
        }
    };
    auto store = [&](int side) {
#pragma unroll
        for (int i = 0; i < OF_A; i++) {
            int at = threadIdx.x + i * THREADS, x = at % 2 * 4, y = at / 2;
            tiles_a[side][x][y] = next_a[i].x, tiles_a[side][x + 1][y] = next_a[i].y;
            tiles_a[side][x + 2][y] = next_a[i].z, tiles_a[side][x + 3][y] = next_a[i].w;
        }
#pragma unroll
        for (int i = 0; i < OF_B; i++) {
            int at = threadIdx.x + i * THREADS;
            *(float4 *)&tiles_b[side][at / QUADS][at % QUADS * 4] = next_b[i];
        }
    };
    int y = threadIdx.x / (COLUMNS / 8) * 4, x = threadIdx.x % (COLUMNS / 8) * 4;
    float sums[8][8] = {};
    load(0);
    store(0);
    __syncthreads();
    for (int k = 0, side = 0; k < depth; k += DEPTH, side ^= 1) {
        if (k + DEPTH < depth) load(k + DEPTH);
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            float left[8], right[8];
            *(float4 *)left = *(const float4 *)&tiles_a[side][d][y];
            *(float4 *)(left + 4) = *(const float4 *)&tiles_a[side][d][y + ROWS / 2];
            *(float4 *)right = *(const float4 *)&tiles_b[side][d][x];
            *(float4 *)(right + 4) = *(const float4 *)&tiles_b[side][d][x + COLUMNS / 2];
#pragma unroll
            for (int u = 0; u < 8; u++)
#pragma unroll
                for (int v = 0; v < 8; v++) sums[u][v] += left[u] * right[v];
        }
        if (k + DEPTH < depth) store(side ^ 1);
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < 8; u++)
#pragma unroll
        for (int v = 0; v < 8; v += 4) {
            int below = row + y + u % 4 + u / 4 * (ROWS / 2), right = column + x + v * COLUMNS / 8;
            float4 *to = (float4 *)&c[below * n + right], old = *to;
            float *sum = sums[u] + v;
            *to = make_float4(alpha * sum[0] + beta * old.x, alpha * sum[1] + beta * old.y,
                              alpha * sum[2] + beta * old.z, alpha * sum[3] + beta * old.w);
        }
}

__device__ void copy_async(void *to, const void *from) {
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
}

__device__ float gelu(float x) {
    return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

// y <- GELU(x wT + bias) in halves, by `wmma`. A block computes ROWS by 64 and a warp 32 by 32;
// asynchronous copies fetch the next tiles.
template <int ROWS>
__global__ void __launch_bounds__(2 * ROWS)
    linear_gelu(int n, int depth, const half *x, const half *w, const half *bias, half *y) {
    using namespace nvcuda::wmma;
    constexpr int DEPTH = 32, PITCH = DEPTH + 8, LINES = ROWS + 64;
    __shared__ __align__(32) half tiles[2][LINES * PITCH];
    __shared__ __align__(32) float results[ROWS / 16][16 * 20];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = blockIdx.y * ROWS, column = blockIdx.x * 64;
    int top = warp / 2 * 32, left = warp % 2 * 32;
    auto fetch = [&](int k, half *tile) {
        for (int i = threadIdx.x; i < LINES * DEPTH / 8; i += blockDim.x) {
            int line = i / (DEPTH / 8), at = i % (DEPTH / 8) * 8;
            const half *from = line < ROWS ? x + (row + line) * depth
                                           : w + (column + line - ROWS) * depth;
            copy_async(tile + line * PITCH + at, from + k + at);
        }
        asm volatile("cp.async.commit_group;");
    };
    fragment<accumulator, 16, 16, 16, float> sums[2][2];
    for (auto &line : sums)
        for (auto &sum : line) fill_fragment(sum, 0.0f);
    fetch(0, tiles[0]);
    for (int k = 0, side = 0; k < depth; k += DEPTH, side ^= 1) {
        if (k + DEPTH < depth) {
            fetch(k + DEPTH, tiles[side ^ 1]);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        const half *above = tiles[side] + top * PITCH;
        const half *beside = tiles[side] + (ROWS + left) * PITCH;
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            fragment<matrix_a, 16, 16, 16, half, row_major> lefts[2];
            fragment<matrix_b, 16, 16, 16, half, col_major> rights[2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                load_matrix_sync(lefts[i], above + 16 * i * PITCH + d, PITCH);
                load_matrix_sync(rights[i], beside + 16 * i * PITCH + d, PITCH);
            }
#pragma unroll
            for (int u = 0; u < 2; u++)
#pragma unroll
                for (int v = 0; v < 2; v++) mma_sync(sums[u][v], lefts[u], rights[v], sums[u][v]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float *result = results[warp];
        store_matrix_sync(result, sums[i / 2][i % 2], 20, mem_row_major);
        __syncwarp();
        int below = row + top + i / 2 * 16 + lane / 2;
        int right = column + left + i % 2 * 16 + lane % 2 * 8;
        half eight[8];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float sum = result[lane / 2 * 20 + lane % 2 * 8 + k];
            eight[k] = __float2half(gelu(sum + __half2float(bias[right + k])));
        }
        *(uint4 *)&y[below * n + right] = *(const uint4 *)eight;
        __syncwarp();
    }
}

// c <- a bT of bytes with a scale for each row of both, by `mma.sync`. A block computes 64 by 64.
template <int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    int8_product(int n, int depth, const signed char *a, const signed char *b,
                 const float *scales_a, const float *scales_b, float *c) {
    constexpr int DEPTH = 64, PITCH = DEPTH + 16, HIGH = 8 / WARPS;
    __shared__ __align__(16) signed char tile_a[64][PITCH], tile_b[64][PITCH];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4;
    int row = blockIdx.y * 64, column = blockIdx.x * 64;
    int top = warp / 2 * HIGH * 16 + group, left = warp % 2 * 32 + group;
    int sums[HIGH][4][4] = {};
    for (int k = 0; k < depth; k += DEPTH) {
        for (int i = threadIdx.x; i < 64 * DEPTH / 16; i += blockDim.x) {
            int y = i / (DEPTH / 16), x = i % (DEPTH / 16) * 16;
            *(int4 *)&tile_a[y][x] = *(const int4 *)&a[(row + y) * depth + k + x];
            *(int4 *)&tile_b[y][x] = *(const int4 *)&b[(column + y) * depth + k + x];
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; d += 32) {
            int lefts[HIGH][4], rights[4][2], at = d + 4 * pair;
#pragma unroll
            for (int u = 0; u < HIGH; u++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    lefts[u][i] = *(const int *)&tile_a[top + 16 * u + i % 2 * 8][at + i / 2 * 16];
#pragma unroll
            for (int v = 0; v < 4; v++)
#pragma unroll
                for (int i = 0; i < 2; i++)
                    rights[v][i] = *(const int *)&tile_b[left + 8 * v][at + 16 * i];
#pragma unroll
            for (int u = 0; u < HIGH; u++)
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    int(&sum)[4] = sums[u][v];
                    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                                 : "r"(lefts[u][0]), "r"(lefts[u][1]), "r"(lefts[u][2]),
                                   "r"(lefts[u][3]), "r"(rights[v][0]), "r"(rights[v][1]));
                }
        }
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < HIGH; u++)
#pragma unroll
        for (int v = 0; v < 4; v++)
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                int below = row + top + 16 * u + i / 2 * 8;
                int right = column + left - group + 8 * v + 2 * pair;
                float scale = scales_a[below];
                *(float2 *)&c[below * n + right] =
                    make_float2(sums[u][v][i] * scale * scales_b[right],
                                sums[u][v][i + 1] * scale * scales_b[right + 1]);
            }
}

// y <- a x of a sparse matrix with `width` places a row. A negative column ends a row.
__global__ void ell_product(int rows, int width, const int *columns, const double *values,
                            const double *x, double *y) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int k = 0; k < width; k++) {
        int column = columns[k * rows + row];
        if (column < 0) break;
        sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}
