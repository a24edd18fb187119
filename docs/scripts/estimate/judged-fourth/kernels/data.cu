// Searches, sketches and models of data.
typedef unsigned char u8;
typedef unsigned long long u64;

// The mean vote of full decision trees, a sample a thread. A node, counted from 1, has a feature
// and the bits of a bound. The values of all samples with the same feature lie side by side.
__global__ void vote(unsigned n, int trees, int depth, const uint2 *nodes, const float *leaves,
                     const float *samples, float *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int tree = 0; tree < trees; tree++) {
        unsigned node = 1;
        for (int level = 0; level < depth; level++) {
            uint2 test = nodes[(tree << depth) + node];
            node = 2 * node + (samples[test.x * n + i] > __uint_as_float(test.y));
        }
        sum += leaves[(tree << depth) + node - (1 << depth)];
    }
    to[i] = sum / trees;
}

// How many of the first `diagonal` merged keys are from the first list.
__device__ unsigned split(const unsigned *a, unsigned of_a, const unsigned *b, unsigned of_b,
                          unsigned diagonal) {
    unsigned low = diagonal > of_b ? diagonal - of_b : 0, high = min(diagonal, of_a);
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Merges two sorted lists of n keys. A block finds its parts of both, and a thread merges ITEMS.
template <int ITEMS>
__global__ void merge_lists(unsigned n, const unsigned *a, const unsigned *b, unsigned *to) {
    extern __shared__ unsigned keys[];
    __shared__ unsigned ends[2];
    unsigned tile = blockDim.x * ITEMS, first = blockIdx.x * tile, last = min(first + tile, 2 * n);
    if (threadIdx.x < 2) ends[threadIdx.x] = split(a, n, b, n, threadIdx.x == 0 ? first : last);
    __syncthreads();
    unsigned of_a = ends[1] - ends[0], total = last - first, of_b = total - of_a;
    for (unsigned i = threadIdx.x; i < total; i += blockDim.x)
        keys[i] = i < of_a ? a[ends[0] + i] : b[first - ends[0] + i - of_a];
    __syncthreads();
    unsigned at = min(threadIdx.x * ITEMS, total), own[ITEMS];
    unsigned one = split(keys, of_a, keys + of_a, of_b, at), other = of_a + at - one;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        bool first = other >= total || (one < of_a && keys[one] <= keys[other]);
        own[k] = keys[min(first ? one : other, total - 1)];
        if (first) one++;
        else other++;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (at + k < total) keys[at + k] = own[k];
    __syncthreads();
    for (unsigned i = threadIdx.x; i < total; i += blockDim.x) to[first + i] = keys[i];
}

// A sketch of the number of different keys: the longest run of zeros in hashes, by their first BITS
// bits. A block collects 32 keys a thread in shared memory.
template <int BITS> __global__ void sketch(const ulonglong2 *keys, unsigned *to) {
    __shared__ unsigned runs[1 << BITS];
    for (unsigned i = threadIdx.x; i < 1 << BITS; i += blockDim.x) runs[i] = 0;
    __syncthreads();
    auto add = [&](u64 key) {
        key = (key ^ key >> 33) * 0xff51afd7ed558ccdull;
        key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53ull;
        key ^= key >> 33;
        unsigned run = __clzll(key << BITS | 1ull << (BITS - 1)) + 1;
        atomicMax(runs + (key >> (64 - BITS)), run);
    };
    const ulonglong2 *own = keys + (size_t)blockIdx.x * 16 * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; k++) {
        ulonglong2 two = own[k * blockDim.x];
        add(two.x);
        add(two.y);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 1 << BITS; i += blockDim.x)
        if (runs[i] > 0) atomicMax(to + i, runs[i]);
}

__device__ int differing(uint4 a, uint4 b) {
    return __popc(a.x ^ b.x) + __popc(a.y ^ b.y) + __popc(a.z ^ b.z) + __popc(a.w ^ b.w);
}

// The nearest of `count` bit strings to each query, or none if the second nearest is hardly worse.
// Strings have 256 bits.
__global__ void match_bits(int count, const uint4 *strings, const uint4 *queries, int *matches) {
    __shared__ uint4 tile[2 * 64];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 low = queries[2 * i], high = queries[2 * i + 1];
    int best = 257, next = 257, found = -1;
    for (int first = 0; first < count; first += 64) {
        __syncthreads();
        for (int k = threadIdx.x; k < 2 * 64; k += blockDim.x) tile[k] = strings[2 * first + k];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 64; k++) {
            int bits = differing(low, tile[2 * k]) + differing(high, tile[2 * k + 1]);
            if (bits < best) {
                next = best, best = bits, found = first + k;
            } else if (bits < next) {
                next = bits;
            }
        }
    }
    matches[i] = 10 * best < 9 * next ? found : -1;
}

// The best paths through a model with STATES hidden states, as far as the scores of the last states
// and the source of each. A thread has a state of a text; both rows of scores are in shared memory.
template <int STATES>
__global__ void viterbi(int length, const float *changes, const float *emissions, const u8 *texts,
                        u8 *sources, float *scores) {
    extern __shared__ float rows[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, state = i % STATES;
    const u8 *text = texts + i / STATES * length;
    u8 *to = sources + i / STATES * length * STATES + state;
    float own[STATES], *now = rows + threadIdx.x - state, *next = now + blockDim.x;
#pragma unroll
    for (int k = 0; k < STATES; k++) own[k] = changes[k * STATES + state];
    float score = emissions[text[0] * STATES + state];
    for (int t = 1; t < length; t++) {
        now[state] = score;
        __syncthreads();
        float best = -INFINITY;
        int from = 0;
#pragma unroll
        for (int k = 0; k < STATES; k++) {
            float other = now[k] + own[k];
            if (other > best) best = other, from = k;
        }
        score = best + emissions[text[t] * STATES + state];
        to[t * STATES] = from;
        float *row = now;
        now = next, next = row;
    }
    scores[i] = score;
}
