// Races in shared memory, and code that looks like them.
#include "planted.cuh"

/// race: a read after a write of another warp
KERNEL(read_after_write) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT]; // FAULT
    y[AT] = s[127 - threadIdx.x]; // FAULT
}
/// race: the next round writes what another warp still reads
KERNEL(write_after_read) {
    __shared__ float s[128];
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        s[threadIdx.x] = x[AT] + i; // FAULT
        __syncthreads();
        sum += s[(threadIdx.x + 32) % 128]; // FAULT
    }
    y[AT] = sum;
}
/// race: each warp writes another value to one place
KERNEL(write_after_write) {
    __shared__ float s;
    if (threadIdx.x % 32 == 0)
        s = x[AT] + threadIdx.x; // FAULT
    __syncthreads();
    y[AT] = s;
}
/// race: a histogram without atomics
KERNEL(shared_histogram) {
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    bins[threadIdx.x % 8] += 1; // FAULT
    __syncthreads();
    y[AT] = bins[threadIdx.x % 8];
}
/// race: a reduction of a warp by volatile accesses, as for GPUs before Volta
KERNEL(volatile_without_syncwarp) {
    __shared__ volatile float s[128];
    s[threadIdx.x] = x[AT];
    __syncthreads();
    if (threadIdx.x < 32) {
        s[threadIdx.x] += s[threadIdx.x + 16]; // FAULT
        s[threadIdx.x] += s[threadIdx.x + 8]; // FAULT
        y[AT] = s[threadIdx.x];
    }
}
/// race: lanes of one warp exchange without a barrier of the warp
KERNEL(lanes_without_syncwarp) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT]; // FAULT
    y[AT] = s[threadIdx.x ^ 1]; // FAULT
}
/// race: half of the block has a barrier, and the other half reads
KERNEL(barrier_of_one_group) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT]; // FAULT
    if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    y[AT] = s[127 - threadIdx.x]; // FAULT
}
/// race: a barrier of the warp where the block needs one
KERNEL(syncwarp_instead_of_barrier) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT]; // FAULT
    __syncwarp();
    y[AT] = s[(threadIdx.x + 32) % 128]; // FAULT
}
/// race: the second part of dynamic shared memory begins within the first
KERNEL(overlapping_parts) {
    extern __shared__ float d[];
    float *part = threadIdx.x < 64 ? d : d + 60;
    part[threadIdx.x % 64] = x[AT]; // FAULT
    __syncthreads();
    y[AT] = part[threadIdx.x % 64];
}
/// race: a plain read of what other warps still update atomically
KERNEL(atomic_and_plain_read) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, 1); // FAULT
    y[AT] = *(int *)&count; // FAULT
}
/// race: each thread waits for its own copy and reads that of another warp
KERNEL(copy_without_barrier) {
    __shared__ float s[128];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[AT], 4); // FAULT
    __pipeline_commit();
    __pipeline_wait_prior(0);
    y[AT] = s[(threadIdx.x + 32) % 128]; // FAULT
}

