// One Jacobi step of the Laplace equation on an n by n grid. 0.25f is what is changed.

extern "C" __global__ void jacobi(unsigned n, const float *before, float *after) {
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) {
        return;
    }
    unsigned i = row * n + column;
    bool inner = column > 0 && row > 0 && column < n - 1 && row < n - 1;
    after[i] = inner ? 0.25f * ((before[i - 1] + before[i + 1]) + (before[i - n] + before[i + n]))
                     : before[i];
}
