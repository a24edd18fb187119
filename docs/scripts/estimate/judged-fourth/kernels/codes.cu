// Codes and texts.
typedef unsigned char u8;
typedef unsigned long long u64;

// CRC-32 of messages, a thread each: byte by byte with one table, or words with four. The words of
// all messages with the same place lie side by side.
template <bool WORDS>
__global__ void crc(unsigned n, int words, const unsigned *messages, unsigned *sums) {
    __shared__ unsigned tables[4][256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned sum = i;
#pragma unroll
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
        tables[0][i] = sum;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; WORDS && i < 256; i += blockDim.x) {
        unsigned sum = tables[0][i];
        for (int k = 1; k < 4; k++) {
            sum = sum >> 8 ^ tables[0][sum & 255];
            tables[k][i] = sum;
        }
    }
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sum = ~0u;
    for (int k = 0; k < words; k++) {
        sum ^= messages[k * n + i];
        if (WORDS) {
            sum = tables[3][sum & 255] ^ tables[2][sum >> 8 & 255] ^ tables[1][sum >> 16 & 255] ^
                  tables[0][sum >> 24];
        } else {
#pragma unroll
            for (int byte = 0; byte < 4; byte++) sum = sum >> 8 ^ tables[0][sum & 255];
        }
    }
    sums[i] = ~sum;
}

// Unpacks frames of 128 differences, a warp each. All differences of a frame have the same number
// of bits, at most 24, and their sign in the lowest one.
__global__ void unpack_deltas(const unsigned *starts, const int *bases, const unsigned *words,
                              int4 *to) {
    unsigned frame = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned start = starts[frame], width = (starts[frame + 1] - start) / 4;
    const unsigned *packed = words + start;
    int values[4], sum = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        unsigned bit = (4 * lane + k) * width;
        unsigned value = __funnelshift_r(packed[bit / 32], packed[bit / 32 + 1], bit % 32);
        value &= (1u << width) - 1;
        sum += (int)(value >> 1) ^ -(int)(value & 1);
        values[k] = sum;
    }
    int before = sum;
    for (int offset = 1; offset < 32; offset *= 2) {
        int other = __shfl_up_sync(~0u, before, offset);
        if (lane >= offset) before += other;
    }
    before += bases[frame] - sum;
    to[32 * frame + lane] = make_int4(before + values[0], before + values[1], before + values[2],
                                      before + values[3]);
}

__constant__ unsigned changes[8];

// Four bits of `after` for each state: first one change of states, then the other.
template <int STATES> __device__ unsigned chained(unsigned one, unsigned after) {
    unsigned both = 0;
#pragma unroll
    for (int state = 0; state < 4 * STATES; state += 4)
        both |= (after >> 4 * (one >> state & 15) & 15) << state;
    return both;
}

// Runs a machine over texts of a block each, 64 bytes a thread, and counts how often it is in the
// last state. Each thread first computes the change of every state by its bytes.
template <int STATES>
__global__ void run_machine(const u8 *classes, const uint4 *text, unsigned *counts) {
    __shared__ u8 of_bytes[256];
    __shared__ unsigned of_warps[32];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) of_bytes[i] = classes[i];
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned all = 0x76543210;
    unsigned words[16];
#pragma unroll
    for (int k = 0; k < 4; k++) *(uint4 *)(words + 4 * k) = text[4 * i + k];
#pragma unroll
    for (int k = 0; k < 16; k++)
        for (int byte = 0; byte < 32; byte += 8)
            all = chained<STATES>(all, changes[of_bytes[words[k] >> byte & 255]]);
    for (int offset = 1; offset < 32; offset *= 2) {
        unsigned other = __shfl_up_sync(~0u, all, offset);
        if (lane >= offset) all = chained<STATES>(other, all);
    }
    if (lane == 31) of_warps[threadIdx.x / 32] = all;
    __syncthreads();
    unsigned state = 0, count = 0;
    for (unsigned warp = 0; warp < threadIdx.x / 32; warp++)
        state = of_warps[warp] >> 4 * state & 15;
    all = __shfl_up_sync(~0u, all, 1);
    if (lane > 0) state = all >> 4 * state & 15;