/// sound: two buffers in turn, one barrier a round
KERNEL(two_buffers) {
    __shared__ float s[2][128];
    float sum = 0;
    for (int i = 0; i < 6; i++) {
        s[i % 2][threadIdx.x] = x[AT] + i;
        __syncthreads();
        sum += s[i % 2][(threadIdx.x + 32) % 128];
    }
    y[AT] = sum;
}
/// sound: lanes of one warp exchange behind a barrier of the warp
KERNEL(syncwarp) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    __syncwarp();
    y[AT] = s[threadIdx.x ^ 1];
}
/// sound: two halves of the block with a barrier each
KERNEL(named_barriers) {
    __shared__ float s[128];
    int half = threadIdx.x / 64, lane = threadIdx.x % 64;
    s[threadIdx.x] = x[AT];
    asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
    y[AT] = s[64 * half + 63 - lane];
}
/// sound: producers arrive at a barrier at which consumers wait
KERNEL(producer_and_consumer) {
    __shared__ float s[64];
    if (threadIdx.x < 64) {
        s[threadIdx.x] = x[AT];
        __threadfence_block();
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        y[AT] = s[127 - threadIdx.x];
    }
}
/// sound: a histogram by atomics
KERNEL(atomic_histogram) {
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 8], 1);
    __syncthreads();
    y[AT] = bins[threadIdx.x % 8];
}
/// sound: all threads that write store the same value
KERNEL(one_value_stored_by_all) {
    __shared__ int any;
    if (threadIdx.x == 0) any = 0;
    __syncthreads();
    if (x[AT] >= 0.0f) any = 1;
    __syncthreads();
    y[AT] = any;
}
/// sound: a tree with a barrier a level
KERNEL(tree_reduction) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    __syncthreads();
    for (int i = 64; i > 0; i /= 2) {
        if (threadIdx.x < i) s[threadIdx.x] += s[threadIdx.x + i];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
/// sound: a scan in place, with a barrier between the reads and the writes of a round
KERNEL(scan_in_place) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    __syncthreads();
    for (int i = 1; i < 128; i *= 2) {
        float before = threadIdx.x >= i ? s[threadIdx.x - i] : 0.0f;
        __syncthreads();
        s[threadIdx.x] += before;
        __syncthreads();
    }
    y[AT] = s[threadIdx.x];
}
/// sound: a tile turned around in place
KERNEL(transposition_in_place) {
    __shared__ float s[8][17];
    int row = threadIdx.x / 16, column = threadIdx.x % 16;
    s[row][column] = x[AT];
    __syncthreads();
    float opposite = s[7 - row][15 - column];
    __syncthreads();
    s[row][column] = opposite;
    __syncthreads();
    y[AT] = s[7 - row][column];
}
/// sound: a thread of another warp waits for an atomic flag
KERNEL(atomic_flag) {
    __shared__ float value;
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> seen(flag);
    if (threadIdx.x == 0) {
        value = x[AT];
        seen.store(1, cuda::memory_order_release);
    }
    if (threadIdx.x == 64) {
        while (seen.load(cuda::memory_order_acquire) == 0) {}
        y[AT] = value;
    }
}
/// sound: a thread of another warp waits for a volatile flag behind a fence
KERNEL(volatile_flag) {
    __shared__ volatile float value;
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        value = x[AT];
        __threadfence_block();
        flag = 1;
    }
    if (threadIdx.x == 64) {
        while (flag == 0) {}
        __threadfence_block();
        y[AT] = value;
    }
}
/// sound: one thread of each warp takes a lock in shared memory
KERNEL(shared_lock) {
    __shared__ int held, sum;
    if (threadIdx.x == 0) held = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&held, 0, 1) != 0) {}
        __threadfence_block();
        sum += 1;
        __threadfence_block();
        atomicExch(&held, 0);
    }
    __syncthreads();
    y[AT] = sum;
}
/// sound: asynchronous copies into two buffers in turn
KERNEL(copy_pipeline) {
    __shared__ float s[2][128];
    __pipeline_memcpy_async(&s[0][threadIdx.x], &x[AT], 4);
    __pipeline_commit();
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        __pipeline_memcpy_async(&s[(i + 1) % 2][threadIdx.x], &x[(AT + i) % n], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[i % 2][(threadIdx.x + 32) % 128];
        __syncthreads();
    }
    y[AT] = sum;
}
/// sound: an mbarrier at which every thread arrives and waits
KERNEL(mbarrier) {
    __shared__ float s[128];
    __shared__ unsigned long long barrier;
    unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(blockDim.x) : "memory");
    __syncthreads();
    s[threadIdx.x] = x[AT];
    unsigned long long phase;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(phase) : "r"(at) : "memory");
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at), "l"(phase) : "memory");
    y[AT] = s[127 - threadIdx.x];
}
