// Layers of networks, mostly for images.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef unsigned long long u64;

// The largest of three by three values, two apart, and its place. Outside is nothing.
__global__ void max_pool(int side, const float *from, float *to, int *places) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, half = side / 2;
    int x = i % half, y = i / half % half, plane = i / half / half;
    const float *image = from + plane * side * side;
    float largest = -INFINITY;
    int place = 0;
    for (int row = max(2 * y - 1, 0); row <= 2 * y + 1; row++)
        for (int column = max(2 * x - 1, 0); column <= 2 * x + 1; column++) {
            float value = image[row * side + column];
            if (value > largest) largest = value, place = row * side + column;
        }
    to[i] = largest;
    places[i] = place;
}

// A convolution by SIZE by SIZE weights of each channel. The channels of a pixel lie side by side;
// a thread has two of them.
template <int SIZE>
__global__ void depthwise(int side, int pairs, const half2 *from, const half2 *weights, half2 *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, pair = i % pairs, pixel = i / pairs;
    int x = pixel % side - SIZE / 2, y = pixel / side % side - SIZE / 2;
    const half2 *image = from + pixel / side / side * side * side * pairs + pair;
    float2 sum = make_float2(0, 0);
#pragma unroll
    for (int k = 0; k < SIZE * SIZE; k++) {
        int column = x + k % SIZE, row = y + k / SIZE;
        if (column < 0 || column >= side || row < 0 || row >= side) continue;
        float2 value = __half22float2(image[(row * side + column) * pairs]);
        float2 weight = __half22float2(weights[k * pairs + pair]);
        sum.x += value.x * weight.x;
        sum.y += value.y * weight.y;
    }
    to[i] = __floats2half2_rn(sum.x, sum.y);
}

// The sum of a value over a block.
__device__ float sum_of_block(float sum) {
    __shared__ float of_warps[32], total;
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? of_warps[threadIdx.x] : 0;
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
        if (threadIdx.x == 0) total = sum;
    }
    __syncthreads();
    return total;
}

// Normalizes each channel of a batch of images, a block for a channel; keeps mean and variance.
__global__ void batch_norm(int images, int channels, int pixels, const float *from,
                           const float *scales, float *means, float *variances, float *to) {
    int channel = blockIdx.x;
    float sum = 0, squares = 0;
    for (int image = 0; image < images; image++) {
        const float *plane = from + (image * channels + channel) * pixels;
        for (int i = threadIdx.x; i < pixels; i += blockDim.x) {
            sum += plane[i];
            squares += plane[i] * plane[i];
        }
    }
    float mean = sum_of_block(sum) / (images * pixels);
    float variance = sum_of_block(squares) / (images * pixels) - mean * mean;
    float scale = scales[channel] * rsqrtf(variance + 1e-5f);
    if (threadIdx.x == 0) means[channel] = mean, variances[channel] = variance;
    for (int image = 0; image < images; image++) {
        size_t first = (size_t)(image * channels + channel) * pixels;
        for (int i = threadIdx.x; i < pixels; i += blockDim.x)
            to[first + i] = (from[first + i] - mean) * scale;
    }
}

// The last part of a recurrent cell: four gates of each hidden number, which lie a row apart.
__global__ void recurrent_cell(int hidden, const float *gates, float *cells, float *outputs) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / hidden, k = i % hidden;
    const float *own = gates + (size_t)4 * row * hidden + k;
    auto sigmoid = [](float x) { return 1 / (1 + __expf(-x)); };
    float cell = sigmoid(own[hidden]) * cells[i] + sigmoid(own[0]) * tanhf(own[2 * hidden]);
    cells[i] = cell;
    outputs[i] = sigmoid(own[3 * hidden]) * tanhf(cell);
}

__device__ float gated(float gate, float value) { return value * gate / (1 + __expf(-gate)); }

// A gated activation in bfloat16: one element a thread, or eight by one load.
template <bool WIDE>
__global__ void swiglu(const __nv_bfloat16 *gates, const __nv_bfloat16 *values,
                       __nv_bfloat16 *to) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!WIDE) {
        to[i] = __float2bfloat16(gated(__bfloat162float(gates[i]), __bfloat162float(values[i])));
        return;
    }
    uint4 one = ((const uint4 *)gates)[i], other = ((const uint4 *)values)[i];
    const __nv_bfloat162 *pairs = (const __nv_bfloat162 *)&one;
    __nv_bfloat162 *results = (__nv_bfloat162 *)&other;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float2 gate = __bfloat1622float2(pairs[k]), value = __bfloat1622float2(results[k]);
        results[k] = __floats2bfloat162_rn(gated(gate.x, value.x), gated(gate.y, value.y));
    }
    ((uint4 *)to)[i] = other;
}

// Which later boxes each box covers by more than half of both: a bit for each of 64. A box has its
// left, upper, right and lower side.
__global__ void __launch_bounds__(64) find_overlaps(const float4 *boxes, u64 *masks) {
    __shared__ float4 others[64];
    if (blockIdx.x < blockIdx.y) return;
    int row = blockIdx.y * 64 + threadIdx.x;
    others[threadIdx.x] = boxes[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    float4 own = boxes[row];
    float area = (own.z - own.x) * (own.w - own.y);
    u64 mask = 0;
    for (int k = blockIdx.x == blockIdx.y ? threadIdx.x + 1 : 0; k < 64; k++) {
        float4 other = others[k];
        float width = fmaxf(fminf(own.z, other.z) - fmaxf(own.x, other.x), 0);
        float height = fmaxf(fminf(own.w, other.w) - fmaxf(own.y, other.y), 0);
        float both = width * height, of_other = (other.z - other.x) * (other.w - other.y);
        if (2 * both > area + of_other - both) mask |= 1ull << k;
    }
    masks[row * gridDim.x + blockIdx.x] = mask;
}
