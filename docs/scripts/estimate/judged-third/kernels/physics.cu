// Physics and finance.

// Four random words for a counter and a key: Philox with ten rounds.
__device__ uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned low = counter.x * 0xd2511f53u, high = __umulhi(counter.x, 0xd2511f53u);
        unsigned low2 = counter.z * 0xcd9e8d57u, high2 = __umulhi(counter.z, 0xcd9e8d57u);
        counter = make_uint4(high2 ^ counter.y ^ key.x, low2, high ^ counter.w ^ key.y, low);
        key.x += 0x9e3779b9u, key.y += 0xbb67ae85u;
    }
    return counter;
}

__device__ float2 normal_pair(unsigned a, unsigned b) {
    float radius = sqrtf(-2 * __logf((a + 0.5f) * 2.3283064e-10f)), sine, cosine;
    __sincosf(b * 1.4629181e-9f, &sine, &cosine);
    return make_float2(radius * cosine, radius * sine);
}

// The sum of the payoffs of a call on the mean price, over a path of random prices a thread.
__global__ void asian_call(int steps, unsigned seed, float price, float strike, float drift,
                           float spread, double *total) {
    unsigned path = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int step = 0; step < steps; step += 4) {
        uint4 words = philox(make_uint4(path, step, 0, 0), make_uint2(seed, 0));
        float2 one = normal_pair(words.x, words.y), other = normal_pair(words.z, words.w);
        float normals[4] = {one.x, one.y, other.x, other.y};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            price *= __expf(drift + spread * normals[i]);
            sum += price;
        }
    }
    float payoff = fmaxf(sum / steps - strike, 0);
    for (int offset = 16; offset > 0; offset /= 2)
        payoff += __shfl_xor_sync(~0u, payoff, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(total, (double)payoff);
}

// American puts by binomial trees, a block for an option. The tree's level lies in shared memory.
__global__ void binomial_put(int steps, float strike, const float *prices, const float *spreads,
                             float *values) {
    extern __shared__ float tree[];
    float price = prices[blockIdx.x], up = spreads[blockIdx.x] * rsqrtf((float)steps);
    float growth = exp2f(0.05f / steps), high = exp2f(up), low = 1 / high;
    float chance = (growth - low) / (high - low), discount = 1 / growth;
    auto payoff = [&](int level, int k) { return strike - price * exp2f(up * (2 * k - level)); };
    for (int k = threadIdx.x; k <= steps; k += blockDim.x) tree[k] = fmaxf(payoff(steps, k), 0);
    for (int level = steps - 1; level >= 0; level--)
        for (int first = 0; first <= level; first += blockDim.x) {
            int k = first + threadIdx.x;
            float value = 0;
            __syncthreads();
            if (k <= level) {
                float kept = discount * (chance * tree[k + 1] + (1 - chance) * tree[k]);
                value = fmaxf(kept, payoff(level, k));
            }
            __syncthreads();
            if (k <= level) tree[k] = value;
        }
    if (threadIdx.x == 0) values[blockIdx.x] = tree[0];
}

// A step of a lattice gas with nine speeds on a torus: each cell pulls from its neighbours, then
// its distribution moves towards equilibrium.
__global__ void lattice_boltzmann(int n, float rate, const float *before, float *after) {
    const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float parts[9], density = 0, u = 0, v = 0;
#pragma unroll
    for (int i = 0; i < 9; i++) {
        int column = x - dx[i], row = y - dy[i];
        column = column < 0 ? n - 1 : column == n ? 0 : column;
        row = row < 0 ? n - 1 : row == n ? 0 : row;
        parts[i] = before[i * n * n + row * n + column];
        density += parts[i], u += dx[i] * parts[i], v += dy[i] * parts[i];
    }
    u /= density, v /= density;
    float still = 1 - 1.5f * (u * u + v * v);
#pragma unroll
    for (int i = 0; i < 9; i++) {
        float weight = i == 0 ? 4.0f / 9 : i < 5 ? 1.0f / 9 : 1.0f / 36;
        float along = 3 * (dx[i] * u + dy[i] * v);
        float rest = weight * density * (still + along + 0.5f * along * along);
        after[i * n * n + y * n + x] = parts[i] + rate * (rest - parts[i]);
    }
}

// Adds the charges of particles to the four nearest points of a grid on a torus.
__global__ void deposit(int n, const float2 *places, const float *charges, float *grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 place = places[i];
    float charge = charges[i], left = floorf(place.x), top = floorf(place.y);
    float x = place.x - left, y = place.y - top;
    int column = (int)left, row = (int)top;
    int right = column + 1 == n ? 0 : column + 1, below = row + 1 == n ? 0 : row + 1;
    atomicAdd(grid + row * n + column, charge * (1 - x) * (1 - y));
    atomicAdd(grid + row * n + right, charge * x * (1 - y));
    atomicAdd(grid + below * n + column, charge * (1 - x) * y);
    atomicAdd(grid + below * n + right, charge * x * y);
}
