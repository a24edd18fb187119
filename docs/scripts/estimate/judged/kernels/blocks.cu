// Blocks whose threads, or which themselves, work together.

// Sorts two keys of each thread of a block.
__global__ void sort_blocks(unsigned *keys) {
    extern __shared__ unsigned part[];
    unsigned count = 2 * blockDim.x, first = blockIdx.x * count, thread = threadIdx.x;
    part[thread] = keys[first + thread];
    part[thread + blockDim.x] = keys[first + thread + blockDim.x];
    for (unsigned size = 2; size <= count; size *= 2)
        for (unsigned step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            unsigned low = 2 * thread - (thread & (step - 1));
            bool ascends = (low & size) == 0;
            unsigned one = part[low], other = part[low + step];
            if ((one > other) == ascends) part[low] = other, part[low + step] = one;
        }
    __syncthreads();
    keys[first + thread] = part[thread];
    keys[first + thread + blockDim.x] = part[thread + blockDim.x];
}

// A Fourier transform of two points of each thread of a block.
__global__ void transform(float2 *points) {
    extern __shared__ float2 wave[];
    unsigned count = 2 * blockDim.x, thread = threadIdx.x, bits = __ffs(count) - 1;
    float2 *own = points + (size_t)blockIdx.x * count;
    for (unsigned i = thread; i < count; i += blockDim.x) wave[__brev(i) >> (32 - bits)] = own[i];
    for (unsigned half = 1; half < count; half *= 2) {
        __syncthreads();
        unsigned k = thread & (half - 1), low = 2 * thread - k;
        float sine, cosine;
        __sincosf(-3.14159265f * k / half, &sine, &cosine);
        float2 a = wave[low], b = wave[low + half];
        float re = b.x * cosine - b.y * sine, im = b.x * sine + b.y * cosine;
        wave[low] = make_float2(a.x + re, a.y + im);
        wave[low + half] = make_float2(a.x - re, a.y - im);
    }
    __syncthreads();
    for (unsigned i = thread; i < count; i += blockDim.x) own[i] = wave[i];
}

// The sum of squares in double precision.
__global__ void squares(unsigned n, const double *x, double *sum) {
    __shared__ double of_warps[32];
    double mine = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i] * x[i];
    for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(~0u, mine, offset);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned warp = 1; warp < blockDim.x / 32; warp++) mine += of_warps[warp];
        atomicAdd(sum, mine);
    }
}

__device__ unsigned sum_before(unsigned value, unsigned *of_warps, unsigned &all) {
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = value;
    for (int offset = 1; offset < 32; offset *= 2) {
        unsigned other = __shfl_up_sync(~0u, sum, offset);
        if (lane >= offset) sum += other;
    }
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        unsigned of_warp = lane < blockDim.x / 32 ? of_warps[lane] : 0, total = of_warp;
        for (int offset = 1; offset < 32; offset *= 2) {
            unsigned other = __shfl_up_sync(~0u, total, offset);
            if (lane >= offset) total += other;
        }
        of_warps[lane] = total - of_warp;
        if (lane == 31) of_warps[32] = total;
    }
    __syncthreads();
    all = of_warps[32];
    return of_warps[warp] + sum - value;
}

// Sums of the elements before each one, within its block; four elements a thread.
__global__ void sums_of_blocks(const uint4 *x, uint4 *y, unsigned *totals) {
    __shared__ unsigned of_warps[33];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all;
    uint4 v = x[i];
    unsigned before = sum_before(v.x + v.y + v.z + v.w, of_warps, all);
    y[i] = make_uint4(before, before + v.x, before + v.x + v.y, before + v.x + v.y + v.z);
    if (threadIdx.x == 0) totals[blockIdx.x] = all;
}

// The same over all blocks: each waits for the sum of the block before it. `chain` is zero at first.
__global__ void sums_in_a_chain(const uint4 *x, uint4 *y, volatile unsigned *chain) {
    __shared__ unsigned of_warps[33], before_block;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all;
    uint4 v = x[i];
    unsigned before = sum_before((v.x & 7) + (v.y & 7) + (v.z & 7) + (v.w & 7), of_warps, all);
    if (threadIdx.x == 0) {
        unsigned known = 1;
        if (blockIdx.x > 0)
            while ((known = chain[blockIdx.x - 1]) == 0) {}
        chain[blockIdx.x] = known + all;
        before_block = known - 1;
    }
    __syncthreads();
    before += before_block;
    y[i] = make_uint4(before, before + (v.x & 7), before + (v.x & 7) + (v.y & 7), before + (v.x & 7) + (v.y & 7) + (v.z & 7));
}

// How often each of `bins` values occurs, counted in global memory.
__global__ void count_values(unsigned n, unsigned bins, const unsigned *x, unsigned *counts) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(counts + x[i] % bins, 1u);
}

// The same, in shared memory first; `bins` is at most 1024.
__global__ void count_in_blocks(unsigned n, unsigned bins, const unsigned *x, unsigned *counts) {
    __shared__ unsigned own[1024];
    for (unsigned i = threadIdx.x; i < bins; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(own + x[i] % bins, 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(counts + i, own[i]);
}

// Keeps the odd elements, in no order: a warp reserves places for its lanes.
__global__ void compact(unsigned n, const unsigned *x, unsigned *kept, unsigned *count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned value = i < n ? x[i] : 0;
    unsigned odd = __ballot_sync(~0u, value & 1), first = 0;
    if (lane == 0) first = atomicAdd(count, __popc(odd));
    first = __shfl_sync(~0u, first, 0);
    if (value & 1) kept[first + __popc(odd & ((1u << lane) - 1))] = value;
}

// Each row by its root mean square, a block for a row.
__global__ void normalize(unsigned columns, const float *x, const float *weight, float *y) {
    __shared__ float of_warps[32];
    const float *from = x + (size_t)blockIdx.x * columns;
    float sum = 0;
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) sum += from[i] * from[i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (unsigned warp = 0; warp < blockDim.x / 32; warp++) sum += of_warps[warp];
    float scale = rsqrtf(sum / columns + 1e-5f);
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x)
        y[(size_t)blockIdx.x * columns + i] = from[i] * scale * weight[i];
}

// Each row as bytes, scaled by its largest element; a warp for a row.
__global__ void quantize(unsigned columns, const float *x, signed char *bytes, float *scales) {
    unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float *from = x + (size_t)row * columns;
    float most = 0;
    for (unsigned i = lane; i < columns; i += 32) most = fmaxf(most, fabsf(from[i]));
    for (int offset = 16; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
    float scale = 127.0f / fmaxf(most, 1e-20f);
    for (unsigned i = lane; i < columns; i += 32)
        bytes[(size_t)row * columns + i] = (signed char)__float2int_rn(from[i] * scale);
    if (lane == 0) scales[row] = most / 127.0f;
}
