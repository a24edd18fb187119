// Layers of networks, for texts and for images.
#include <cuda_fp16.h>

__device__ unsigned packed(float low, float high) {
    half2 both = __floats2half2_rn(low, high);
    return *(unsigned *)&both;
}

// sum += a b of 16 by 16 and 16 by 8 halves.
__device__ void add_product(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Causal attention over the last `window` tokens, in heads of 64 channels. A warp has 16 queries
// and keeps scores and sums in registers; 32 keys and values at a time lie in shared memory.
template <int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    window_attention(int tokens, int window, const half *queries, const half *keys,
                     const half *values, half *to) {
    constexpr int KEYS = 32, PITCH = 72;
    __shared__ __align__(16) half of_keys[KEYS][PITCH], of_values[KEYS][PITCH];
    int lane = threadIdx.x % 32, pair = lane % 4 * 2, start = blockIdx.x * 16 * WARPS;
    int row = start + threadIdx.x / 32 * 16 + lane / 4;
    size_t head = (size_t)blockIdx.y * tokens * 64;
    unsigned query[4][4];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        int channel = i / 4 * 16 + i % 4 / 2 * 8 + pair;
        query[i / 4][i % 4] = *(const unsigned *)&queries[head + (row + i % 2 * 8) * 64 + channel];
    }
    float sums[8][4] = {}, most[2] = {-1e30f, -1e30f}, total[2] = {};
    int first = max(start - window + 1, 0) / KEYS * KEYS;
    for (int key = first; key < start + 16 * WARPS; key += KEYS) {
        __syncthreads();
        for (int i = threadIdx.x; i < KEYS * 8; i += blockDim.x) {
            size_t from = head + (key + i / 8) * 64 + i % 8 * 8;
            *(uint4 *)&of_keys[i / 8][i % 8 * 8] = *(const uint4 *)&keys[from];
            *(uint4 *)&of_values[i / 8][i % 8 * 8] = *(const uint4 *)&values[from];
        }
        __syncthreads();
        float scores[4][4] = {}, peak[2] = {most[0], most[1]};
#pragma unroll
        for (int t = 0; t < 4; t++) {
#pragma unroll
            for (int d = 0; d < 4; d++) {
                const half *line = &of_keys[8 * t + lane / 4][16 * d + pair];
                add_product(scores[t], query[d], *(const unsigned *)line,
                            *(const unsigned *)(line + 8));
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int distance = row + i / 2 * 8 - (key + 8 * t + pair + i % 2);
                bool seen = distance >= 0 && distance < window;
                scores[t][i] = seen ? scores[t][i] * 0.18033688f : -1e30f;
                peak[i / 2] = fmaxf(peak[i / 2], scores[t][i]);
            }
        }
#pragma unroll
        for (int side = 0; side < 2; side++) {
            peak[side] = fmaxf(peak[side], __shfl_xor_sync(~0u, peak[side], 1));
            peak[side] = fmaxf(peak[side], __shfl_xor_sync(~0u, peak[side], 2));
            float scale = exp2f(most[side] - peak[side]);
            most[side] = peak[side], total[side] *= scale;
#pragma unroll
            for (int i = 0; i < 16; i++) sums[i / 2][2 * side + i % 2] *= scale;
        }
#pragma unroll
        for (int i = 0; i < 16; i++) {
            float &score = scores[i / 4][i % 4];
            score = exp2f(score - most[i % 4 / 2]);
            total[i % 4 / 2] += score;
        }
#pragma unroll
        for (int t = 0; t < 4; t += 2) {
            unsigned share[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const float *two = &scores[t + i / 2][i % 2 * 2];
                share[i] = packed(two[0], two[1]);
            }
            const half *line = &of_values[8 * t + lane % 16][0];
#pragma unroll
            for (int d = 0; d < 8; d++) {
                unsigned b0, b1, at = (unsigned)__cvta_generic_to_shared(line + 8 * d);
                asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                             : "=r"(b0), "=r"(b1) : "r"(at));
                add_product(sums[d], share, b0, b1);
            }
        }
    }
#pragma unroll
    for (int side = 0; side < 2; side++) {
        total[side] += __shfl_xor_sync(~0u, total[side], 1);
        total[side] += __shfl_xor_sync(~0u, total[side], 2);
        float inverse = 1 / total[side];
        half *line = to + head + (row + 8 * side) * 64 + pair;
#pragma unroll
        for (int d = 0; d < 8; d++)
            *(unsigned *)(line + 8 * d) =
                packed(sums[d][2 * side] * inverse, sums[d][2 * side + 1] * inverse);
    }
}

// The product of a matrix of four bits and TOKENS vectors, a warp for a row. The matrix has a scale
// for 128 columns. Column 2 k of eight is number k of a word, and column 2 k + 1 is number k + 4.
template <int TOKENS>
__global__ void nibble_product(int rows, int columns, const uint4 *matrix, const half *scales,
                               const half *x, float *y) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const half2 offset = __half2half2(__ushort_as_half(0x6408));
    float sums[TOKENS] = {};
    for (int at = lane; at < columns / 32; at += 32) {
        uint4 numbers = matrix[row * (columns / 32) + at];
        unsigned words[4] = {numbers.x, numbers.y, numbers.z, numbers.w};
        float scale = __half2float(scales[row * (columns / 128) + at / 4]);
        half2 parts[TOKENS] = {};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint4 of_x[TOKENS];
#pragma unroll
            for (int token = 0; token < TOKENS; token++)
                of_x[token] = *(const uint4 *)&x[token * columns + 32 * at + 8 * i];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                unsigned two = (words[i] >> 4 * k & 0x000f000f) | 0x64006400;
                half2 weight = __hsub2(*(half2 *)&two, offset);
#pragma unroll
                for (int token = 0; token < TOKENS; token++)
                    parts[token] = __hfma2(weight, ((half2 *)&of_x[token])[k], parts[token]);
            }
        }
