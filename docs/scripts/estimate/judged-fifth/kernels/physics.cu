// Particles, fields, paths of prices and of points.
typedef unsigned long long u64;

__constant__ float4 charges[512];

// The potential of charges at the points of a plane, ITEMS of them a thread.
template <int ITEMS>
__global__ void coulomb(int n, int count, float step, float z, float *potential) {
    int x = blockIdx.x * blockDim.x * ITEMS + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sums[ITEMS] = {};
    for (int k = 0; k < count; k++) {
        float4 charge = charges[k];
        float dy = step * y - charge.y, dz = z - charge.z, rest = dy * dy + dz * dz;
#pragma unroll
        for (int j = 0; j < ITEMS; j++) {
            float dx = step * (x + j * blockDim.x) - charge.x;
            sums[j] += charge.w * rsqrtf(dx * dx + rest);
        }
    }
#pragma unroll
    for (int j = 0; j < ITEMS; j++) potential[y * n + x + j * blockDim.x] = sums[j];
}

__constant__ unsigned chances[5];

// Half a sweep over spins on a torus: those of one colour turn by chance. `chances` belong to the
// sums of neighbours that have a spin's own direction.
__global__ void ising(int n, int colour, unsigned seed, signed char *spins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, y = i / (n / 2);
    int x = 2 * (i % (n / 2)) + (y + colour) % 2, row = y * n;
    int up = (y == 0 ? n - 1 : y - 1) * n, down = (y == n - 1 ? 0 : y + 1) * n;
    int left = x == 0 ? n - 1 : x - 1, right = x == n - 1 ? 0 : x + 1;
    int spin = spins[row + x];
    int sum = spins[up + x] + spins[down + x] + spins[row + left] + spins[row + right];
    unsigned random = i * 747796405u + seed;
    random = (random >> (random >> 28) + 4 ^ random) * 277803737u;
    random = random >> 22 ^ random;
    if (random < chances[(spin * sum + 4) / 2]) spins[row + x] = -spin;
}

// Sums of waves at points in space, as magnetic resonance imaging needs them.
template <bool FAST>
__global__ void sum_waves(int count, const float4 *waves, const float *x, const float *y,
                          const float *z, float2 *sums) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float px = x[i], py = y[i], pz = z[i];
    float2 sum = make_float2(0, 0);
    for (int k = 0; k < count; k++) {
        float4 wave = waves[k];
        float sine, cosine, angle = 6.28318531f * (wave.x * px + wave.y * py + wave.z * pz);
        if (FAST) __sincosf(angle, &sine, &cosine);
        else sincosf(angle, &sine, &cosine);
        sum.x += wave.w * cosine;
        sum.y += wave.w * sine;
    }
    sums[i] = sum;
}

// The forces of bent bonds on the atoms at both ends and in the middle.
__global__ void bend_bonds(float stiffness, float rest, const int4 *bonds, const float4 *places,
                           float *forces) {
    int4 bond = bonds[blockIdx.x * blockDim.x + threadIdx.x];
    float4 a = places[bond.x], b = places[bond.y], c = places[bond.z];
    float one[3] = {a.x - b.x, a.y - b.y, a.z - b.z};
    float other[3] = {c.x - b.x, c.y - b.y, c.z - b.z};
    float of_one = rsqrtf(one[0] * one[0] + one[1] * one[1] + one[2] * one[2]);
    float of_other = rsqrtf(other[0] * other[0] + other[1] * other[1] + other[2] * other[2]);
    float cosine = (one[0] * other[0] + one[1] * other[1] + one[2] * other[2]) * of_one * of_other;
    cosine = fminf(fmaxf(cosine, -0.999f), 0.999f);
    float force = stiffness * (acosf(cosine) - rest) * rsqrtf(1 - cosine * cosine);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        float along_one = one[k] * of_one, along_other = other[k] * of_other;
        float at_a = force * of_one * (along_other - cosine * along_one);
        float at_c = force * of_other * (along_one - cosine * along_other);
        atomicAdd(forces + 3 * bond.x + k, at_a);
        atomicAdd(forces + 3 * bond.y + k, -at_a - at_c);
        atomicAdd(forces + 3 * bond.z + k, at_c);
    }
}

