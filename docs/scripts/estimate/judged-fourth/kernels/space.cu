// Grids, scenes and particles.

// Weights of a point and of its neighbours at each distance, on all three axes.
__constant__ float weights[5] = {0.5f, 0.1f, -0.02f, 0.004f, -0.001f};

// A stencil of RADIUS on three axes. A block goes down 16 planes: each thread keeps its column in
// registers, and the plane lies in shared memory. The input has RADIUS more points on each side.
template <int RADIUS> __global__ void march(int n, const float *before, float *after) {
    extern __shared__ float tile[];
    int row = n + 2 * RADIUS, plane = row * row, pitch = blockDim.x + 2 * RADIUS;
    int left = blockIdx.x * blockDim.x, top = blockIdx.y * blockDim.y, first = blockIdx.z * 16;
    const float *start = before + first * plane + top * row + left;
    const float *column = start + (threadIdx.y + RADIUS) * row + threadIdx.x + RADIUS;
    const float *own = tile + (threadIdx.y + RADIUS) * pitch + threadIdx.x + RADIUS;
    float *to = after + (first * n + top + threadIdx.y) * n + left + threadIdx.x;
    float queue[2 * RADIUS + 1];
#pragma unroll
    for (int k = 0; k < 2 * RADIUS; k++) queue[k + 1] = column[k * plane];
    for (int z = 0; z < 16; z++) {
#pragma unroll
        for (int k = 0; k < 2 * RADIUS; k++) queue[k] = queue[k + 1];
        queue[2 * RADIUS] = column[(z + 2 * RADIUS) * plane];
        __syncthreads();
        for (int y = threadIdx.y; y < blockDim.y + 2 * RADIUS; y += blockDim.y)
            for (int x = threadIdx.x; x < pitch; x += blockDim.x)
                tile[y * pitch + x] = start[(z + RADIUS) * plane + y * row + x];
        __syncthreads();
        float sum = weights[0] * queue[RADIUS];
#pragma unroll
        for (int k = 1; k <= RADIUS; k++)
            sum += weights[k] * (queue[RADIUS - k] + queue[RADIUS + k] + own[-k] + own[k] +
                                 own[-k * pitch] + own[k * pitch]);
        to[z * n * n] = sum;
    }
}

struct Hit {
    float from, to;
};

__device__ Hit hit(const float4 *node, float4 origin, float3 inverse) {
    float4 low = node[0], high = node[1];
    float x0 = (low.x - origin.x) * inverse.x, x1 = (high.x - origin.x) * inverse.x;
    float y0 = (low.y - origin.y) * inverse.y, y1 = (high.y - origin.y) * inverse.y;
    float z0 = (low.z - origin.z) * inverse.z, z1 = (high.z - origin.z) * inverse.z;
    return Hit{fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), 0)),
               fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fmaxf(z0, z1))};
}

// How far each ray goes to the nearest of 2^depth boxes, which are the leaves of a full tree of
// boxes. Nodes count from 1. A stack holds the farther nodes.
__global__ void trace(int depth, const float4 *nodes, const float4 *rays, float *distances) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, stack[24], leaves = 1u << depth, node = 1;
    float4 origin = rays[2 * i], direction = rays[2 * i + 1];
    float3 inverse = make_float3(1 / direction.x, 1 / direction.y, 1 / direction.z);
    float nearest = INFINITY;
    int waiting = 0;
    while (true) {
        if (node < leaves) {
            Hit one = hit(nodes + 4 * node, origin, inverse);
            Hit other = hit(nodes + 4 * node + 2, origin, inverse);
            bool first = one.from <= one.to && one.from < nearest;
            bool second = other.from <= other.to && other.from < nearest;
            if (first || second) {
                unsigned near = 2 * node + (!first || (second && other.from < one.from));
                if (first && second) stack[waiting++] = near ^ 1;
                node = near;
                continue;
            }
        } else {
            Hit leaf = hit(nodes + 2 * node, origin, inverse);
            if (leaf.from <= leaf.to) nearest = fminf(nearest, leaf.from);
        }
        if (waiting == 0) break;
        node = stack[--waiting];
    }
    distances[i] = nearest;
}

// The particles nearer than 1 to each particle: those of a cell lie side by side, and candidates
// are in 27 cells. A list has 64 places.
__global__ void list_neighbours(int n, int side, const unsigned *starts, const float4 *places,
                                unsigned *counts, unsigned *lists) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    float4 place = places[i];
    int x = (int)place.x, y = (int)place.y, z = (int)place.z;
    for (int down = max(z - 1, 0); down <= min(z + 1, side - 1); down++)
        for (int across = max(y - 1, 0); across <= min(y + 1, side - 1); across++) {
            int row = (down * side + across) * side;
            unsigned last = starts[row + min(x + 1, side - 1) + 1];
            for (unsigned j = starts[row + max(x - 1, 0)]; j < last; j++) {
                float4 other = places[j];
                float u = other.x - place.x, v = other.y - place.y, w = other.z - place.z;
                if (u * u + v * v + w * w >= 1 || j == i) continue;
                if (count < 64) lists[count * n + i] = j;
                count++;
            }
        }
    counts[i] = count;
}

// The cubic of Catmull and Rom between the second and the third of four values.
__device__ float between(const float *values, float part) {
    float a = values[0], b = values[1], c = values[2], d = values[3];
    float slope = 0.5f * (c - a), square = a - 2.5f * b + 2 * c - 0.5f * d;
    float cube = 0.5f * (d - a) + 1.5f * (b - c);
    return ((cube * part + square) * part + slope) * part + b;
}

// Turns an image about its middle, by cubic interpolation. Outside, the nearest pixel counts.
__global__ void turn(int n, float cosine, float sine, const float *from, float *to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float right = x - 0.5f * n, below = y - 0.5f * n;
    float u = cosine * right - sine * below + 0.5f * n;
    float v = sine * right + cosine * below + 0.5f * n;
    int column = (int)floorf(u), row = (int)floorf(v);
    float lines[4], values[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int line = min(max(row + j - 1, 0), n - 1) * n;
#pragma unroll
        for (int i = 0; i < 4; i++) values[i] = from[line + min(max(column + i - 1, 0), n - 1)];
        lines[j] = between(values, u - column);
    }
    to[y * n + x] = between(lines, v - row);
}
