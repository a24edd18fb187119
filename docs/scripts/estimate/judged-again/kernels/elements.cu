// Arithmetic of elements, and data that each thread follows.
typedef unsigned long long u64;

// Montgomery's product: a b / 2^64 modulo m, with `inverse` = -1 / m modulo 2^64.
__device__ u64 reduced_product(u64 a, u64 b, u64 m, u64 inverse) {
    u64 low = a * b, high = __umul64hi(a, b), q = low * inverse;
    u64 carry = __umul64hi(q, m) + (low != 0), sum = high + carry;
    return sum < high || sum >= m ? sum - m : sum;
}

// Powers modulo an odd number of 64 bits, by squares; `square` is 2^128 modulo m.
__global__ void modular_powers(unsigned bits, u64 m, u64 inverse, u64 square, const u64 *x,
                               const u64 *exponents, u64 *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 base = reduced_product(x[i], square, m, inverse), exponent = exponents[i];
    u64 power = reduced_product(1, square, m, inverse);
    for (unsigned bit = 0; bit < bits; bit++) {
        if (exponent >> bit & 1) power = reduced_product(power, base, m, inverse);
        base = reduced_product(base, base, m, inverse);
    }
    y[i] = reduced_product(power, 1, m, inverse);
}

__constant__ unsigned PRIME[8] = {0xd87cfd47, 0x3c208c16, 0x6871ca8d, 0x97816a91,
                                  0x8181585d, 0xb85045b6, 0xe131a029, 0x30644e72};

// sum[0..=8] += a b, with b of 32 bits.
__device__ void add_product(unsigned (&sum)[9], const unsigned (&a)[8], unsigned b) {
    asm("mad.lo.cc.u32 %0, %9, %17, %0; madc.lo.cc.u32 %1, %10, %17, %1;"
        "madc.lo.cc.u32 %2, %11, %17, %2; madc.lo.cc.u32 %3, %12, %17, %3;"
        "madc.lo.cc.u32 %4, %13, %17, %4; madc.lo.cc.u32 %5, %14, %17, %5;"
        "madc.lo.cc.u32 %6, %15, %17, %6; madc.lo.cc.u32 %7, %16, %17, %7;"
        "addc.u32 %8, %8, 0;"
        "mad.hi.cc.u32 %1, %9, %17, %1; madc.hi.cc.u32 %2, %10, %17, %2;"
        "madc.hi.cc.u32 %3, %11, %17, %3; madc.hi.cc.u32 %4, %12, %17, %4;"
        "madc.hi.cc.u32 %5, %13, %17, %5; madc.hi.cc.u32 %6, %14, %17, %6;"
        "madc.hi.cc.u32 %7, %15, %17, %7; madc.hi.u32 %8, %16, %17, %8;"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3]), "+r"(sum[4]), "+r"(sum[5]),
          "+r"(sum[6]), "+r"(sum[7]), "+r"(sum[8])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
          "r"(b));
}

// a <- a b / 2^256 in the field of the curve BN254.
__device__ void multiply(unsigned (&a)[8], const unsigned (&b)[8], const unsigned (&prime)[8]) {
    unsigned sum[9] = {}, less[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        add_product(sum, a, b[i]);
        add_product(sum, prime, sum[0] * 0xe4866389u);
#pragma unroll
        for (int k = 0; k < 8; k++) sum[k] = sum[k + 1];
        sum[8] = 0;
    }
    unsigned borrow = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        u64 difference = (u64)sum[k] - prime[k] - borrow;
        less[k] = (unsigned)difference;
        borrow = (unsigned)(difference >> 32) & 1;
    }
#pragma unroll
    for (int k = 0; k < 8; k++) a[k] = borrow ? sum[k] : less[k];
}

// x y^rounds in Montgomery's form.
__global__ void field_products(unsigned rounds, const uint4 *x, const uint4 *y, uint4 *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, prime[8];
    uint4 x0 = x[2 * i], x1 = x[2 * i + 1], y0 = y[2 * i], y1 = y[2 * i + 1];
    unsigned a[8] = {x0.x, x0.y, x0.z, x0.w, x1.x, x1.y, x1.z, x1.w & 0x1fffffff};
    unsigned b[8] = {y0.x, y0.y, y0.z, y0.w, y1.x, y1.y, y1.z, y1.w & 0x1fffffff};
#pragma unroll
    for (int k = 0; k < 8; k++) prime[k] = PRIME[k];
    for (unsigned round = 0; round < rounds; round++) multiply(a, b, prime);
    to[2 * i] = make_uint4(a[0], a[1], a[2], a[3]);
    to[2 * i + 1] = make_uint4(a[4], a[5], a[6], a[7]);
}

const u64 GOLDILOCKS = 0xffffffff00000001ull;

__device__ u64 goldilocks_product(u64 a, u64 b) {
    u64 low = a * b, high = __umul64hi(a, b), top = high >> 32, middle = high & 0xffffffff;
    u64 sum = low - top;
    if (low < top) sum -= 0xffffffff;
    u64 more = (middle << 32) - middle, result = sum + more;
    if (result < more) result += 0xffffffff;
    return result >= GOLDILOCKS ? result - GOLDILOCKS : result;
}

