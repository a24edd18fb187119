// Memory that nobody has written.
#include "planted.cuh"

struct alignas(8) Padded {
    char tag;
    int value;
};

/// init [x=unwritten]: a buffer of which the host wrote nothing
KERNEL(unwritten_read) {
    y[AT] = x[AT] + 1.0f; // FAULT
}
/// init [x=half]: a buffer of which the host wrote the first half
KERNEL(half_unwritten_read) {
    y[AT] = x[AT] + 1.0f; // FAULT
}
/// init: the last element of a shared array is not written
KERNEL(shared_unwritten_read) {
    __shared__ float s[128];
    if (threadIdx.x < 127) s[threadIdx.x] = x[AT];
    __syncthreads();
    y[AT] = s[threadIdx.x]; // FAULT
}
/// init: three of four parts of a vector are written, and all are summed
KERNEL(shared_vector_partly_written) {
    __shared__ float4 s[128];
    s[threadIdx.x].x = x[AT];
    s[threadIdx.x].y = 2.0f;
    s[threadIdx.x].z = 3.0f;
    __syncthreads();
    float4 four = s[threadIdx.x ^ 32]; // FAULT
    y[AT] = four.x + four.y + four.z + four.w;
}
/// init: the padding of structures is compared with the rest
KERNEL(shared_padding_compared) {
    __shared__ Padded s[128];
    s[threadIdx.x].tag = (char)threadIdx.x;
    s[threadIdx.x].value = (int)x[AT];
    __syncthreads();
    const volatile unsigned char *bytes = (const volatile unsigned char *)&s[threadIdx.x ^ 32];
    unsigned sum = 0;
    for (int i = 0; i < (int)sizeof(Padded); i++)
        sum += bytes[i]; // FAULT
    if (sum > 100) y[AT] = 1.0f;
}
/// init: a counter in shared memory that nobody set to zero
KERNEL(shared_atomic_on_unwritten) {
    __shared__ int count;
    atomicAdd(&count, 1); // FAULT
    __syncthreads();
    y[AT] = count;
}
/// init: a reduction over 128 partial sums of which 96 are written
KERNEL(reduction_over_absent_threads) {
    __shared__ float s[128];
    if (threadIdx.x < 96) s[threadIdx.x] = x[AT];
    __syncthreads();
    for (int i = 64; i > 0; i /= 2) {
        if (threadIdx.x < i)
            s[threadIdx.x] += s[threadIdx.x + i]; // FAULT
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}

/// sound [x=half]: only the half that the host wrote is read
KERNEL(half_read) {
    y[AT] = AT < n / 2 ? x[AT] : 0.0f;
}
/// sound [x=unwritten]: the kernel writes the buffer before it reads it
KERNEL(written_first) {
    x[AT] = 1.0f;
    y[AT] = x[AT];
}
/// sound: unwritten elements are loaded and then not selected, as in CUB's merge sort
KERNEL(unwritten_not_selected) {
    __shared__ float s[160];
    s[threadIdx.x] = x[AT];
    __syncthreads();
    const volatile float *v = s;
    float next = v[threadIdx.x + 1], own = v[threadIdx.x];
    y[AT] = threadIdx.x < 127 ? next : own;
}
/// sound: structures with padding are copied as words
KERNEL(padding_copied) {
    __shared__ Padded s[128];
    s[threadIdx.x].tag = (char)threadIdx.x;
    s[threadIdx.x].value = (int)x[AT];
    __syncthreads();
    long long both = *reinterpret_cast<volatile long long *>(&s[threadIdx.x ^ 32]);
    y[AT] = (both & 0xff) + (both >> 32);
}
/// sound: the unwritten part of a vector is loaded and not used
KERNEL(vector_part_not_used) {
    __shared__ float4 s[128];
    s[threadIdx.x].x = x[AT];
    s[threadIdx.x].y = 2.0f;
    __syncthreads();
    float4 four;
    unsigned at = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x ^ 32]);
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w) : "r"(at));
    y[AT] = four.x + four.y;
}
/// sound [block=96]: partial sums of absent warps are exchanged and not added
KERNEL(absent_warps) {
    __shared__ float sums[32];
    float sum = x[AT];
    for (int i = 16; i > 0; i /= 2) sum += __shfl_xor_sync(~0u, sum, i);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    float of_warp = ((volatile float *)sums)[threadIdx.x];
    float total = 0.0f;
    for (int i = 0; i < blockDim.x / 32; i++) total += __shfl_sync(~0u, of_warp, i);
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
