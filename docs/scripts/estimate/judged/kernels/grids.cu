// Stencils and dynamic programming on grids.

// One step of a 7-point stencil: a thread marches along z.
__global__ void laplace(int n, const float *before, float *after) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    int plane = n * n, i = plane + y * n + x;
    float below = before[i - plane], here = before[i];
    for (int z = 1; z < n - 1; z++) {
        float above = before[i + plane];
        after[i] = (below + above + before[i - 1] + before[i + 1] + before[i - n] + before[i + n]) -
                   5.9f * here;
        below = here, here = above, i += plane;
    }
}

// A box filter over a tile in shared memory.
template <int RADIUS> __global__ void box(int n, const float *from, float *to) {
    extern __shared__ float tile[];
    int wide = blockDim.x + 2 * RADIUS, high = blockDim.y + 2 * RADIUS;
    int left = blockIdx.x * blockDim.x - RADIUS, top = blockIdx.y * blockDim.y - RADIUS;
    for (int y = threadIdx.y; y < high; y += blockDim.y)
        for (int x = threadIdx.x; x < wide; x += blockDim.x) {
            int u = min(max(left + x, 0), n - 1), v = min(max(top + y, 0), n - 1);
            tile[y * wide + x] = from[v * n + u];
        }
    __syncthreads();
    float sum = 0;
    for (int dy = 0; dy <= 2 * RADIUS; dy++)
        for (int dx = 0; dx <= 2 * RADIUS; dx++)
            sum += tile[(threadIdx.y + dy) * wide + threadIdx.x + dx];
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    to[y * n + x] = sum * (1.0f / ((2 * RADIUS + 1) * (2 * RADIUS + 1)));
}

// Upwind advection with a limiter, in double precision.
__global__ void advect(int n, double dt, const double *q, const double *u, double *to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 || y < 2 || x >= n - 2 || y >= n - 2) return;
    int i = y * n + x;
    double flux = 0, speed = u[i];
    for (int axis = 0; axis < 2; axis++) {
        int step = axis ? n : 1;
        double back = q[i] - q[i - step], ahead = q[i + step] - q[i];
        double ratio = ahead == 0.0 ? 0.0 : back / ahead;
        double limit = fmax(0.0, fmin(1.0, ratio));
        flux += speed > 0 ? back + 0.5 * limit * ahead : ahead - 0.5 * limit * back;
    }
    to[i] = q[i] - dt * speed * flux;
}

// The cheapest way down `steps` rows of a wall. Blocks overlap by as many columns on both sides.
__global__ void cheapest(int columns, int steps, const int *cost, int *to) {
    extern __shared__ int both[];
    int *line = both, *next = both + blockDim.x;
    int thread = threadIdx.x, own = blockDim.x - 2 * steps;
    int column = (int)(blockIdx.x * own) - steps + thread;
    bool is_in = column >= 0 && column < columns;
    line[thread] = is_in ? cost[column] : 1 << 20;
    __syncthreads();
    for (int step = 1; step <= steps; step++) {
        if (thread >= step && thread < (int)blockDim.x - step && is_in) {
            int least = min(line[thread], min(line[thread - 1], line[thread + 1]));
            next[thread] = least + cost[step * columns + column];
        } else {
            next[thread] = 1 << 20;
        }
        __syncthreads();
        int *other = line;
        line = next, next = other;
    }
    if (thread >= steps && thread < steps + own && column < columns) to[column] = line[thread];
}

// The game of life, one byte a cell.
__global__ void life(int n, const unsigned char *before, unsigned char *after) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    int i = y * n + x, count = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0) count += before[i + dy * n + dx] & 1;
    after[i] = count == 3 || (count == 2 && (before[i] & 1));
}

// The edit distance of two texts in one block, diagonal by diagonal.
__global__ void distance(int length, const unsigned char *one, const unsigned char *other, int *to) {
    extern __shared__ int lines[];
    int *older = lines, *old = lines + length + 1, *now = lines + 2 * (length + 1);
    for (int sum = 0; sum <= 2 * length; sum++) {
        int from = max(0, sum - length), until = min(sum, length);
        for (int i = from + (int)threadIdx.x; i <= until; i += blockDim.x) {
            int j = sum - i, value = max(i, j);
            if (i > 0 && j > 0) {
                int replaced = older[i - 1] + ((one[i - 1] ^ other[j - 1]) & 3 ? 1 : 0);
                value = min(replaced, 1 + min(old[i - 1], old[i]));
            }
            now[i] = value;
        }
        __syncthreads();
        int *free = older;
        older = old, old = now, now = free;
    }
    if (threadIdx.x == 0) *to = old[length];
}
