// Hashes and curves, as provers need them.
typedef unsigned long long u64;

__constant__ u64 ROUNDS[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

__device__ u64 rotated(u64 x, int by) { return by == 0 ? x : x << by | x >> (64 - by); }

// Keccak's 256 bits of a message of 17 words, one a thread. Words of all messages lie side by side.
__global__ void keccak(unsigned n, const u64 *messages, u64 *hashes) {
    const int turns[25] = {0,  1,  62, 28, 27, 36, 44, 6,  55, 20, 3,  10, 43,
                           25, 39, 41, 45, 15, 21, 8,  18, 2,  61, 56, 14};
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    u64 a[25], b[25], c[5];
#pragma unroll
    for (int k = 0; k < 25; k++) a[k] = k < 17 ? messages[k * n + i] : 0;
#pragma unroll 1
    for (int round = 0; round < 24; round++) {
#pragma unroll
        for (int x = 0; x < 5; x++) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
#pragma unroll
        for (int k = 0; k < 25; k++) {
            int x = k % 5, y = k / 5;
            u64 mixed = a[k] ^ c[(x + 4) % 5] ^ rotated(c[(x + 1) % 5], 1);
            b[(2 * x + 3 * y) % 5 * 5 + y] = rotated(mixed, turns[k]);
        }
#pragma unroll
        for (int k = 0; k < 25; k++) {
            int x = k % 5, y = k / 5 * 5;
            a[k] = b[k] ^ (~b[y + (x + 1) % 5] & b[y + (x + 2) % 5]);
        }
        a[0] ^= ROUNDS[round];
    }
#pragma unroll
    for (int k = 0; k < 4; k++) hashes[k * n + i] = a[k];
}

// A number modulo 2^256 - FOLD, the field of the curve secp256k1.
struct Number {
    u64 words[4];
};

const u64 FOLD = 0x1000003d1;

// sum[0..=4] += a b, with b of 64 bits.
__device__ void add_product(u64 *sum, const Number &a, u64 b) {
    asm("mad.lo.cc.u64 %0, %5, %9, %0; madc.lo.cc.u64 %1, %6, %9, %1;"
        "madc.lo.cc.u64 %2, %7, %9, %2; madc.lo.cc.u64 %3, %8, %9, %3; addc.u64 %4, %4, 0;"
        "mad.hi.cc.u64 %1, %5, %9, %1; madc.hi.cc.u64 %2, %6, %9, %2;"
        "madc.hi.cc.u64 %3, %7, %9, %3; madc.hi.u64 %4, %8, %9, %4;"
        : "+l"(sum[0]), "+l"(sum[1]), "+l"(sum[2]), "+l"(sum[3]), "+l"(sum[4])
        : "l"(a.words[0]), "l"(a.words[1]), "l"(a.words[2]), "l"(a.words[3]), "l"(b));
}

// a += `more` FOLD, and the carry.
__device__ u64 add_folded(Number &a, u64 more) {
    u64 carry;
    asm("mad.lo.cc.u64 %0, %5, %6, %0; madc.hi.cc.u64 %1, %5, %6, %1; addc.cc.u64 %2, %2, 0;"
        "addc.cc.u64 %3, %3, 0; addc.u64 %4, 0, 0;"
        : "+l"(a.words[0]), "+l"(a.words[1]), "+l"(a.words[2]), "+l"(a.words[3]), "=l"(carry)
        : "l"(more), "l"(FOLD));
    return carry;
}

__device__ Number operator*(const Number &a, const Number &b) {
    u64 product[9] = {};
#pragma unroll
    for (int i = 0; i < 4; i++) add_product(product + i, a, b.words[i]);
    Number high = {product[4], product[5], product[6], product[7]};
    product[4] = 0;
    add_product(product, high, FOLD);
    Number low = {product[0], product[1], product[2], product[3]};
    add_folded(low, add_folded(low, product[4]));
    return low;
}

__device__ Number operator+(const Number &a, const Number &b) {
    Number sum = a;
    u64 carry;
    asm("add.cc.u64 %0, %0, %5; addc.cc.u64 %1, %1, %6; addc.cc.u64 %2, %2, %7;"
        "addc.cc.u64 %3, %3, %8; addc.u64 %4, 0, 0;"
        : "+l"(sum.words[0]), "+l"(sum.words[1]), "+l"(sum.words[2]), "+l"(sum.words[3]),
          "=l"(carry)
        : "l"(b.words[0]), "l"(b.words[1]), "l"(b.words[2]), "l"(b.words[3]));
    add_folded(sum, add_folded(sum, carry));
    return sum;
}

// `borrow` is all ones if a < b. Then FOLD less is the difference with the prime.
__device__ u64 subtract(Number &a, const Number &b) {
    u64 borrow;
    asm("sub.cc.u64 %0, %0, %5; subc.cc.u64 %1, %1, %6; subc.cc.u64 %2, %2, %7;"
        "subc.cc.u64 %3, %3, %8; subc.u64 %4, 0, 0;"
        : "+l"(a.words[0]), "+l"(a.words[1]), "+l"(a.words[2]), "+l"(a.words[3]), "=l"(borrow)
        : "l"(b.words[0]), "l"(b.words[1]), "l"(b.words[2]), "l"(b.words[3]));
    return borrow;
}

__device__ Number operator-(const Number &a, const Number &b) {
    Number difference = a;
    u64 borrow = subtract(difference, b);
    borrow = subtract(difference, Number{borrow & FOLD, 0, 0, 0});
    subtract(difference, Number{borrow & FOLD, 0, 0, 0});
    return difference;
}

// Doubles points in Jacobian coordinates, `times` times. A point has 12 words.
__global__ void double_points(int times, const u64 *points, u64 *to) {
    size_t first = (size_t)(blockIdx.x * blockDim.x + threadIdx.x) * 12;
    Number point[3];
#pragma unroll
    for (int k = 0; k < 12; k++) point[k / 4].words[k % 4] = points[first + k];
    Number x = point[0], y = point[1], z = point[2];
#pragma unroll 1
    for (int i = 0; i < times; i++) {
        Number a = x * x, b = y * y, c = b * b, sum = x + b;
        Number d = sum * sum - a - c, e = a + a + a;
        d = d + d;
        z = y * z;
        z = z + z;
        x = e * e - d - d;
        c = c + c, c = c + c, c = c + c;
        y = e * (d - x) - c;
    }
    point[0] = x, point[1] = y, point[2] = z;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        Number less = point[k];
        if (add_folded(less, 1)) point[k] = less;
    }
#pragma unroll
    for (int k = 0; k < 12; k++) to[first + k] = point[k / 4].words[k % 4];
}
