// Accesses to memory that is not there, and accesses at its very edge.
#include "planted.cuh"

/// memory: the last thread stores behind the buffer
KERNEL(store_past_end) {
    y[AT + (AT == n - 1)] = x[AT]; // FAULT
}
/// memory: the last thread loads from behind the buffer
KERNEL(load_past_end) {
    y[AT] = x[AT + 1]; // FAULT
}
/// memory: the first thread loads from before the buffer
KERNEL(load_before) {
    y[AT] = x[(int)AT - 1]; // FAULT
}
/// memory: four floats from an address that is a multiple of one
KERNEL(misaligned) {
    if (AT >= n / 8) return;
    float4 four = reinterpret_cast<float4 *>(x)[AT];
    reinterpret_cast<float4 *>(y + 1)[AT] = four; // FAULT
}
/// memory: four floats of which the first is behind the buffer
KERNEL(vector_past_end) {
    if (AT == 0) reinterpret_cast<float4 *>(y)[0] = reinterpret_cast<float4 *>(x)[n / 4]; // FAULT
}
/// memory [x=freed]: a buffer that the host has freed
KERNEL(freed) {
    y[AT] = x[AT]; // FAULT
}
/// memory [x=null]: a null pointer
KERNEL(null_pointer) {
    y[AT] = x[AT]; // FAULT
}
/// memory: a pointer made of data
KERNEL(wild_pointer) {
    float *wild = reinterpret_cast<float *>((unsigned long long)(x[AT] + 4096.0f) << 32);
    y[AT] = *wild; // FAULT
}
/// memory: an atomic operation behind the buffer
KERNEL(atomic_past_end) {
    atomicAdd(&y[n + threadIdx.x % 2], 1.0f); // FAULT
}
/// memory: a load through the read-only path from behind the buffer
KERNEL(cached_load_past_end) {
    y[AT] = __ldg(x + n + AT); // FAULT
}
/// memory: one arm of several stores behind the buffer
KERNEL(store_in_one_case) {
    switch ((int)x[AT] % 4) {
    case 0: y[AT] = 1; break;
    case 1: y[AT] = 2; break;
    default: y[n + 8 + threadIdx.x] = 3; // FAULT
    }
}
/// memory: an index behind a shared array, where dynamic shared memory follows
KERNEL(shared_store_past_end) {
    __shared__ float s[128];
    s[threadIdx.x + (threadIdx.x == 127)] = x[AT]; // FAULT
    __syncthreads();
    y[AT] = s[threadIdx.x ^ 1];
}
/// memory: an index behind dynamic shared memory
KERNEL(shared_dynamic_past_end) {
    extern __shared__ float d[];
    d[threadIdx.x] = x[AT];
    __syncthreads();
    y[AT] = d[threadIdx.x + 64]; // FAULT
}
/// memory: two floats from an address in shared memory that is a multiple of one
KERNEL(shared_misaligned) {
    __shared__ float s[160];
    s[threadIdx.x] = x[AT];
    s[threadIdx.x % 32 + 128] = 0.0f;
    __syncthreads();
    float2 pair = reinterpret_cast<float2 *>(s + 1)[threadIdx.x / 2]; // FAULT
    y[AT] = pair.x + pair.y;
}
/// memory: an index behind an array of the thread
KERNEL(local_past_end) {
    float own[8];
    for (int i = 0; i < 8; i++) own[i] = x[(AT + i) % n];
    int far = (int)x[0] + 1000000 + (int)threadIdx.x;
    y[AT] = own[far]; // FAULT
}

/// sound: the last vector ends where the buffer ends
KERNEL(vector_at_the_end) {
    if (AT < n / 4) reinterpret_cast<float4 *>(y)[AT] = reinterpret_cast<float4 *>(x)[AT];
}
/// sound: the last element of a padded shared array
KERNEL(padded_tile) {
    __shared__ float tile[32][33];
    for (int row = threadIdx.x / 32; row < 32; row += 4)
        tile[row][threadIdx.x % 32] = x[(row * 32 + threadIdx.x % 32) % n];
    __syncthreads();
    for (int row = threadIdx.x / 32; row < 32; row += 4)
        y[(row * 8 + blockIdx.x) % n] = tile[threadIdx.x % 32][row];
}
/// sound: dynamic shared memory to its last byte, in parts of two types
KERNEL(dynamic_parts) {
    extern __shared__ double parts[];
    double *wide = parts;
    float *narrow = reinterpret_cast<float *>(wide + 32);
    if (threadIdx.x < 32) wide[threadIdx.x] = x[AT];
    else if (threadIdx.x < 96) narrow[threadIdx.x - 32] = x[AT];
    __syncthreads();
    y[AT] = (float)wide[threadIdx.x % 32] + narrow[threadIdx.x % 64];
}
/// sound: an array of the thread with an index that depends on data
KERNEL(local_array) {
    float own[8];
    for (int i = 0; i < 8; i++) own[i] = x[(AT + i) % n];
    y[AT] = own[(int)x[AT] % 8];
}