// One stage of a number-theoretic transform: butterflies of elements `half` apart.
__global__ void butterflies(unsigned half, unsigned stride, const u64 *roots, u64 *x) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, k = i & (half - 1);
    unsigned low = 2 * i - k, high = low + half;
    u64 a = x[low], b = goldilocks_product(x[high], roots[k * stride]);
    u64 sum = a + b;
    x[low] = sum < a || sum >= GOLDILOCKS ? sum - GOLDILOCKS : sum;
    x[high] = a >= b ? a - b : a - b + GOLDILOCKS;
}

// Walks on a lattice from the centre of a circle until they leave it.
__global__ void walks(int radius, unsigned seed, unsigned *steps) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, step = 0;
    unsigned state = (i + 1) * 2654435761u ^ seed;
    int x = 0, y = 0;
    while (x * x + y * y < radius * radius) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        int direction = (state & 2) ? 1 : -1;
        if (state & 1) x += direction;
        else y += direction;
        step++;
    }
    steps[i] = step;
}

// A polynomial in double precision by Horner's rule, for ITEMS elements a thread.
template <int ITEMS>
__global__ void horner(unsigned degree, const double *coefficients, const double *x, double *y) {
    unsigned first = blockIdx.x * blockDim.x * ITEMS + threadIdx.x;
    double at[ITEMS], value[ITEMS];
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        at[item] = x[first + item * blockDim.x];
        value[item] = 0;
    }
    for (unsigned k = 0; k <= degree; k++) {
        double c = coefficients[k];
#pragma unroll
        for (int item = 0; item < ITEMS; item++) value[item] = fma(value[item], at[item], c);
    }
#pragma unroll
    for (int item = 0; item < ITEMS; item++) y[first + item * blockDim.x] = value[item];
}

// Newton's steps to a cube root of one, and which root it is.
__global__ void newton(int n, int most, unsigned *to) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    float x = 4.0f * column / n - 2.01f, y = 4.0f * row / n - 2.02f;
    int step = 0;
    for (; step < most; step++) {
        float xx = x * x - y * y, yy = 2 * x * y;
        float u = xx * x - yy * y - 1, v = xx * y + yy * x;
        if (u * u + v * v < 1e-8f) break;
        float scale = 1.0f / (3 * (xx * xx + yy * yy) + 1e-20f);
        x -= (u * xx + v * yy) * scale;
        y -= (v * xx - u * yy) * scale;
    }
    to[row * n + column] = step << 2 | (x > 0 ? 0 : y > 0 ? 1 : 2);
}

// Forces of Lennard-Jones between atoms and their neighbours. The lists of all atoms lie side by
// side.
__global__ void neighbours(int atoms, int count, float cut, const float4 *places, const int *lists,
                           float4 *forces) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= atoms) return;
    float4 own = places[i], force = make_float4(0, 0, 0, 0);
    for (int k = 0; k < count; k++) {
        float4 other = places[lists[k * atoms + i]];
        float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
        float square = dx * dx + dy * dy + dz * dz;
        if (square < cut && square > 0) {
            float inverse = 1.0f / square, sixth = inverse * inverse * inverse;
            float pull = inverse * sixth * (1.5f * sixth - 2.0f);
            force.x += dx * pull, force.y += dy * pull, force.z += dz * pull;
            force.w += sixth * (sixth - 1);
        }
    }
    forces[i] = force;
}

// Each warp follows a list of nodes of 32 words. The last word is the next node, the others are
// added.
__global__ void chase(unsigned steps, unsigned nodes, const unsigned *words, unsigned *sums) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, sum = 0;
    unsigned node = i / 32 * 7919u % nodes;
    for (unsigned step = 0; step < steps; step++) {
        unsigned word = words[(size_t)node * 32 + lane];
        sum += word;
        node = __shfl_sync(~0u, word, 31);
    }
    sums[i] = sum;
}

// Bytes as text in base 64: a thread reads three words and writes four, by a table or by
// comparisons.
template <bool TABLE> __global__ void base64(const unsigned *bytes, uint4 *text) {
    __shared__ unsigned char letters[64];
    auto letter = [](unsigned v) {
        if (v < 52) return v < 26 ? 'A' + v : 'a' + v - 26;
        return v < 62 ? '0' + v - 52 : v == 62 ? '+' : '/';
    };
    if (TABLE) {
        if (threadIdx.x < 64) letters[threadIdx.x] = letter(threadIdx.x);
        __syncthreads();
    }
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = bytes[3 * i], b = bytes[3 * i + 1], c = bytes[3 * i + 2];
    unsigned groups[4] = {a & 0xffffff, a >> 24 | (b & 0xffff) << 8, b >> 16 | (c & 0xff) << 16,
                          c >> 8};
    unsigned words[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        unsigned value = __byte_perm(groups[k], 0, 0x3012), word = 0;
#pragma unroll
        for (int l = 0; l < 4; l++) {
            unsigned six = value >> (18 - 6 * l) & 63;
            word |= (TABLE ? letters[six] : letter(six)) << 8 * l;
        }
        words[k] = word;
    }
    text[i] = make_uint4(words[0], words[1], words[2], words[3]);
}
