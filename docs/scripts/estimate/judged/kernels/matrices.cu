// Linear algebra.

// c <- a b by tiles of TILE by TILE: 16 x 16 threads, each with (TILE / 16)^2 elements.
template <int TILE> __global__ void __launch_bounds__(256) product(int n, const float *a, const float *b, float *c) {
    constexpr int DEPTH = 16, EACH = TILE / 16;
    __shared__ float of_a[DEPTH][TILE + 1], of_b[DEPTH][TILE];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sums[EACH][EACH] = {};
    for (int k = 0; k < n; k += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH; i += 256) {
            of_a[i % DEPTH][i / DEPTH] = a[(row + i / DEPTH) * n + k + i % DEPTH];
            of_b[i / TILE][i % TILE] = b[(k + i / TILE) * n + column + i % TILE];
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            float left[EACH], right[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e++) left[e] = of_a[d][ty + 16 * e], right[e] = of_b[d][tx + 16 * e];
#pragma unroll
            for (int u = 0; u < EACH; u++)
#pragma unroll
                for (int v = 0; v < EACH; v++) sums[u][v] += left[u] * right[v];
        }
        __syncthreads();
    }
    for (int u = 0; u < EACH; u++)
        for (int v = 0; v < EACH; v++) c[(row + ty + 16 * u) * n + column + tx + 16 * v] = sums[u][v];
}

// y <- a x, a warp for each row.
__global__ void rows(int n, const float *a, const float *x, float *y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int k = lane; k < n; k += 32) sum += a[(size_t)row * n + k] * x[k];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (lane == 0) y[row] = sum;
}

// c <- a b on tensor cores: a by rows, b by columns, both of halves. A warp computes 32 x 32 from
// global memory.
__global__ void tensor_product(int n, const unsigned *a, const unsigned *b, float *c) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int row = warp / (n / 32) * 32, column = warp % (n / 32) * 32;
    int group = lane / 4, pair = lane % 4, words = n / 2;
    float sums[2][4][4] = {};
    for (int k = 0; k < words; k += 8) {
        unsigned left[2][4], right[4][2];
#pragma unroll
        for (int u = 0; u < 2; u++) {
            const unsigned *at = a + (row + 16 * u + group) * words + k + pair;
            left[u][0] = at[0], left[u][1] = at[8 * words];
            left[u][2] = at[4], left[u][3] = at[8 * words + 4];
        }
#pragma unroll
        for (int v = 0; v < 4; v++) {
            const unsigned *at = b + (column + 8 * v + group) * words + k + pair;
            right[v][0] = at[0], right[v][1] = at[4];
        }
#pragma unroll
        for (int u = 0; u < 2; u++)
#pragma unroll
            for (int v = 0; v < 4; v++)
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                             "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(sums[u][v][0]), "+f"(sums[u][v][1]), "+f"(sums[u][v][2]), "+f"(sums[u][v][3])
                             : "r"(left[u][0]), "r"(left[u][1]), "r"(left[u][2]), "r"(left[u][3]),
                               "r"(right[v][0]), "r"(right[v][1]));
    }
    for (int u = 0; u < 2; u++)
        for (int v = 0; v < 4; v++)
            for (int e = 0; e < 4; e++)
                c[(row + 16 * u + group + e / 2 * 8) * n + column + 8 * v + 2 * pair + e % 2] = sums[u][v][e];
}

// y <- a x of a sparse matrix, a thread for each row.
__global__ void sparse_rows(unsigned rows, const unsigned *starts, const unsigned *columns, const float *values,
                            const float *x, float *y) {
    unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (unsigned i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
    y[row] = sum;
}

// The LU decomposition of a matrix of SIZE by SIZE a block, a thread for each column.
template <int SIZE> __global__ void decompose(float *matrices) {
    __shared__ float m[SIZE][SIZE + 1];
    float *own = matrices + (size_t)blockIdx.x * SIZE * SIZE;
    int column = threadIdx.x;
    for (int row = 0; row < SIZE; row++) m[row][column] = own[row * SIZE + column] + (row == column ? SIZE : 0);
    __syncthreads();
    for (int k = 0; k < SIZE - 1; k++) {
        if (column > k) m[column][k] /= m[k][k];
        __syncthreads();
        if (column > k)
            for (int row = k + 1; row < SIZE; row++) m[row][column] -= m[row][k] * m[k][column];
        __syncthreads();
    }
    for (int row = 0; row < SIZE; row++) own[row * SIZE + column] = m[row][column];
}

// Attention of one query a warp over keys and values of 64 floats, with a running maximum.
__global__ void attend(unsigned keys, const float *query, const float *key, const float *value, float *to) {
    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float q0 = query[warp * 64 + lane], q1 = query[warp * 64 + 32 + lane];
    float most = -1e30f, total = 0, sum0 = 0, sum1 = 0;
    for (unsigned k = 0; k < keys; k++) {
        float score = q0 * key[k * 64 + lane] + q1 * key[k * 64 + 32 + lane];
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(~0u, score, offset);
        float next = fmaxf(most, score);
        float scale = __expf(most - next), weight = __expf(score - next);
        total = total * scale + weight;
        sum0 = sum0 * scale + weight * value[k * 64 + lane];
        sum1 = sum1 * scale + weight * value[k * 64 + 32 + lane];
        most = next;
    }
    to[warp * 64 + lane] = sum0 / total;
    to[warp * 64 + 32 + lane] = sum1 / total;
}

// Accelerations of bodies that attract each other.
__global__ void bodies(unsigned n, const float4 *body, float4 *force) {
    extern __shared__ float4 others[];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = body[i];
    float x = 0, y = 0, z = 0;
    for (unsigned first = 0; first < n; first += blockDim.x) {
        others[threadIdx.x] = body[first + threadIdx.x];
        __syncthreads();
        for (unsigned k = 0; k < blockDim.x; k++) {
            float4 other = others[k];
            float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float pull = other.w * inverse * inverse * inverse;
            x += pull * dx, y += pull * dy, z += pull * dz;
        }
        __syncthreads();
    }
    force[i] = make_float4(x, y, z, 0);
}
