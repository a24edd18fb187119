// Tables, graphs, texts and genes.
typedef unsigned char u8;
typedef unsigned long long u64;

// A step of connected components: the higher label of an edge gets the lower one.
__global__ void hook(const uint2 *edges, const unsigned *labels, unsigned *next) {
    uint2 edge = edges[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned one = labels[edge.x], other = labels[edge.y];
    if (one == other) return;
    unsigned low = min(one, other), high = max(one, other);
    atomicMin(next + high, low);
}

// Local alignments with affine gaps, a warp for a pair: a lane has a column, and lanes follow each
// other by a row. The last column of a strip waits in shared memory for the next strip.
__global__ void align(int length, const u8 *queries, const u8 *targets, int *scores) {
    extern __shared__ int borders[];
    int pair = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int *last_scores = borders + threadIdx.x / 32 * 2 * length, *last_gaps = last_scores + length;
    const u8 *query = queries + pair * length, *target = targets + pair * length;
    const int NEVER = -1000000;
    int best = 0;
    for (int column = 0; column < length; column += 32) {
        int letter = query[column + lane], score = 0, across = NEVER, down = NEVER, corner = 0;
        for (int step = 0; step < length + 31; step++) {
            int left = __shfl_up_sync(~0u, score, 1), gap = __shfl_up_sync(~0u, across, 1);
            int row = step - lane;
            if (row < 0 || row >= length) continue;
            if (lane == 0) {
                left = column > 0 ? last_scores[row] : 0;
                gap = column > 0 ? last_gaps[row] : NEVER;
            }
            across = max(gap - 1, left - 3);
            down = max(down - 1, score - 3);
            score = max(max(0, corner + (letter == target[row] ? 2 : -1)), max(across, down));
            corner = left;
            best = max(best, score);
            if (lane == 31) last_scores[row] = score, last_gaps[row] = across;
        }
        __syncwarp();
    }
    best = __reduce_max_sync(~0u, best);
    if (lane == 0) scores[pair] = best;
}

// The nearest of some centres in shared memory for each point of SIZE coordinates.
template <int SIZE>
__global__ void assign(int count, const float *centres, const float *points, unsigned *nearest,
                       float *distances) {
    extern __shared__ float of_centres[];
    for (int i = threadIdx.x; i < count * SIZE; i += blockDim.x) of_centres[i] = centres[i];
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
    float own[SIZE], least = INFINITY;
#pragma unroll
    for (int k = 0; k < SIZE; k += 4) *(float4 *)(own + k) = *(const float4 *)&points[i * SIZE + k];
    for (int centre = 0; centre < count; centre++) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < SIZE; k++) {
            float difference = own[k] - of_centres[centre * SIZE + k];
            sum = fmaf(difference, difference, sum);
        }
        if (sum < least) least = sum, found = centre;
    }
    nearest[i] = found, distances[i] = least;
}

// Count, sum and largest value of each group: by block in shared memory, then by atomics.
__global__ void group_by(unsigned groups, const unsigned *keys, const unsigned *values,
                         unsigned *counts, u64 *sums, unsigned *largest) {
    extern __shared__ unsigned own[];
    for (unsigned i = threadIdx.x; i < 3 * groups; i += blockDim.x) own[i] = 0;
    __syncthreads();
    size_t first = (size_t)blockIdx.x * blockDim.x * 16 + threadIdx.x;
    for (int k = 0; k < 16; k++) {
        unsigned key = keys[first + k * blockDim.x], value = values[first + k * blockDim.x];
        atomicAdd(own + key, 1u);
        atomicAdd(own + groups + key, value);
        atomicMax(own + 2 * groups + key, value);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < groups; i += blockDim.x) {
        if (own[i] == 0) continue;
        atomicAdd(counts + i, own[i]);
        atomicAdd(sums + i, (u64)own[groups + i]);
        atomicMax(largest + i, own[2 * groups + i]);
    }
}

// Whether a Bloom filter with four hashes may have each key. `mask` is the number of bits less one.
__global__ void bloom_probe(unsigned mask, const u64 *keys, const unsigned *bits, u8 *found) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 hash = keys[i] * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93ull;
    unsigned at = (unsigned)hash, step = (unsigned)(hash >> 32) | 1;
    int probe = 0;
    for (; probe < 4; probe++, at += step)
        if ((bits[(at & mask) / 32] >> (at % 32) & 1) == 0) break;
    found[i] = probe == 4;
}

// Unpacks chunks of `size` bytes, a warp for each. A sequence has a number of literals, then a
// length (in the high half) and a distance of bytes that are repeated.
__global__ void unpack(int size, const unsigned *starts, const unsigned *literal_starts,
                       const uint2 *sequences, const u8 *literals, u8 *to) {
    unsigned chunk = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    u8 *out = to + (size_t)chunk * size;
    const u8 *from = literals + literal_starts[chunk];
    for (unsigned i = starts[chunk]; i < starts[chunk + 1]; i++) {
        uint2 sequence = sequences[i];
        unsigned count = sequence.x & 0xffff, length = sequence.x >> 16, distance = sequence.y;
        for (unsigned k = lane; k < count; k += 32) out[k] = from[k];
        __syncwarp();
        out += count, from += count;
        for (unsigned k = lane; k < length; k += 32) out[k] = *(out - distance + k % distance);
        __syncwarp();
        out += length;
    }
}

// How often eight bytes occur in a text: byte by byte, or at four places of three words at once.
template <bool WORDS>
__global__ void search(u64 pattern, const u8 *text, unsigned *count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, hits = 0;
    if (WORDS) {
        const unsigned *words = (const unsigned *)text + i;
        unsigned a = words[0], b = words[1], c = words[2];
#pragma unroll
        for (int shift = 0; shift < 32; shift += 8)
            hits += __funnelshift_r(a, b, shift) == (unsigned)pattern &&
                    __funnelshift_r(b, c, shift) == (unsigned)(pattern >> 32);
    } else {
        int k = 0;
        while (k < 8 && text[i + k] == (u8)(pattern >> (8 * k))) k++;
        hits = k == 8;
    }
    hits = __reduce_add_sync(~0u, hits);
    if (threadIdx.x % 32 == 0 && hits > 0) atomicAdd(count, hits);
}
