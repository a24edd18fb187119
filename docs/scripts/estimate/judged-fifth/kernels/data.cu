// Hashes, orders, searches and counts.
typedef unsigned long long u64;

__constant__ unsigned ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ unsigned turned(unsigned x, int by) { return __funnelshift_r(x, x, by); }

// SHA-256 of messages of `blocks` times 16 words without an end mark, a thread each. The words of
// all messages with the same place lie side by side.
__global__ void sha256(unsigned n, int blocks, const unsigned *messages, unsigned *hashes) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, w[16];
    unsigned hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int block = 0; block < blocks; block++) {
        unsigned s[8];
#pragma unroll
        for (int k = 0; k < 8; k++) s[k] = hash[k];
#pragma unroll
        for (int k = 0; k < 16; k++) w[k] = messages[(16 * block + k) * n + i];
#pragma unroll
        for (int k = 0; k < 64; k++) {
            if (k >= 16) {
                unsigned a = w[(k + 1) % 16], b = w[(k + 14) % 16];
                w[k % 16] += (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[(k + 9) % 16] +
                             (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
            }
            unsigned *t = s, a = t[0], e = t[4];
            unsigned one = t[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +
                           (e & t[5] ^ ~e & t[6]) + ROUNDS[k] + w[k % 16];
            unsigned two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +
                           (a & t[1] ^ a & t[2] ^ t[1] & t[2]);
            t[7] = t[6], t[6] = t[5], t[5] = e, t[4] = t[3] + one;
            t[3] = t[2], t[2] = t[1], t[1] = a, t[0] = one + two;
        }
#pragma unroll
        for (int k = 0; k < 8; k++) hash[k] += s[k];
    }
#pragma unroll
    for (int k = 0; k < 8; k++) hashes[k * n + i] = hash[k];
}

// Moves keys to the places of their lowest four bits, in their old order, four keys a thread.
// `offsets` has the first place of each digit for each block, digits first. The lanes with the same
// digit are found by `match` or by votes.
template <bool MATCH>
__global__ void move_by_digit(const unsigned *keys, const unsigned *offsets, unsigned *to) {
    __shared__ unsigned next[16], of_warps[32][17];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = threadIdx.x;
    if (i < 16) next[i] = offsets[i * gridDim.x + blockIdx.x];
    for (int turn = 0; turn < 4; turn++) {
        unsigned key = keys[(blockIdx.x * 4 + turn) * blockDim.x + i], digit = key & 15;
        if (lane < 16) of_warps[warp][lane] = 0;
        __syncthreads();
        unsigned same = ~0u;
        if (MATCH) {
            same = __match_any_sync(~0u, digit);
        } else {
#pragma unroll
            for (int bit = 0; bit < 4; bit++) {
                bool set = digit >> bit & 1;
                unsigned votes = __ballot_sync(~0u, set);
                same &= set ? votes : ~votes;
            }
        }
        unsigned before = __popc(same & (1u << lane) - 1);
        if (before == 0) of_warps[warp][digit] = __popc(same);
        __syncthreads();
        if (i < 16) {
            unsigned sum = next[i];
            for (int k = 0; k < blockDim.x / 32; k++) {
                unsigned count = of_warps[k][i];
                of_warps[k][i] = sum;
                sum += count;
            }
            next[i] = sum;
        }
        __syncthreads();
        to[of_warps[warp][digit] + before] = key;
        __syncthreads();
    }
}

// How many of 2^levels - 1 sorted numbers are less than each key. They lie in order, or level by
// level of a tree.
template <bool TREE>
__global__ void count_less(int levels, const unsigned *numbers, const unsigned *keys,
                           unsigned *counts) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, key = keys[i], at = TREE;
    for (int level = levels - 1; level >= 0; level--)
        if (TREE) at = 2 * at + (numbers[at - 1] < key);
        else if (numbers[at + (1u << level) - 1] < key) at += 1u << level;
    counts[i] = TREE ? at - (1u << levels) : at;
}

// Triangles of a graph: common neighbours of the ends of each edge. Each vertex has a sorted list
// of later neighbours.
__global__ void triangles(unsigned edges, const unsigned *sources, const unsigned *starts,
                          const unsigned *targets, u64 *count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, common = 0;
    if (i < edges) {
        unsigned one = i + 1, last = starts[sources[i] + 1];
        unsigned other = starts[targets[i]], last_other = starts[targets[i] + 1];
        while (one < last && other < last_other) {
            unsigned a = targets[one], b = targets[other];
            common += a == b;
            one += a <= b;
            other += b <= a;
        }
    }
    common = __reduce_add_sync(~0u, common);
    if (threadIdx.x % 32 == 0 && common > 0) atomicAdd(count, (u64)common);
}

// The ways to place queens on the rows that are left. A board has the columns and both diagonals
// that are taken; a stack in shared memory has those of each row.
__global__ void queens(unsigned boards, int size, const uint4 *starts, u64 *count) {
    extern __shared__ uint4 stack[];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, ways = 0, all = (1u << size) - 1;
    if (i >= boards) return;
    uint4 board = starts[i];
    board.w = all & ~(board.x | board.y | board.z);
    int depth = 0;
    while (true) {
        if (board.w == 0) {
            if (depth == 0) break;
            board = stack[--depth * blockDim.x + threadIdx.x];
            continue;
        }
        unsigned place = board.w & -board.w, columns = board.x | place;
        board.w ^= place;
        if (columns == all) {
            ways++;
            continue;
        }
        stack[depth++ * blockDim.x + threadIdx.x] = board;
        board.x = columns, board.y = (board.y | place) << 1, board.z = (board.z | place) >> 1;
        board.w = all & ~(board.x | board.y | board.z);
    }
    if (ways > 0) atomicAdd(count, (u64)ways);
}

// Marks odd numbers that are not prime: a block has the bits of `words` words, a warp a prime and a
// lane its multiples.
__global__ void sieve(int words, int primes, const unsigned *divisors, unsigned *marks) {
    extern __shared__ unsigned bits[];
    unsigned lane = threadIdx.x % 32, first = blockIdx.x * words * 32, last = first + words * 32;
    for (int i = threadIdx.x; i < words; i += blockDim.x) bits[i] = 0;
    __syncthreads();
    for (int k = threadIdx.x / 32; k < primes; k += blockDim.x / 32) {
        unsigned prime = divisors[k], square = prime * prime / 2;
        if (square >= last) break;
        unsigned start = square;
        if (square < first) start = first + (prime - 1 - (first - square - 1) % prime);
        for (unsigned at = start + lane * prime; at < last; at += 32 * prime)
            atomicOr(bits + (at - first) / 32, 1u << at % 32);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < words; i += blockDim.x) marks[blockIdx.x * words + i] = bits[i];
}
