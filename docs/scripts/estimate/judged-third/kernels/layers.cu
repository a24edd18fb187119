// Layers of language models, for inference and for training.
#include <cuda_fp16.h>
typedef unsigned long long u64;

template <typename Operation>
__device__ float over_block(float value, float start, Operation operation) {
    __shared__ float of_warps[32];
    for (int offset = 16; offset > 0; offset /= 2)
        value = operation(value, __shfl_xor_sync(~0u, value, offset));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = start;
    for (unsigned i = 0; i < blockDim.x / 32; i++) value = operation(value, of_warps[i]);
    __syncthreads();
    return value;
}

__device__ float sum_of_block(float value) {
    return over_block(value, 0, [](float a, float b) { return a + b; });
}

// Adds x to the residual and writes its root mean square norm, a block for a row.
__global__ void rms_norm(int columns, const half *x, const half *weight, half *residual, half *y) {
    size_t first = (size_t)blockIdx.x * columns / 8;
    const uint4 *from = (const uint4 *)x + first, *scales = (const uint4 *)weight;
    uint4 *kept = (uint4 *)residual + first, *to = (uint4 *)y + first;
    float squares = 0;
    for (int i = threadIdx.x; i < columns / 8; i += blockDim.x) {
        uint4 a = from[i], b = kept[i];
        half2 *one = (half2 *)&a, *other = (half2 *)&b;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            other[k] = __hadd2(one[k], other[k]);
            float2 sum = __half22float2(other[k]);
            squares += sum.x * sum.x + sum.y * sum.y;
        }
        kept[i] = b;
    }
    float inverse = rsqrtf(sum_of_block(squares) / columns + 1e-5f);
    for (int i = threadIdx.x; i < columns / 8; i += blockDim.x) {
        uint4 a = kept[i], b = scales[i];
        half2 *values = (half2 *)&a, *weights = (half2 *)&b;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float2 value = __half22float2(values[k]), scale = __half22float2(weights[k]);
            values[k] = __floats2half2_rn(value.x * inverse * scale.x, value.y * inverse * scale.y);
        }
        to[i] = a;
    }
}

// The rotary embedding of heads of 128, in place: a block for a token. `turns` has cosine and sine.
__global__ void rotary(int heads, const unsigned *positions, const float2 *turns, half *q) {
    const float2 *of_token = turns + positions[blockIdx.x] * 64;
    half *token = q + (size_t)blockIdx.x * heads * 128;
    for (int i = threadIdx.x; i < heads * 64; i += blockDim.x) {
        half *at = token + i / 64 * 128 + i % 64;
        float2 turn = of_token[i % 64];
        float one = __half2float(at[0]), other = __half2float(at[64]);
        at[0] = __float2half(one * turn.x - other * turn.y);
        at[64] = __float2half(other * turn.x + one * turn.y);
    }
}

// The K largest of each row of positive numbers, largest first. Each thread keeps the K largest of
// its own in order, then the block takes the largest of all K times.
template <int K>
__global__ void top_k(unsigned columns, const float *x, float *values, unsigned *places) {
    __shared__ u64 of_warps[32];
    const float *row = x + (size_t)blockIdx.x * columns;
    u64 own[K] = {};
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) {
        u64 key = (u64)__float_as_uint(row[i]) << 32 | ~i;
        if (key <= own[K - 1]) continue;
        own[K - 1] = key;
#pragma unroll
        for (int k = K - 1; k > 0; k--)
            if (own[k] > own[k - 1]) {
                u64 less = own[k - 1];
                own[k - 1] = own[k], own[k] = less;
            }
    }
    for (int k = 0; k < K; k++) {
        u64 most = own[0];
        for (int offset = 16; offset > 0; offset /= 2)
            most = max(most, __shfl_xor_sync(~0u, most, offset));
        if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
        __syncthreads();
        most = 0;
        for (unsigned warp = 0; warp < blockDim.x / 32; warp++) most = max(most, of_warps[warp]);
        __syncthreads();
        if (own[0] != most) continue;
        values[blockIdx.x * K + k] = __uint_as_float((unsigned)(most >> 32));
        places[blockIdx.x * K + k] = ~(unsigned)most;
#pragma unroll
        for (int i = 0; i < K - 1; i++) own[i] = own[i + 1];
        own[K - 1] = 0;
    }
}

// The loss of each row and its gradient: the logarithm of the softmax at the target.
__global__ void cross_entropy(int columns, const float *logits, const unsigned *targets,
                              float *losses, float *gradient) {
    const float *row = logits + (size_t)blockIdx.x * columns;
    float *to = gradient + (size_t)blockIdx.x * columns, most = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        float value = row[i];
        if (value > most) {
            sum *= __expf(most - value);
            most = value;
        }
        sum += __expf(value - most);
    }
    float all = over_block(most, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
    sum = sum_of_block(sum * __expf(most - all));
    int target = targets[blockIdx.x];
    float inverse = 1 / sum;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        to[i] = __expf(row[i] - all) * inverse - (i == target ? 1 : 0);
    if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + all - row[target];
}

// Copies the keys and values of a token to its slot of a cache in pages of 16 slots. Heads have 128
// channels; the cache has 8 channels of all slots of a page together, and values by channel.
__global__ void cache_copy(int heads, const unsigned *slots, const half *keys, const half *values,
                           half *key_cache, half *value_cache) {
    unsigned slot = slots[blockIdx.x], page = slot / 16, place = slot % 16;
    size_t token = (size_t)blockIdx.x * heads * 128;
    for (int i = threadIdx.x; i < heads * 128; i += blockDim.x) {
        int head = i / 128, channel = i % 128;
        size_t first = ((size_t)page * heads + head) * 2048;
        key_cache[first + channel / 8 * 128 + place * 8 + channel % 8] = keys[token + i];
        value_cache[first + channel * 16 + place] = values[token + i];
    }
}

// A step of Adam with decay for many tensors. A chunk of 2048 weights has a start and a tensor.
__global__ void adam(float rate, float first_scale, float second_scale, const uint2 *chunks,
                     const float *decays, const float *gradient, float *weights, float *first,
                     float *second, half *copies) {
    uint2 chunk = chunks[blockIdx.x];
    float decay = decays[chunk.y];
    auto step = [&](float g, float &w, float &m, float &v) {
        m = 0.9f * m + 0.1f * g;
        v = 0.999f * v + 0.001f * g * g;
        w -= rate * (m * first_scale / (sqrtf(v * second_scale) + 1e-8f) + decay * w);
    };
    for (unsigned i = 4 * threadIdx.x; i < 2048; i += 4 * blockDim.x) {
        unsigned at = chunk.x + i;
        float4 g = *(const float4 *)(gradient + at), w = *(float4 *)(weights + at);
        float4 m = *(float4 *)(first + at), v = *(float4 *)(second + at);
        step(g.x, w.x, m.x, v.x);
        step(g.y, w.y, m.y, v.y);
        step(g.z, w.z, m.z, v.z);
        step(g.w, w.w, m.w, v.w);
        *(float4 *)(weights + at) = w;
        *(float4 *)(first + at) = m;
        *(float4 *)(second + at) = v;
        *(half2 *)(copies + at) = __floats2half2_rn(w.x, w.y);
        *(half2 *)(copies + at + 2) = __floats2half2_rn(w.z, w.w);
    }
}
