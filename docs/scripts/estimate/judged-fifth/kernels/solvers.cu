// Solvers of linear systems, of flows and of paths.

// Systems with three diagonals by elimination, a thread each. The values of all systems with the
// same place lie side by side. At first `x` is the right side.
__global__ void thomas(int n, int systems, const double *lower, const double *middle,
                       const double *upper, double *ratios, double *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double ratio = 0, value = 0;
    for (int k = 0; k < n; k++) {
        int at = k * systems + i;
        double left = lower[at], pivot = 1 / (middle[at] - left * ratio);
        value = (x[at] - left * value) * pivot;
        ratio = upper[at] * pivot;
        ratios[at] = ratio;
        x[at] = value;
    }
    for (int k = n - 2; k >= 0; k--) {
        int at = k * systems + i;
        value = x[at] - ratios[at] * value;
        x[at] = value;
    }
}

// The same for a block of SIZE threads and one row each: every step doubles the distance of the
// rows that a row depends on.
template <int SIZE>
__global__ void __launch_bounds__(SIZE)
    cyclic_reduction(const float *lower, const float *middle, const float *upper,
                     const float *right, float *x) {
    __shared__ float4 rows[SIZE];
    int i = threadIdx.x;
    size_t at = (size_t)blockIdx.x * SIZE + i;
    float4 row = make_float4(i == 0 ? 0 : lower[at], middle[at], i == SIZE - 1 ? 0 : upper[at],
                             right[at]);
    for (int step = 1; step < SIZE; step *= 2) {
        rows[i] = row;
        __syncthreads();
        float4 before = make_float4(0, 1, 0, 0), after = before;
        if (i >= step) before = rows[i - step];
        if (i + step < SIZE) after = rows[i + step];
        float a = row.x / before.y, c = row.z / after.y;
        row = make_float4(-a * before.x, row.y - a * before.z - c * after.x, -c * after.z,
                          row.w - a * before.w - c * after.w);
        __syncthreads();
    }
    x[at] = row.w / row.y;
}

// The middle of a step of conjugate gradients: x += a p and r -= a q, and the square of r.
__global__ void conjugate_step(unsigned pairs, double a, const double2 *p, const double2 *q,
                               double2 *x, double2 *r, double *square) {
    __shared__ double of_warps[32];
    double sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs;
         i += gridDim.x * blockDim.x) {
        double2 place = x[i], rest = r[i], along = p[i], image = q[i];
        place.x += a * along.x, place.y += a * along.y;
        rest.x -= a * image.x, rest.y -= a * image.y;
        x[i] = place, r[i] = rest;
        sum += rest.x * rest.x + rest.y * rest.y;
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x == 0) atomicAdd(square, sum);
}

// From a grid of (2 n + 1)^3 points to one of n^3, by weights of 27 points.
__global__ void restrict_grid(int n, const float *fine, float *coarse) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z, side = 2 * n + 1;
    const float *corner = fine + ((size_t)2 * z * side + 2 * y) * side + 2 * x;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 27; k++) {
        int column = k % 3, row = k / 3 % 3, plane = k / 9;
        float weight = (float)((1 + column % 2) * (1 + row % 2) * (1 + plane % 2)) / 64;
        sum += weight * corner[(plane * side + row) * side + column];
    }
    coarse[((size_t)z * n + y) * n + x] = sum;
}

// The flow through a face from one cell to the next: height of water, momentum across the face, and
// momentum along it.
__device__ float3 flow(float3 a, float3 b) {
    float speed_a = a.y / a.x, speed_b = b.y / b.x;
    float fastest = fmaxf(fabsf(speed_a) + sqrtf(9.81f * a.x), fabsf(speed_b) + sqrtf(9.81f * b.x));
    float across = a.y * speed_a + b.y * speed_b + 4.905f * (a.x * a.x + b.x * b.x);
    return make_float3(0.5f * (a.y + b.y - fastest * (b.x - a.x)),
                       0.5f * (across - fastest * (b.y - a.y)),
                       0.5f * (a.z * speed_a + b.z * speed_b - fastest * (b.z - a.z)));
}

// A step of shallow water on a torus, by finite volumes.
__global__ void shallow_water(int n, float step, const float *before, float *after) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int cells = n * n, at = y * n + x;
    auto cell = [&](int column, int row, bool turned) {
        int i = (row & n - 1) * n + (column & n - 1);
        float one = before[cells + i], other = before[2 * cells + i];
        return make_float3(before[i], turned ? other : one, turned ? one : other);
    };
    float3 own = cell(x, y, false), turned = make_float3(own.x, own.z, own.y);
    float3 left = flow(cell(x - 1, y, false), own), right = flow(own, cell(x + 1, y, false));
    float3 up = flow(cell(x, y - 1, true), turned), down = flow(turned, cell(x, y + 1, true));
    after[at] = own.x + step * (left.x - right.x + up.x - down.x);
    after[cells + at] = own.y + step * (left.y - right.y + up.z - down.z);
    after[2 * cells + at] = own.z + step * (left.z - right.z + up.y - down.y);
}

// Shortens all paths by way of one vertex.
__global__ void floyd_step(int n, int middle, int *lengths) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int way = lengths[y * n + middle] + lengths[middle * n + x];
    if (way < lengths[y * n + x]) lengths[y * n + x] = way;
}

// Filters channels by a cascade of four sections of second order, a thread for a channel. The
// samples of all channels with the same time lie side by side.
__constant__ float sections[4][5];

__global__ void biquads(int length, int channels, const float *from, float *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float one[4] = {}, two[4] = {};
    for (int t = 0; t < length; t++) {
        float x = from[t * channels + i];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float y = sections[k][0] * x + one[k];
            one[k] = sections[k][1] * x - sections[k][3] * y + two[k];
            two[k] = sections[k][2] * x - sections[k][4] * y;
            x = y;
        }
        to[t * channels + i] = x;
    }
}
