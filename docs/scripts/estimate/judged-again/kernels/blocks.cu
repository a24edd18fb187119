// Sorting, scans, sums, tables and the order of data.

// The digits of a tile of keys, as in a pass of a radix sort. Digits first, then blocks.
template <int ITEMS>
__global__ void digit_counts(unsigned shift, const unsigned *keys, unsigned *counts) {
    __shared__ unsigned own[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
    __syncthreads();
    const unsigned *tile = keys + (size_t)blockIdx.x * blockDim.x * ITEMS;
    unsigned items[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) items[i] = tile[i * blockDim.x + threadIdx.x];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) atomicAdd(own + (items[i] >> shift & 255), 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        counts[i * gridDim.x + blockIdx.x] = own[i];
}

// Sums up to each element in one pass: a block publishes its own sum, and its first warp looks
// back at the blocks before it, 32 at once. `states` and `ticket` are zero at first.
template <int ITEMS>
__global__ void look_back(const unsigned *x, unsigned *y, volatile unsigned long long *states,
                          unsigned *ticket) {
    __shared__ unsigned of_warps[32], tile, before_block;
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
    __syncthreads();
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    size_t first = ((size_t)tile * blockDim.x + threadIdx.x) * ITEMS;
    unsigned items[ITEMS], own = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; i += 4) {
        uint4 v = *(const uint4 *)(x + first + i);
        items[i] = own += v.x, items[i + 1] = own += v.y;
        items[i + 2] = own += v.z, items[i + 3] = own += v.w;
    }
    unsigned sum = own;
    for (int offset = 1; offset < 32; offset *= 2) {
        unsigned other = __shfl_up_sync(~0u, sum, offset);
        if (lane >= offset) sum += other;
    }
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        unsigned total = lane < warps ? of_warps[lane] : 0;
        for (int offset = 1; offset < 32; offset *= 2) {
            unsigned other = __shfl_up_sync(~0u, total, offset);
            if (lane >= offset) total += other;
        }
        of_warps[lane] = total;
        unsigned all = __shfl_sync(~0u, total, 31), before = 0;
        const unsigned long long SUM = 1ull << 32, PREFIX = 2ull << 32;
        if (lane == 0) states[tile] = (tile == 0 ? PREFIX : SUM) | all;
        for (int last = (int)tile - 1; last >= 0; last -= 32) {
            int at = last - (int)lane;
            unsigned long long state = PREFIX;
            if (at >= 0)
                while ((state = states[at]) == 0) {}
            unsigned prefixes = __ballot_sync(~0u, state >= PREFIX);
            unsigned used = prefixes == 0 ? 31 : __ffs(prefixes) - 1;
            unsigned part = lane <= used ? (unsigned)state : 0;
            for (int offset = 16; offset > 0; offset /= 2)
                part += __shfl_xor_sync(~0u, part, offset);
            before += part;
            if (prefixes != 0) break;
        }
        if (lane == 0) {
            if (tile > 0) states[tile] = PREFIX | (before + all);
            before_block = before;
        }
    }
    __syncthreads();
    unsigned before = before_block + (warp > 0 ? of_warps[warp - 1] : 0) + sum - own;
#pragma unroll
    for (int i = 0; i < ITEMS; i += 4)
        *(uint4 *)(y + first + i) = make_uint4(before + items[i], before + items[i + 1],
                                               before + items[i + 2], before + items[i + 3]);
}

// The sum of n numbers. Without VECTORS: a tree in shared memory for each block, and an atomic.
// With them: a fixed grid, four elements a load, shuffles, and the last block adds the parts.
template <bool VECTORS>
__global__ void reduce(unsigned n, const unsigned *x, unsigned *parts, unsigned *done,
                       unsigned *sum) {
    extern __shared__ unsigned tree[];
    unsigned thread = threadIdx.x, mine = 0;
    if (!VECTORS) {
        unsigned i = 2 * blockIdx.x * blockDim.x + thread;
        tree[thread] = x[i] + x[i + blockDim.x];
        for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
            __syncthreads();
            if (thread < step) tree[thread] += tree[thread + step];
        }
        if (thread == 0) atomicAdd(sum, tree[0]);
        return;
    }
    auto over_block = [&](unsigned value) {
        value = __reduce_add_sync(~0u, value);
        if (thread % 32 == 0) tree[thread / 32] = value;
        __syncthreads();
        value = thread < blockDim.x / 32 ? tree[thread] : 0;
        if (thread < 32) value = __reduce_add_sync(~0u, value);
        __syncthreads();
        return value;
    };
    for (unsigned i = blockIdx.x * blockDim.x + thread; i < n / 4; i += gridDim.x * blockDim.x) {
        uint4 v = ((const uint4 *)x)[i];
        mine += v.x + v.y + v.z + v.w;
    }
    mine = over_block(mine);
    if (thread == 0) {
        parts[blockIdx.x] = mine;
        __threadfence();
        tree[0] = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (tree[0] == 0) return;
    __syncthreads();
    mine = 0;
    for (unsigned i = thread; i < gridDim.x; i += blockDim.x) mine += __ldcg(parts + i);
    mine = over_block(mine);
    if (thread == 0) *sum = mine;
}

// One step of a bitonic sort in global memory: pairs of keys `distance` apart, with their values.
__global__ void bitonic_step(unsigned distance, unsigned size, unsigned *keys, unsigned *values) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned low = 2 * i - (i & (distance - 1)), high = low + distance;
    unsigned one = keys[low], other = keys[high];
    if ((one > other) == ((low & size) == 0)) {
        keys[low] = other, keys[high] = one;
        unsigned value = values[low];
        values[low] = values[high], values[high] = value;
    }
}

__device__ unsigned long long mixed(unsigned long long key) {
    key = (key ^ key >> 33) * 0xff51afd7ed558ccdull;
    key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ull;
    return key ^ key >> 33;
}

// Counts keys in a hash table with open addressing. Zero is an empty place.
__global__ void insert(unsigned n, unsigned mask, const unsigned long long *keys,
                       unsigned long long *table, unsigned *counts) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long key = keys[i];
    for (unsigned at = (unsigned)mixed(key) & mask;; at = (at + 1) & mask) {
        unsigned long long found = atomicCAS(table + at, 0ull, key);
        if (found == 0 || found == key) {
            atomicAdd(counts + at, 1u);
            return;
        }
    }
}

// The transpose of a square of n by n, by tiles of 32 by 32: through shared memory or directly.
template <bool TILED> __global__ void transpose(unsigned n, const float *from, float *to) {
    __shared__ float tile[32][33];
    unsigned left = blockIdx.x * 32, top = blockIdx.y * 32, x = threadIdx.x;
    for (unsigned y = threadIdx.y; y < 32; y += blockDim.y) {
        float value = from[(top + y) * n + left + x];
        if (TILED) tile[y][x] = value;
        else to[(left + x) * n + top + y] = value;
    }
    if (!TILED) return;
    __syncthreads();
    for (unsigned y = threadIdx.y; y < 32; y += blockDim.y)
        to[(left + y) * n + top + x] = tile[x][y];
}

// Records of FIELDS floats, read in a given order, to an array for each field.
template <int FIELDS>
__global__ void split_records(unsigned n, const unsigned *order, const float *records,
                              float *fields) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float *record = records + (size_t)order[i] * FIELDS;
#pragma unroll
    for (int field = 0; field < FIELDS; field++) fields[(size_t)field * n + i] = record[field];
}
