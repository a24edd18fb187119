// Arithmetic of integers and of numbers with high precision.
typedef unsigned long long u64;
typedef unsigned __int128 u128;

__device__ int zeros_below(u64 x) { return __ffsll(x) - 1; }
__device__ int zeros_below(u128 x) {
    return (u64)x != 0 ? zeros_below((u64)x) : 64 + zeros_below((u64)(x >> 64));
}

template <typename Number> __device__ Number common_divisor(Number a, Number b) {
    int shift = zeros_below(a | b);
    a >>= zeros_below(a);
    while (b != 0) {
        b >>= zeros_below(b);
        if (a > b) {
            Number less = b;
            b = a, a = less;
        }
        b -= a;
    }
    return a << shift;
}

// The greatest common divisors of pairs of numbers with 64 or 128 bits, by shifts and differences.
template <bool WIDE> __global__ void divisors(const u64 *pairs, u64 *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (WIDE) {
        const u128 *pair = (const u128 *)pairs + 2 * i;
        ((u128 *)to)[i] = common_divisor(pair[0], pair[1]);
    } else {
        to[i] = common_divisor(pairs[2 * i], pairs[2 * i + 1]);
    }
}

const int PRIME = 8380417;

// a b modulo the prime, by Montgomery's method over 2^32 or by the compiler's.
template <bool MONTGOMERY> __device__ int product(int a, int b) {
    long long wide = (long long)a * b;
    if (!MONTGOMERY) return (int)(wide % PRIME);
    int low = (int)wide * 58728449;
    return (int)((wide - (long long)low * PRIME) >> 32);
}

template <bool MONTGOMERY> __device__ void butterfly(int &a, int &b, int root) {
    int turned = product<MONTGOMERY>(b, root);
    b = a - turned;
    a += turned;
}

// Dilithium's number theoretic transform of polynomials with 256 coefficients. A warp has a
// polynomial: three layers are in registers, and five in shared memory.
template <bool MONTGOMERY>
__global__ void transform_polynomials(const int *roots, int *polynomials) {
    extern __shared__ int tiles[];
    int *tile = tiles + threadIdx.x / 32 * 256, lane = threadIdx.x % 32, values[8];
    int *polynomial = polynomials + (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 256;
#pragma unroll
    for (int k = 0; k < 8; k++) values[k] = polynomial[lane + 32 * k];
#pragma unroll
    for (int half = 4; half > 0; half /= 2)
#pragma unroll
        for (int k = 0; k < 8; k++)
            if ((k & half) == 0)
                butterfly<MONTGOMERY>(values[k], values[k + half],
                                      roots[4 / half + k / (2 * half)]);
#pragma unroll
    for (int k = 0; k < 8; k++) tile[lane + 32 * k] = values[k];
    __syncwarp();
    for (int length = 16; length > 0; length /= 2) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int pair = lane + 32 * k, group = pair / length, at = group * length + pair;
            butterfly<MONTGOMERY>(tile[at], tile[at + length], roots[128 / length + group]);
        }
        __syncwarp();
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int value = tile[lane + 32 * k] % PRIME;
        polynomial[lane + 32 * k] = value < 0 ? value + PRIME : value;
    }
}

// The steps of Batcher's network that merge sorted runs of RUN, from this DISTANCE on, and all
// later ones.
template <int SIZE, int RUN, int DISTANCE> __device__ void sort_in_registers(float *x) {
#pragma unroll
    for (int first = DISTANCE % RUN; first + DISTANCE < SIZE; first += 2 * DISTANCE)
#pragma unroll
        for (int low = first; low < first + DISTANCE; low++) {
            int high = low + DISTANCE;
            if (high >= SIZE || low / (2 * RUN) != high / (2 * RUN)) continue;
            float least = fminf(x[low], x[high]);
            x[high] = fmaxf(x[low], x[high]), x[low] = least;
        }
    if constexpr (DISTANCE > 1)
        sort_in_registers<SIZE, RUN, DISTANCE / 2>(x);
    else if constexpr (2 * RUN < SIZE)
        sort_in_registers<SIZE, 2 * RUN, 2 * RUN>(x);
}

// Sorts lists of SIZE, a thread each. The values of all lists with the same place lie side by side.
template <int SIZE> __global__ void sort_lists(unsigned n, const float *from, float *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float values[SIZE];
#pragma unroll
    for (int k = 0; k < SIZE; k++) values[k] = from[k * n + i];
    sort_in_registers<SIZE, 1, 1>(values);
#pragma unroll
    for (int k = 0; k < SIZE; k++) to[k * n + i] = values[k];
}

__constant__ double coefficients[13 * 13];

// A sum of products of Chebyshev polynomials in x and in y, by Clenshaw's recurrence in both.
template <int DEGREE>
__global__ void chebyshev(const double *x, const double *y, double *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    double u = x[i], v = y[i], one = 0, two = 0;
    for (int row = DEGREE; row >= 0; row--) {
        double first = 0, second = 0;
#pragma unroll
        for (int k = DEGREE; k > 0; k--) {
            double next = 2 * v * first - second + coefficients[13 * row + k];
            second = first, first = next;
        }
        double inner = v * first - second + coefficients[13 * row];
        double next = (row > 0 ? 2 * u : u) * one - two + inner;
        two = one, one = next;
    }
    to[i] = one;
}

// The volatilities at which options have their prices, by Newton's method with bisection as a
// fallback. A price is a share of the way from the least possible one to the highest.
template <typename T>
__global__ void volatilities(const T *strikes, const T *years, const T *shares, T *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const T spot = 100, error = sizeof(T) == 4 ? 1e-3 : 1e-9;
    T strike = strikes[i], root = sqrt(years[i]), least = max(spot - strike, T(0));
    T price = least + shares[i] * (spot - least), low = 0, high = 8, guess = 0.5;
    T moneyness = log(spot / strike);
    for (int step = 0; step < 40; step++) {
        T width = guess * root, d = moneyness / width + width / 2;
        T in = erfc(-d * T(0.7071067811865476)) / 2;
        T out = erfc((width - d) * T(0.7071067811865476)) / 2;
        T miss = spot * in - strike * out - price;
        if (fabs(miss) < error) break;
        if (miss > 0) high = guess;
        else low = guess;
        guess -= miss / (spot * root * T(0.3989422804014327) * exp(-d * d / 2));
        if (!(guess > low && guess < high)) guess = (low + high) / 2;
    }
    to[i] = guess;
}
