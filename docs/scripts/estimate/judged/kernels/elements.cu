// Each thread computes one element or a few.

__device__ float normal_distribution(float x) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    float sum = k * (0.31938153f +
                     k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float upper = 0.3989422804f * expf(-0.5f * x * x) * sum;
    return x > 0 ? 1.0f - upper : upper;
}

// Prices of European options by the formula of Black and Scholes.
__global__ void options(unsigned n, const float *price, const float *strike, const float *years, float *call,
                        float *put) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float rate = 0.02f, volatility = 0.3f;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float first = normal_distribution(d1), second = normal_distribution(d2);
    float discounted = x * expf(-rate * t);
    call[i] = s * first - discounted * second;
    put[i] = discounted * (1.0f - second) - s * (1.0f - first);
}

// An activation, four elements a thread.
__global__ void gelu(unsigned quarters, const float4 *x, float4 *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quarters) return;
    float4 v = x[i];
    float *part = &v.x;
    for (int k = 0; k < 4; k++) {
        float a = part[k];
        part[k] = 0.5f * a * (1.0f + tanhf(0.7978845608f * (a + 0.044715f * a * a * a)));
    }
    y[i] = v;
}

// Elements that lie `stride` apart.
__global__ void copy_strided(unsigned n, unsigned stride, const float *from, float *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[(size_t)i * stride] = from[(size_t)i * stride] + 1.0f;
}

// Elements of a table, by an index.
__global__ void gather(unsigned n, const unsigned *index, const float *table, float *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = table[index[i]];
}

// The gradient of an embedding: a row of 64 floats of each sample is added to a row of the table.
__global__ void scatter_rows(unsigned samples, const unsigned *row, const float *gradient, float *table) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sample = i / 64, column = i % 64;
    if (sample < samples) atomicAdd(table + row[sample] * 64 + column, gradient[i]);
}

// Iterations until a point leaves the circle.
__global__ void fractal(unsigned n, unsigned most, unsigned *steps) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    float re = 3.0f * x / n - 2.0f, im = 2.5f * y / n - 1.25f, u = 0, v = 0;
    unsigned step = 0;
    while (step < most && u * u + v * v < 4.0f) {
        float next = u * u - v * v + re;
        v = 2.0f * u * v + im;
        u = next;
        step++;
    }
    steps[y * n + x] = step;
}

// Four dimensions in the opposite order.
__global__ void permute(unsigned n, unsigned a, unsigned b, unsigned c, unsigned d, const float *from,
                        float *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned l = i % d, rest = i / d;
    unsigned k = rest % c;
    rest /= c;
    unsigned j = rest % b, h = rest / b;
    to[((l * c + k) * b + j) * a + h] = from[i];
}

// Points in a quarter of a circle, with a counter as the source of random numbers.
__global__ void monte_carlo(unsigned steps, unsigned seed, unsigned long long *inside) {
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned count = 0;
    for (unsigned step = 0; step < steps; step++) {
        unsigned x = thread, y = step, k = seed, z = 0x1234567u;
        for (int round = 0; round < 7; round++) {
            unsigned low = x * 0xD2511F53u, high = __umulhi(x, 0xD2511F53u);
            unsigned low2 = z * 0xCD9E8D57u, high2 = __umulhi(z, 0xCD9E8D57u);
            x = high2 ^ y ^ k;
            y = low2;
            z = high ^ z ^ (k + 0xBB67AE85u);
            k += 0x9E3779B9u + low;
        }
        float p = x * 2.3283064e-10f, q = y * 2.3283064e-10f;
        count += p * p + q * q < 1.0f;
    }
    for (int offset = 16; offset > 0; offset /= 2) count += __shfl_down_sync(~0u, count, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(inside, (unsigned long long)count);
}

// Rounds of additions, rotations and exclusive ors of 64 bits.
__global__ void sip(unsigned rounds, const unsigned long long *words, unsigned long long *to) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long a = words[i], b = a ^ 0x736f6d6570736575ull, c = ~a, d = a + i;
    for (unsigned round = 0; round < rounds; round++) {
        a += b, b = (b << 13 | b >> 51) ^ a, a = a << 32 | a >> 32;
        c += d, d = (d << 16 | d >> 48) ^ c;
        a += d, d = (d << 21 | d >> 43) ^ a;
        c += b, b = (b << 17 | b >> 47) ^ c, c = c << 32 | c >> 32;
    }
    to[i] = a ^ b ^ c ^ d;
}

// Each thread follows links of a permutation.
__global__ void follow(unsigned steps, const unsigned *next, unsigned *ends) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, at = i;
    for (unsigned step = 0; step < steps; step++) at = next[at];
    ends[i] = at;
}
