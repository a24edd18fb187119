// Signals, images and video.

__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ float2 operator*(float2 a, float2 b) {
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Fourier transforms of POINTS, in place, by stages of radix 4 through shared memory.
template <int POINTS>
__global__ void __launch_bounds__(POINTS / 4) fourier(float2 *points) {
    __shared__ float2 tile[POINTS];
    float2 *own = points + (size_t)blockIdx.x * POINTS, values[4];
    int i = threadIdx.x;
#pragma unroll
    for (int r = 0; r < 4; r++) values[r] = own[i + r * (POINTS / 4)];
    for (int span = 1;; span *= 4) {
        int k = i % span, to = (i - k) * 4 + k;
        float2 turn, power = make_float2(1, 0);
        __sincosf(-1.57079633f * k / span, &turn.y, &turn.x);
#pragma unroll
        for (int r = 1; r < 4; r++) {
            power = power * turn;
            values[r] = values[r] * power;
        }
        float2 a = values[0] + values[2], b = values[0] - values[2];
        float2 c = values[1] + values[3], d = values[1] - values[3];
        d = make_float2(d.y, -d.x);
        values[0] = a + c, values[1] = b + d, values[2] = a - c, values[3] = b - d;
        if (4 * span == POINTS) break;
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; r++) tile[to + r * span] = values[r];
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; r++) values[r] = tile[i + r * (POINTS / 4)];
    }
#pragma unroll
    for (int r = 0; r < 4; r++) own[i + r * (POINTS / 4)] = values[r];
}

__constant__ float taps[64];

// A filter of TAPS over complex samples, four results a thread.
template <int TAPS> __global__ void fir(const float2 *x, float2 *y) {
    extern __shared__ float2 samples[];
    size_t first = (size_t)blockIdx.x * blockDim.x * 4;
    for (int i = threadIdx.x; i < 4 * blockDim.x + TAPS - 1; i += blockDim.x)
        samples[i] = x[first + i];
    __syncthreads();
    float2 sums[4] = {};
#pragma unroll 8
    for (int k = 0; k < TAPS; k++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float2 sample = samples[threadIdx.x + j * blockDim.x + k];
            sums[j].x += taps[k] * sample.x;
            sums[j].y += taps[k] * sample.y;
        }
#pragma unroll
    for (int j = 0; j < 4; j++) y[first + threadIdx.x + j * blockDim.x] = sums[j];
}

// The median of each pixel and its neighbours; outside, the nearest pixel counts.
__global__ void median(int n, const unsigned char *from, unsigned char *to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int p[9];
#pragma unroll
    for (int i = 0; i < 9; i++) {
        int column = min(max(x + i % 3 - 1, 0), n - 1), row = min(max(y + i / 3 - 1, 0), n - 1);
        p[i] = from[row * n + column];
    }
    auto sort = [&](int low, int high) {
        int least = min(p[low], p[high]);
        p[high] = max(p[low], p[high]), p[low] = least;
    };
    sort(1, 2), sort(4, 5), sort(7, 8), sort(0, 1), sort(3, 4), sort(6, 7);
    sort(1, 2), sort(4, 5), sort(7, 8), sort(0, 3), sort(5, 8), sort(4, 7), sort(3, 6);
    sort(1, 4), sort(2, 5), sort(4, 7), sort(4, 2), sort(6, 4), sort(4, 2);
    to[y * n + x] = (unsigned char)p[4];
}

// A pass of an integral image: sums along rows, a warp a row, or down columns, a thread a column.
template <bool ROWS> __global__ void integral(int n, const unsigned *from, unsigned *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    if (!ROWS) {
        for (int y = 0; y < n; y++) {
            sum += from[y * n + i];
            to[y * n + i] = sum;
        }
        return;
    }
    int lane = i % 32, row = i / 32;
    for (int x = lane; x < n; x += 32) {
        unsigned part = from[row * n + x];
        for (int offset = 1; offset < 32; offset *= 2) {
            unsigned other = __shfl_up_sync(~0u, part, offset);
            if (lane >= offset) part += other;
        }
        to[row * n + x] = sum + part;
        sum += __shfl_sync(~0u, part, 31);
    }
}

// Video frames to red, green and blue. A thread converts two by two pixels with one chroma pair.
__global__ void yuv_to_rgb(int n, const unsigned char *luma, const unsigned char *chroma,
                           unsigned char *rgb) {
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    int y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
    int u = chroma[y / 2 * n + x] - 128, v = chroma[y / 2 * n + x + 1] - 128;
    int red = 409 * v + 128, green = 128 - 100 * u - 208 * v, blue = 516 * u + 128;
    auto clamped = [](int value) { return (unsigned char)min(max(value >> 8, 0), 255); };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int at = (y + i / 2) * n + x + i % 2, light = 298 * (luma[at] - 16);
        rgb[3 * at] = clamped(light + red);
        rgb[3 * at + 1] = clamped(light + green);
        rgb[3 * at + 2] = clamped(light + blue);
    }
}
