// Stencils, images and graphs.

// A Jacobi step of Poisson's equation in the plane, from global memory or by a tile.
template <bool TILED>
__global__ void jacobi(int n, const float *before, const float *source, float *after) {
    extern __shared__ float tile[];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int i = y * n + x, pitch = blockDim.x + 2, at = (threadIdx.y + 1) * pitch + threadIdx.x + 1;
    bool is_inside = x > 0 && y > 0 && x < n - 1 && y < n - 1;
    if (TILED) {
        tile[at] = before[i];
        if (threadIdx.x == 0 && x > 0) tile[at - 1] = before[i - 1];
        if (threadIdx.x == blockDim.x - 1 && x < n - 1) tile[at + 1] = before[i + 1];
        if (threadIdx.y == 0 && y > 0) tile[at - pitch] = before[i - n];
        if (threadIdx.y == blockDim.y - 1 && y < n - 1) tile[at + pitch] = before[i + n];
        __syncthreads();
        float sum = 0;
        if (is_inside) sum = tile[at - 1] + tile[at + 1] + tile[at - pitch] + tile[at + pitch];
        if (is_inside) after[i] = 0.25f * (sum - source[i]);
    } else if (is_inside) {
        float sum = before[i - 1] + before[i + 1] + before[i - n] + before[i + n];
        after[i] = 0.25f * (sum - source[i]);
    }
}

// A wave in space, fourth order: two neighbours on each side of three axes.
template <bool TILED>
__global__ void wave(int n, float speed, const float *now, const float *old, float *next) {
    extern __shared__ float tile[];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    const float *here = now + (z * n + y) * n + x;
    int line = n, plane = n * n;
    if (TILED) {
        int wide = blockDim.x + 4, high = blockDim.y + 4, deep = blockDim.z + 4;
        int left = x - threadIdx.x - 2, top = y - threadIdx.y - 2, front = z - threadIdx.z - 2;
        for (int w = threadIdx.z; w < deep; w += blockDim.z)
            for (int v = threadIdx.y; v < high; v += blockDim.y)
                for (int u = threadIdx.x; u < wide; u += blockDim.x) {
                    bool is_in = min(min(left + u, top + v), front + w) >= 0 &&
                                 max(max(left + u, top + v), front + w) < n;
                    int from = ((front + w) * n + top + v) * n + left + u;
                    tile[(w * high + v) * wide + u] = is_in ? now[from] : 0.0f;
                }
        __syncthreads();
        line = wide, plane = wide * high;
        here = tile + (threadIdx.z + 2) * plane + (threadIdx.y + 2) * line + threadIdx.x + 2;
    }
    if (min(min(x, y), z) < 2 || max(max(x, y), z) >= n - 2) return;
    float near = here[-1] + here[1] + here[-line] + here[line] + here[-plane] + here[plane];
    float far = here[-2] + here[2] + here[-2 * line] + here[2 * line] + here[-2 * plane] +
                here[2 * plane];
    int i = (z * n + y) * n + x;
    next[i] = 2 * *here - old[i] + speed * ((16 * near - far) / 12 - 7.5f * *here);
}

__constant__ float taps[17];

// One half of a separable convolution, along rows or along columns; four pixels a thread.
template <int RADIUS, bool COLUMNS> __global__ void convolve(int n, const float *from, float *to) {
    extern __shared__ float tile[];
    int wide = COLUMNS ? blockDim.x : 4 * blockDim.x + 2 * RADIUS;
    int high = COLUMNS ? 4 * blockDim.y + 2 * RADIUS : blockDim.y;
    int left = blockIdx.x * blockDim.x * (COLUMNS ? 1 : 4);
    int top = blockIdx.y * blockDim.y * (COLUMNS ? 4 : 1);
    for (int v = threadIdx.y; v < high; v += blockDim.y)
        for (int u = threadIdx.x; u < wide; u += blockDim.x) {
            int x = left + u - (COLUMNS ? 0 : RADIUS), y = top + v - (COLUMNS ? RADIUS : 0);
            bool is_in = x >= 0 && y >= 0 && x < n && y < n;
            tile[v * wide + u] = is_in ? from[y * n + x] : 0.0f;
        }
    __syncthreads();
#pragma unroll
    for (int pixel = 0; pixel < 4; pixel++) {
        int u = threadIdx.x + (COLUMNS ? 0 : pixel * blockDim.x);
        int v = threadIdx.y + (COLUMNS ? pixel * blockDim.y : 0);
        float sum = 0;
#pragma unroll
        for (int k = 0; k <= 2 * RADIUS; k++)
            sum += taps[k] * (COLUMNS ? tile[(v + k) * wide + u] : tile[v * wide + u + k]);
        to[(top + v) * n + left + u] = sum;
    }
}

// A bilateral filter of an image in colours, four bytes a pixel.
__global__ void bilateral(int n, int radius, const unsigned *from, unsigned *to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    unsigned here = from[y * n + x];
    float red = 0, green = 0, blue = 0, total = 0;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int u = min(max(x + dx, 0), n - 1), v = min(max(y + dy, 0), n - 1);
            unsigned there = from[v * n + u];
            float r = there & 255, g = there >> 8 & 255, b = there >> 16 & 255;
            float dr = r - (here & 255), dg = g - (here >> 8 & 255), db = b - (here >> 16 & 255);
            float exponent = -0.03f * (dx * dx + dy * dy) - 0.0004f * (dr * dr + dg * dg + db * db);
            float weight = __expf(exponent);
            red += weight * r, green += weight * g, blue += weight * b, total += weight;
        }
    float inverse = 1.0f / total;
    to[y * n + x] = (unsigned)(red * inverse) | (unsigned)(green * inverse) << 8 |
                    (unsigned)(blue * inverse) << 16 | (here & 0xff000000u);
}

// A step of a breadth-first search: a thread for a vertex of the frontier.
__global__ void bfs_step(unsigned count, unsigned depth, const unsigned *frontier,
                         const unsigned *starts, const unsigned *edges,
                         volatile unsigned *levels, unsigned *next, unsigned *next_count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned vertex = frontier[i];
    for (unsigned e = starts[vertex]; e < starts[vertex + 1]; e++) {
        unsigned other = edges[e];
        if (levels[other] == 0 && atomicCAS((unsigned *)levels + other, 0u, depth) == 0)
            next[atomicAdd(next_count, 1u)] = other;
    }
}