#pragma unroll
        for (int token = 0; token < TOKENS; token++) {
            float2 part = __half22float2(parts[token]);
            sums[token] += scale * (part.x + part.y);
        }
    }
#pragma unroll
    for (int token = 0; token < TOKENS; token++) {
        for (int offset = 16; offset > 0; offset /= 2)
            sums[token] += __shfl_xor_sync(~0u, sums[token], offset);
        if (lane == 0) y[token * rows + row] = sums[token];
    }
}

// A convolution of images with SIZE by SIZE weights and zeros around. A thread computes one place
// of eight channels; a tile of one channel at a time lies in shared memory.
template <int SIZE>
__global__ void convolve_channels(int n, int channels, const float *from, const float *weights,
                                  float *to) {
    extern __shared__ float tile[];
    __shared__ float of_tile[SIZE * SIZE][8];
    int left = blockIdx.x * blockDim.x, top = blockIdx.y * blockDim.y;
    int pitch = blockDim.x + SIZE - 1;
    int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    float sums[8] = {};
    for (int channel = 0; channel < channels; channel++) {
        __syncthreads();
        for (int i = thread; i < pitch * (blockDim.y + SIZE - 1); i += threads) {
            int x = left + i % pitch - SIZE / 2, y = top + i / pitch - SIZE / 2;
            bool inside = x >= 0 && x < n && y >= 0 && y < n;
            tile[i] = inside ? from[(channel * n + y) * n + x] : 0;
        }
        for (int i = thread; i < 8 * SIZE * SIZE; i += threads) {
            int filter = (8 * blockIdx.z + i % 8) * channels + channel;
            of_tile[i / 8][i % 8] = weights[filter * SIZE * SIZE + i / 8];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < SIZE * SIZE; k++) {
            float value = tile[(threadIdx.y + k / SIZE) * pitch + threadIdx.x + k % SIZE];
#pragma unroll
            for (int i = 0; i < 8; i++) sums[i] += value * of_tile[k][i];
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        to[((8 * blockIdx.z + i) * n + top + threadIdx.y) * n + left + threadIdx.x] = sums[i];
}

// A layer with a state: a thread has a channel of a text and goes along the text. The rates at
// which STATES numbers decay and grow depend on the token.
template <int STATES>
__global__ void scan_states(int length, int channels, const float *x, const float *steps,
                            const float *rates, const float *in, const float *out, float *y) {
    constexpr int TOKENS = 16;
    __shared__ float tile_in[TOKENS * STATES], tile_out[TOKENS * STATES];
    int channel = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * length;
    float rate[STATES], state[STATES] = {};
#pragma unroll
    for (int k = 0; k < STATES; k++) rate[k] = rates[k * channels + channel];
    for (int token = first; token < first + length; token += TOKENS) {
        __syncthreads();
        for (int i = threadIdx.x; i < TOKENS * STATES; i += blockDim.x) {
            tile_in[i] = in[token * STATES + i];
            tile_out[i] = out[token * STATES + i];
        }
        __syncthreads();
        for (int t = 0; t < TOKENS; t++) {
            int at = (token + t) * channels + channel;
            float step = log1pf(__expf(steps[at])), more = step * x[at], sum = 0;
#pragma unroll
            for (int k = 0; k < STATES; k++) {
                float decay = __expf(-step * rate[k]);
                state[k] = decay * state[k] + more * tile_in[t * STATES + k];
                sum += state[k] * tile_out[t * STATES + k];
            }
            y[at] = sum;
        }
    }
}

// Features of points from a grid for each level, in tables by hash: two halves a corner, between
// which each point interpolates. `mask` is the length of a table less one.
__global__ void encode_points(unsigned points, unsigned mask, const float *places,
                              const half *tables, half *to) {
    const unsigned widths[8] = {16, 24, 36, 54, 81, 121, 182, 273};
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, width = widths[blockIdx.y], low[3];
    float part[3];
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        float place = places[3 * i + axis] * (width - 1);
        low[axis] = (unsigned)place;
        part[axis] = place - low[axis];
    }
    bool fits = width * width * width <= mask;
    const half2 *table = (const half2 *)tables + (size_t)blockIdx.y * (mask + 1);
    float2 sum = make_float2(0, 0);
#pragma unroll
    for (int corner = 0; corner < 8; corner++) {
        unsigned at[3];
        float weight = 1;
#pragma unroll
        for (int axis = 0; axis < 3; axis++) {
            int next = corner >> axis & 1;
            at[axis] = low[axis] + next;
            weight *= next ? part[axis] : 1 - part[axis];
        }
        unsigned dense = (at[2] * width + at[1]) * width + at[0];
        unsigned hash = (at[0] ^ at[1] * 2654435761u ^ at[2] * 805459861u) & mask;
        float2 features = __half22float2(table[fits ? dense : hash]);
        sum.x += weight * features.x, sum.y += weight * features.y;
    }
    ((half2 *)to)[blockIdx.y * points + i] = __floats2half2_rn(sum.x, sum.y);
}
