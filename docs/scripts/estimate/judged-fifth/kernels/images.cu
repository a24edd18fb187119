// Images.
typedef unsigned char u8;

// Edges that are one pixel wide: lengths of gradients that are larger than both neighbours' in
// their direction. Outside, the nearest pixel counts.
__global__ void find_edges(int n, int least, const u8 *from, u8 *to) {
    extern __shared__ short tiles[];
    int width = blockDim.x + 4, inner = blockDim.x + 2, height = blockDim.y + 4;
    short *pixels = tiles, *lengths = tiles + width * height;
    int left = blockIdx.x * blockDim.x, top = blockIdx.y * blockDim.y;
    int i = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    for (int k = i; k < width * height; k += threads) {
        int x = min(max(left + k % width - 2, 0), n - 1);
        int y = min(max(top + k / width - 2, 0), n - 1);
        pixels[k] = from[y * n + x];
    }
    __syncthreads();
    auto gradient = [&](int x, int y) {
        const short *row = pixels + y * width + x, *next = row + width, *last = next + width;
        return make_int2(row[2] + 2 * next[2] + last[2] - row[0] - 2 * next[0] - last[0],
                         last[0] + 2 * last[1] + last[2] - row[0] - 2 * row[1] - row[2]);
    };
    for (int k = i; k < inner * (height - 2); k += threads) {
        int2 slope = gradient(k % inner, k / inner);
        lengths[k] = abs(slope.x) + abs(slope.y);
    }
    __syncthreads();
    int2 slope = gradient(threadIdx.x + 1, threadIdx.y + 1);
    const short *own = lengths + (threadIdx.y + 1) * inner + threadIdx.x + 1;
    int across = abs(slope.x), down = abs(slope.y), step = inner;
    if (5 * down < 2 * across) step = 1;
    else if (5 * across >= 2 * down) step = (slope.x ^ slope.y) < 0 ? inner - 1 : inner + 1;
    bool edge = *own >= least && *own >= own[step] && *own > own[-step];
    to[(top + threadIdx.y) * n + left + threadIdx.x] = edge ? 255 : 0;
}

// Votes of points for the lines through them, of 64 angles: a thread for a point and votes in
// global memory, or a block for an angle and votes in shared memory. A point's word has a half for
// each coordinate.
template <bool SHARED>
__global__ void vote_for_lines(int count, int bins, const unsigned *points, const float2 *angles,
                               unsigned *votes) {
    extern __shared__ unsigned own[];
    auto bin = [&](unsigned point, float2 angle) {
        return (int)floorf(__fmaf_rn(point & 65535, angle.x, (point >> 16) * angle.y)) + bins / 2;
    };
    if (!SHARED) {
        unsigned point = points[blockIdx.x * blockDim.x + threadIdx.x];
        for (int k = 0; k < 64; k++) atomicAdd(votes + k * bins + bin(point, angles[k]), 1);
        return;
    }
    float2 angle = angles[blockIdx.x];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) atomicAdd(own + bin(points[i], angle), 1);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x) votes[blockIdx.x * bins + i] = own[i];
}

// LEVELS of a wavelet transform of whole numbers, two of each thread of a block: sums to the front
// and differences behind them.
template <int LEVELS> __global__ void wavelet(const int *from, int *to) {
    extern __shared__ int values[];
    int i = threadIdx.x;
    size_t first = (size_t)2 * blockIdx.x * blockDim.x;
    values[i] = from[first + i];
    values[i + blockDim.x] = from[first + blockDim.x + i];
    for (int level = 0, half = blockDim.x; level < LEVELS; level++, half /= 2) {
        int even = 0, difference = 0;
        __syncthreads();
        if (i < half) {
            even = values[2 * i];
            int next = i + 1 < half ? values[2 * i + 2] : even;
            difference = values[2 * i + 1] - (even + next >> 1);
        }
        __syncthreads();
        if (i < half) values[half + i] = difference;
        __syncthreads();
        if (i < half) values[i] = even + (values[half + max(i - 1, 0)] + difference + 2 >> 2);
    }
    __syncthreads();
    to[first + i] = values[i];
    to[first + blockDim.x + i] = values[i + blockDim.x];
}

// How far each pixel of four bytes moved to the left in the other image, by the least difference of
// squares of 5 by 5. Images have 4 more rows and 32 more columns.
template <bool TILED>
__global__ void find_shifts(int n, int shifts, const unsigned *one, const unsigned *other,
                            int *found) {
    extern __shared__ unsigned tile[];
    int left = blockIdx.x * blockDim.x, top = blockIdx.y * blockDim.y, row = n + 32;
    int wide = blockDim.x + 32, threads = blockDim.x * blockDim.y;
    unsigned of_one[25], least = ~0u;
    int best = 0, x = left + threadIdx.x, y = top + threadIdx.y;
#pragma unroll
    for (int k = 0; k < 25; k++) of_one[k] = one[(y + k / 5) * row + x + k % 5];
    for (int k = threadIdx.y * blockDim.x + threadIdx.x; TILED && k < wide * (blockDim.y + 4);
         k += threads)
        tile[k] = other[(top + k / wide) * row + left + k % wide];
    __syncthreads();
    const unsigned *from = TILED ? tile + threadIdx.y * wide + threadIdx.x : other + y * row + x;
    int step = TILED ? wide : row;
    for (int shift = 0; shift < shifts; shift++) {
        unsigned sum = 0;
#pragma unroll
        for (int k = 0; k < 25; k++)
            sum += __vsadu4(of_one[k], from[k / 5 * step + k % 5 + shift]);
        if (sum < least) least = sum, best = shift;
    }
    found[y * n + x] = best;
}

// Bright colours to bytes: each channel by a curve and a power.
template <bool FAST> __global__ void tone_map(float exposure, const float4 *from, uchar4 *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 pixel = from[i];
    auto mapped = [&](float light) {
        light *= exposure;
        light = light / (1 + light);
        float value = FAST ? __powf(light, 0.45454545f) : powf(light, 0.45454545f);
        return (u8)(255 * value + 0.5f);
    };
    to[i] = make_uchar4(mapped(pixel.x), mapped(pixel.y), mapped(pixel.z), 255);
}
