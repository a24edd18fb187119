// Products of matrices.

// y += aT x, a thread for a column. `gridDim.y` blocks share the rows of a column.
__global__ void transposed_product(int rows, int columns, const float *a, const float *x,
                                   float *y) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, part = rows / gridDim.y;
    float sum = 0;
    for (int row = blockIdx.y * part; row < (blockIdx.y + 1) * part; row++)
        sum += a[(size_t)row * columns + column] * x[row];
    atomicAdd(y + column, sum);
}

// y += a x of a sparse matrix by entries in the order of their rows: lanes add up their row's
// products, and the last one of each row adds them to the result.
__global__ void coo_product(const unsigned *rows, const unsigned *columns, const float *values,
                            const float *x, float *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, row = rows[i];
    float sum = values[i] * x[columns[i]];
    for (int offset = 1; offset < 32; offset *= 2) {
        float other = __shfl_up_sync(~0u, sum, offset);
        unsigned of_row = __shfl_up_sync(~0u, row, offset);
        if (lane >= offset && of_row == row) sum += other;
    }
    unsigned next = __shfl_down_sync(~0u, row, 1);
    if (lane == 31 || next != row) atomicAdd(y + row, sum);
}

__device__ void copy(float *to, const float *from) {
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
}

__device__ unsigned rounded(float x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

// sum += a b of 16 by 8 and 8 by 8 numbers.
__device__ void add_product(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// c <- a bT in TF32. A block computes TILE by TILE and a warp TILE / 2 by 32; the next tiles of 16
// columns are on their way meanwhile.
template <int TILE>
__global__ void __launch_bounds__(2 * TILE)
    tf32_product(int n, int depth, const float *a, const float *b, float *c) {
    __shared__ float tiles[2][2][TILE][20];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, part = lane % 4;
    int top = warp % 2 * (TILE / 2), left = warp / 2 * 32;
    float sums[TILE / 32][4][4] = {};
    auto fetch = [&](int stage, int first) {
        for (int i = threadIdx.x; i < 4 * TILE; i += 2 * TILE) {
            int row = i / 4, column = i % 4 * 4;
            copy(&tiles[stage][0][row][column],
                 a + (size_t)(blockIdx.y * TILE + row) * depth + first + column);
            copy(&tiles[stage][1][row][column],
                 b + (size_t)(blockIdx.x * TILE + row) * depth + first + column);
        }
        asm volatile("cp.async.commit_group;");
    };
    fetch(0, 0);
    for (int first = 0; first < depth; first += 16) {
        int stage = first / 16 % 2;
        if (first + 16 < depth) {
            fetch(1 - stage, first + 16);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k += 8) {
            unsigned of_b[4][2];
#pragma unroll
            for (int j = 0; j < 8; j++)
                of_b[j / 2][j % 2] = rounded(tiles[stage][1][left + j / 2 * 8 + group]
                                                  [k + part + j % 2 * 4]);
#pragma unroll
            for (int i = 0; i < TILE / 32; i++) {
                unsigned of_a[4];
#pragma unroll
                for (int j = 0; j < 4; j++)
                    of_a[j] = rounded(tiles[stage][0][top + 16 * i + group + j % 2 * 8]
                                           [k + part + j / 2 * 4]);
#pragma unroll
                for (int j = 0; j < 4; j++) add_product(sums[i][j], of_a, of_b[j]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TILE / 32 * 8; i++) {
        int row = blockIdx.y * TILE + top + i / 8 * 16 + group + i % 2 * 8;
        int column = blockIdx.x * TILE + left + i / 2 % 4 * 8 + 2 * part;
        const float *sum = sums[i / 8][i / 2 % 4] + i % 2 * 2;
        *(float2 *)&c[(size_t)row * n + column] = make_float2(sum[0], sum[1]);
    }
}

// c <- a b in double precision. A block computes ROWS by 32: a thread eight elements of a column,
// or a warp 16 by 16 on tensor cores.
template <bool TENSOR, int ROWS>
__global__ void __launch_bounds__(4 * ROWS)
    dgemm(int n, const double *a, const double *b, double *c) {
    __shared__ double tile_a[ROWS][17], tile_b[16][33];
    int i = threadIdx.x, lane = i % 32, warp = i / 32;
    int top = blockIdx.y * ROWS, left = blockIdx.x * 32;
    int row = TENSOR ? warp / 2 * 16 + lane / 4 : warp, column = warp % 2 * 16 + lane / 4;
    double sums[8] = {};
    for (int first = 0; first < n; first += 16) {
        for (int k = i; k < 16 * ROWS; k += 4 * ROWS)
            tile_a[k / 16][k % 16] = a[(size_t)(top + k / 16) * n + first + k % 16];
        for (int k = i; k < 16 * 32; k += 4 * ROWS)
            tile_b[k / 32][k % 32] = b[(size_t)(first + k / 32) * n + left + k % 32];
        __syncthreads();
#pragma unroll
        for (int k = 0; TENSOR && k < 16; k += 4)
#pragma unroll
            for (int part = 0; part < 4; part++)
                asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 "
                    "{%0, %1}, {%2}, {%3}, {%0, %1};"
                    : "+d"(sums[2 * part]), "+d"(sums[2 * part + 1])
                    : "d"(tile_a[row + part / 2 * 8][k + lane % 4]),
                      "d"(tile_b[k + lane % 4][column + part % 2 * 8]));
#pragma unroll
        for (int k = 0; !TENSOR && k < 16; k++)
#pragma unroll
            for (int part = 0; part < 8; part++)
                sums[part] += tile_a[row + part * (ROWS / 8)][k] * tile_b[k][lane];
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int y = TENSOR ? row + k / 4 * 8 : row + k * (ROWS / 8);
        int x = TENSOR ? warp % 2 * 16 + k / 2 % 2 * 8 + lane % 4 * 2 + k % 2 : lane;
        c[(size_t)(top + y) * n + left + x] = sums[k];
    }
}
