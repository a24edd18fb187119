// Layers of neural networks.
#include <cuda_fp16.h>

struct Sum {
    static __device__ float start() { return 0; }
    static __device__ float of(float a, float b) { return a + b; }
};
struct Most {
    static __device__ float start() { return -INFINITY; }
    static __device__ float of(float a, float b) { return fmaxf(a, b); }
};

template <typename Operation> __device__ float over_warp(float value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value = Operation::of(value, __shfl_xor_sync(~0u, value, offset));
    return value;
}

template <typename Operation> __device__ float over_block(float value) {
    __shared__ float of_warps[32];
    value = over_warp<Operation>(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    unsigned lane = threadIdx.x % 32;
    value = lane < blockDim.x / 32 ? of_warps[lane] : Operation::start();
    return over_warp<Operation>(value);
}

// The softmax of each row, a block for a row. The exponentials stay in `y` until the sum is known.
__global__ void softmax(int columns, float scale, const float *x, float *y) {
    const float *from = x + (size_t)blockIdx.x * columns;
    float *to = y + (size_t)blockIdx.x * columns;
    float most = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, from[i]);
    most = over_block<Most>(most);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float e = expf(scale * (from[i] - most));
        to[i] = e;
        sum += e;
    }
    float inverse = 1.0f / over_block<Sum>(sum);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] *= inverse;
}

// Layer norm, a warp for a row; the mean and the deviation are kept for the backward pass.
__global__ void layer_norm(int columns, const float2 *x, const float2 *weight, const float2 *bias,
                           float2 *y, float *means, float *inverses) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int pairs = columns / 2;
    const float2 *from = x + (size_t)row * pairs;
    float sum = 0, squares = 0;
    for (int i = lane; i < pairs; i += 32) sum += from[i].x + from[i].y;
    float mean = over_warp<Sum>(sum) / columns;
    for (int i = lane; i < pairs; i += 32) {
        float u = from[i].x - mean, v = from[i].y - mean;
        squares += u * u + v * v;
    }
    float inverse = rsqrtf(over_warp<Sum>(squares) / columns + 1e-5f);
    for (int i = lane; i < pairs; i += 32) {
        float2 v = from[i], w = weight[i], b = bias[i];
        v.x = (v.x - mean) * inverse * w.x + b.x;
        v.y = (v.y - mean) * inverse * w.y + b.y;
        __stcs(y + (size_t)row * pairs + i, v);
    }
    if (lane == 0) means[row] = mean, inverses[row] = inverse;
}

// Its gradients. The warps of a block share sums for the weights, which they add to the result.
__global__ void layer_norm_backward(int rows, int columns, const float *gradient, const float *x,
                                    const float *weight, const float *means, const float *inverses,
                                    float *of_x, float *of_weight, float *of_bias) {
    extern __shared__ float shared_sums[];
    float *weights = shared_sums, *biases = shared_sums + columns;
    for (int i = threadIdx.x; i < 2 * columns; i += blockDim.x) shared_sums[i] = 0;
    __syncthreads();
    int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int row = blockIdx.x * warps + threadIdx.x / 32; row < rows; row += gridDim.x * warps) {
        size_t first = (size_t)row * columns;
        float mean = means[row], inverse = inverses[row], sum = 0, product = 0;
        for (int i = lane; i < columns; i += 32) {
            float normal = (x[first + i] - mean) * inverse, g = weight[i] * gradient[first + i];
            sum += g;
            product += g * normal;
        }
        sum = over_warp<Sum>(sum) / columns;
        product = over_warp<Sum>(product) / columns;
        for (int i = lane; i < columns; i += 32) {
            float normal = (x[first + i] - mean) * inverse, g = gradient[first + i];
            atomicAdd(biases + i, g);
            atomicAdd(weights + i, normal * g);
            of_x[first + i] += (weight[i] * g - sum - normal * product) * inverse;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        atomicAdd(of_weight + i, weights[i]);
        atomicAdd(of_bias + i, biases[i]);
    }
}

// Attention of one query of 64 floats a head, to keys and values that eight heads share. A block
// for a head: eight lanes for a key, then all threads for the values.
__global__ void decode(int context, const float *queries, const half *keys, const half *values,
                       float *to) {
    extern __shared__ float scores[];
    __shared__ float query[64];
    int head = blockIdx.x, lane = threadIdx.x % 8;
    size_t first = (size_t)(head / 8) * context;
    if (threadIdx.x < 64) query[threadIdx.x] = queries[head * 64 + threadIdx.x] * 0.125f;
    __syncthreads();
    float most = -INFINITY, sum = 0;
    for (int k = threadIdx.x / 8; k < context; k += blockDim.x / 8) {
        uint4 words = ((const uint4 *)keys)[(first + k) * 8 + lane];
        const half2 *parts = (const half2 *)&words;
        float score = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 part = __half22float2(parts[i]);
            score += part.x * query[lane * 8 + 2 * i] + part.y * query[lane * 8 + 2 * i + 1];
        }
        for (int offset = 4; offset > 0; offset /= 2)
            score += __shfl_xor_sync(~0u, score, offset);
        if (lane == 0) scores[k] = score;
        most = fmaxf(most, score);
    }
    most = over_block<Most>(most);
    for (int k = threadIdx.x; k < context; k += blockDim.x) {
        float weight = __expf(scores[k] - most);
        scores[k] = weight;
        sum += weight;
    }
    float inverse = 1.0f / over_block<Sum>(sum);
    int pair = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    float2 result = make_float2(0, 0);
    for (int k = warp; k < context; k += warps) {
        float2 value = __half22float2(((const half2 *)values)[(first + k) * 32 + pair]);
        result.x += scores[k] * value.x;
        result.y += scores[k] * value.y;
    }
    __syncthreads();
    float2 *of_warps = (float2 *)scores;
    of_warps[threadIdx.x] = result;
    __syncthreads();
    if (warp > 0) return;
    for (int other = 1; other < warps; other++) {
        result.x += of_warps[other * 32 + pair].x;
        result.y += of_warps[other * 32 + pair].y;
    }
    *(float2 *)(to + head * 64 + 2 * pair) = make_float2(result.x * inverse, result.y * inverse);
}

// The gradients of the embeddings of tokens and of positions; a block for a token.
__global__ void embedding_backward(int channels, int positions, const unsigned *tokens,
                                   const float4 *gradient, float *of_tokens, float *of_positions) {
    unsigned token = tokens[blockIdx.x];
    float *token_row = of_tokens + (size_t)token * channels;
    float *position_row = of_positions + (size_t)(blockIdx.x % positions) * channels;
    for (int i = threadIdx.x; i < channels / 4; i += blockDim.x) {
        float4 g = gradient[(size_t)blockIdx.x * (channels / 4) + i];
        const float *part = &g.x;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            atomicAdd(token_row + 4 * i + k, part[k]);
            atomicAdd(position_row + 4 * i + k, part[k]);
        }
    }
}