#pragma unroll
    for (int k = 0; k < 16; k++)
        for (int byte = 0; byte < 32; byte += 8) {
            state = changes[of_bytes[words[k] >> byte & 255]] >> 4 * state & 15;
            count += state == STATES - 1;
        }
    counts[i] = count;
}

// The cosine transform of eight values.
__device__ void transform(float *x) {
    float a = x[0] + x[7], b = x[1] + x[6], c = x[2] + x[5], d = x[3] + x[4];
    float e = x[0] - x[7], f = x[1] - x[6], g = x[2] - x[5], h = x[3] - x[4];
    x[0] = 0.353553391f * (a + d + b + c);
    x[4] = 0.353553391f * (a + d - b - c);
    x[2] = 0.461939766f * (a - d) + 0.191341716f * (b - c);
    x[6] = 0.191341716f * (a - d) - 0.461939766f * (b - c);
    x[1] = 0.490392640f * e + 0.415734806f * f + 0.277785117f * g + 0.097545161f * h;
    x[3] = 0.415734806f * e - 0.097545161f * f - 0.490392640f * g - 0.277785117f * h;
    x[5] = 0.277785117f * e - 0.490392640f * f + 0.097545161f * g + 0.415734806f * h;
    x[7] = 0.097545161f * e - 0.277785117f * f + 0.415734806f * g - 0.490392640f * h;
}

// Transforms squares of 8 by 8 pixels and divides by 64 steps, like JPEG. Eight threads have a
// square, and the results lie by diagonals.
__global__ void compress(int n, const float *steps, const u8 *image, short *to) {
    extern __shared__ float tiles[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, line = i % 8, square = i / 8;
    float *tile = tiles + threadIdx.x / 8 * 72, values[8];
    int top = square / (n / 8) * 8, left = square % (n / 8) * 8;
    uint2 pixels = *(const uint2 *)&image[(top + line) * n + left];
#pragma unroll
    for (int k = 0; k < 8; k++)
        values[k] = (float)((k < 4 ? pixels.x : pixels.y) >> 8 * (k % 4) & 255) - 128;
    transform(values);
#pragma unroll
    for (int k = 0; k < 8; k++) tile[9 * line + k] = values[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 8; k++) values[k] = tile[9 * k + line];
    transform(values);
    __syncwarp();
    short *shorts = (short *)tile;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int diagonal = k + line, turned = diagonal % 2 ? k : line;
        int at = diagonal < 8 ? diagonal * (diagonal + 1) / 2 + turned
                              : 63 - (14 - diagonal) * (15 - diagonal) / 2 - (7 - turned);
        shorts[at] = (short)__float2int_rn(__fdividef(values[k], steps[8 * k + line]));
    }
    __syncwarp();
    *(uint4 *)&to[64 * square + 8 * line] = *(const uint4 *)&shorts[8 * line];
}

// The least edit distance of a query of 64 letters to a part of each text, by bit vectors of a
// column. A thread has a text; the letters of all texts with the same place lie side by side.
__global__ void edit_distances(unsigned n, int length, const u8 *queries, const u8 *texts,
                               unsigned *distances) {
    __shared__ u64 places[32];
    if (threadIdx.x < 32) {
        u64 own = 0;
        for (int k = 0; k < 64; k++)
            own |= (u64)(queries[64 * blockIdx.y + k] == threadIdx.x) << k;
        places[threadIdx.x] = own;
    }
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 up = ~0ull, down = 0;
    int distance = 64, least = 64;
    for (int k = 0; k < length; k++) {
        u64 equal = places[texts[k * n + i]], vertical = equal | down;
        u64 across = (((equal & up) + up) ^ up) | equal;
        u64 more = down | ~(across | up), less = up & across;
        distance += (int)(more >> 63) - (int)(less >> 63);
        least = min(least, distance);
        more <<= 1, less <<= 1;
        up = less | ~(vertical | more);
        down = more & vertical;
    }
    distances[blockIdx.y * n + i] = least;
}
