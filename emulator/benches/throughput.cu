// The kernels whose speed is measured; `tests/fixtures/compile.py` makes throughput.ptx of them.
typedef unsigned u;

extern "C" {

__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void reduce(int n, const float *x, float *y) {
    __shared__ float part[8];
    int t = threadIdx.x;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += x[i];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (t % 32 == 0) part[t / 32] = v;
    __syncthreads();
    if (t < 8) {
        v = part[t];
        for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xff, v, d);
        if (t == 0) y[blockIdx.x] = v;
    }
}

__global__ void scan(const int *x, int *y) {
    __shared__ int s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = x[i];
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    y[i] = s[t];
}

__global__ void softmax(const float *x, float *y, int columns) {
    __shared__ float part[32];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, warps = blockDim.x / 32;
    x += blockIdx.x * columns;
    y += blockIdx.x * columns;
    float most = -1e30f, sum = 0;
    for (int i = t; i < columns; i += blockDim.x) most = fmaxf(most, x[i]);
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (lane == 0) part[warp] = most;
    __syncthreads();
    most = part[lane % warps];
    for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    __syncthreads();
    for (int i = t; i < columns; i += blockDim.x) sum += __expf(x[i] - most);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    sum = lane < warps ? part[lane] : 0;
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = t; i < columns; i += blockDim.x) y[i] = __expf(x[i] - most) / sum;
}

__global__ void gather(int n, const int *index, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[index[i]];
}

__global__ void histogram(int n, const u *x, u *bins) {
    __shared__ u own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&own[x[i] & 255], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// Branches and trip counts depend on the thread's number.
__global__ void divergent(int n, u *y) {
    u i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (i >= n) return;
    for (u v = i; v; v >>= 1) {
        if (v & 1) {
            for (u k = v & 7; k; k--) sum = sum * 33 + k;
        } else {
            sum ^= v;
        }
    }
    y[i] = sum;
}

__global__ void atomics(u *counters, u *last) {
    u i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&counters[0], 1);
    atomicAdd(&counters[i % 1024], i);
    atomicMax(&counters[1024 + (i * 7) % 64], i);
    last[i] = atomicAdd(&counters[2048], 2);
}

__global__ void matmul16(const float *a, const float *b, float *c, int n) {
    __shared__ float s[16][16], t[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[y][x] = a[row * n + k + x];
        t[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += s[y][j] * t[j][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
}