// How many pairs of points have each distance, in 64 steps. A block has COPIES of its counts in
// shared memory, and goes through all points from its own on.
template <int COPIES>
__global__ void count_distances(int n, const float4 *points, unsigned *counts) {
    __shared__ unsigned own_counts[COPIES][64];
    extern __shared__ float4 tile[];
    for (int i = threadIdx.x; i < 64 * COPIES; i += blockDim.x) own_counts[i / 64][i % 64] = 0;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned *mine = own_counts[threadIdx.x % COPIES];
    float4 own = points[i];
    for (int first = blockIdx.x * blockDim.x; first < n; first += blockDim.x) {
        __syncthreads();
        tile[threadIdx.x] = points[first + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < blockDim.x; k++) {
            float4 other = tile[k];
            float x = own.x - other.x, y = own.y - other.y, z = own.z - other.z;
            int step = (int)(36 * sqrtf(x * x + y * y + z * z));
            if (first + k > i) atomicAdd(mine + step, 1);
        }
    }
    __syncthreads();
    for (int step = threadIdx.x; step < 64; step += blockDim.x) {
        unsigned sum = 0;
        for (int copy = 0; copy < COPIES; copy++) sum += own_counts[copy][step];
        atomicAdd(counts + step, sum);
    }
}

// Follows Lorenz's equations by the method of Runge and Kutta. Coordinates lie side by side.
template <typename T>
__global__ void lorenz(int n, int steps, T step, const T *from, T *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T x = from[i], y = from[n + i], z = from[2 * n + i];
    for (int t = 0; t < steps; t++) {
        T to_x = x, to_y = y, to_z = z, sum_x = 0, sum_y = 0, sum_z = 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            T dx = 10 * (to_y - to_x), dy = to_x * (28 - to_z) - to_y;
            T dz = to_x * to_y - T(8) / 3 * to_z;
            T weight = k == 0 || k == 3 ? 1 : 2, part = k == 2 ? step : step / 2;
            sum_x += weight * dx, sum_y += weight * dy, sum_z += weight * dz;
            to_x = x + part * dx, to_y = y + part * dy, to_z = z + part * dz;
        }
        x += step / 6 * sum_x, y += step / 6 * sum_y, z += step / 6 * sum_z;
    }
    to[i] = x, to[n + i] = y, to[2 * n + i] = z;
}

__constant__ float volatilities[32];

// The value of a swaption in a market model, over a path of RATES forward rates a thread. The rates
// lie in local memory.
template <int RATES>
__global__ void market_model(int paths, float strike, const float *normals, float *values) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float rates[RATES];
    for (int k = 0; k < RATES; k++) rates[k] = 0.05f;
    for (int step = 0; step < RATES / 2; step++) {
        float normal = 0.5f * normals[step * paths + i], drift = 0;
#pragma unroll 1
        for (int k = step + 1; k < RATES; k++) {
            float volatility = volatilities[k - step - 1], part = 0.25f * volatility;
            drift += part * rates[k] / (1 + 0.25f * rates[k]);
            rates[k] *= __expf(part * drift + volatility * (normal - 0.5f * part));
        }
    }
    float bond = 1, annuity = 0;
    for (int k = RATES / 2; k < RATES; k++) {
        bond /= 1 + 0.25f * rates[k];
        annuity += 0.25f * bond;
    }
    values[i] = fmaxf(1 - bond - strike * annuity, 0);
}

// Sobol's points, a row of blocks for each dimension. A thread's points lie 2^shift apart.
__global__ void sobol(int n, int shift, const unsigned *directions, float *to) {
    __shared__ unsigned own[32];
    if (threadIdx.x < 32) own[threadIdx.x] = directions[32 * blockIdx.y + threadIdx.x];
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, bits = 0;
    for (int k = 0; k < shift; k++)
        if ((i ^ i >> 1) >> k & 1) bits ^= own[k];
    float *line = to + (size_t)blockIdx.y * n;
    for (unsigned turn = 1; i < n; turn++) {
        line[i] = bits * 2.3283064e-10f;
        bits ^= own[shift - 1] ^ own[shift + __ffs(turn) - 1];
        i += 1 << shift;
    }
}
