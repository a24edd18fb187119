// Kernels with a planted fault (`fault_…`) and their neighbours without one (`clean_…`), for
// ../faults.sh. Each is launched with 2 blocks of 128 threads, n = 256 and 512 bytes of dynamic
// shared memory; `x` and `y` have n elements each. A name with `unwritten` gets `x` as it was
// allocated, with `partly` only its first half written, with `freed` an `x` that was freed, with
// `null` none.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

#define KERNEL(name) extern "C" __global__ void name(float *x, float *y, int n)
#define AT (blockIdx.x * blockDim.x + threadIdx.x)

// Global memory.
KERNEL(fault_global_store_past_end) { y[AT + (AT == n - 1)] = x[AT]; }
KERNEL(fault_global_load_past_end) { y[AT] = x[AT + 1]; }
KERNEL(fault_global_load_before) { y[AT] = x[(int)AT - 1]; }
KERNEL(fault_global_misaligned) {
    if (AT < n / 8) reinterpret_cast<float4 *>(y + 1)[AT] = reinterpret_cast<float4 *>(x)[AT];
}
KERNEL(fault_global_vector_past_end) {
    if (AT == 0) reinterpret_cast<float4 *>(y)[0] = reinterpret_cast<float4 *>(x)[n / 4];
}
KERNEL(fault_global_freed) { y[AT] = x[AT]; }
KERNEL(fault_global_null) { y[AT] = x[AT]; }
KERNEL(fault_global_atomic_past_end) { atomicAdd(&y[n + threadIdx.x % 2], 1.0f); }
KERNEL(fault_global_cached_load_past_end) { y[AT] = __ldg(x + n + AT); }
KERNEL(fault_global_half_past_end) {
    __half *h = reinterpret_cast<__half *>(y);
    h[2 * AT + (AT == n - 1 ? 2 : 0)] = __float2half(x[AT]);
}
KERNEL(fault_global_store_in_one_case) {
    switch ((int)x[AT] % 4) {
    case 0: y[AT] = 1; break;
    case 1: y[AT] = 2; break;
    default: y[n + 8 + threadIdx.x] = 3;
    }
}
KERNEL(fault_global_unwritten_read) { y[AT] = x[AT] + 1.0f; }
KERNEL(fault_global_partly_unwritten_read) { y[AT] = x[AT] + 1.0f; }
KERNEL(clean_global_partly_read) { y[AT] = AT < n / 2 ? x[AT] : 0.0f; }
KERNEL(clean_global_unwritten_x_is_written_first) { x[AT] = 1.0f; y[AT] = x[AT]; }
KERNEL(clean_grid_stride) {
    for (int at = AT; at < n; at += gridDim.x * blockDim.x) y[at] = 2.0f * x[at];
}
KERNEL(clean_vector) {
    if (AT < n / 4) reinterpret_cast<float4 *>(y)[AT] = reinterpret_cast<float4 *>(x)[AT];
}

// Shared memory.
KERNEL(fault_shared_store_past_end) {
    __shared__ float s[128];
    s[threadIdx.x + (threadIdx.x == 127)] = x[AT];
    __syncthreads();
    y[AT] = s[threadIdx.x ^ 1];
}
KERNEL(fault_shared_dynamic_past_end) {
    extern __shared__ float d[];
    d[threadIdx.x] = x[AT];
    __syncthreads();
    y[AT] = d[threadIdx.x + 64];
}
KERNEL(fault_shared_misaligned) {
    __shared__ float s[160];
    s[threadIdx.x] = x[AT];
    s[threadIdx.x % 32 + 128] = 0.0f;
    __syncthreads();
    float2 pair = reinterpret_cast<float2 *>(s + 1)[threadIdx.x / 2];
    y[AT] = pair.x + pair.y;
}
KERNEL(fault_shared_unwritten_read) {
    __shared__ float s[128];
    if (threadIdx.x < 127) s[threadIdx.x] = x[AT];
    __syncthreads();
    y[AT] = s[threadIdx.x];
}
KERNEL(fault_local_past_end) {
    float own[8];
    for (int i = 0; i < 8; i++) own[i] = x[(AT + i) % n];
    int far = (int)x[0] + 1000000 + (int)threadIdx.x;
    y[AT] = own[far];
}

// Races in shared memory.
KERNEL(fault_race_no_barrier_after_store) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    y[AT] = s[127 - threadIdx.x];
}
KERNEL(fault_race_no_barrier_before_next_store) {
    __shared__ float s[128];
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        s[threadIdx.x] = x[AT] + i;
        __syncthreads();
        sum += s[(threadIdx.x + 32) % 128];
    }
    y[AT] = sum;
}
KERNEL(fault_race_two_stores) {
    __shared__ float s;
    if (threadIdx.x % 32 == 0) s = x[AT] + threadIdx.x;
    __syncthreads();
    y[AT] = s;
}
KERNEL(fault_race_histogram) {
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    bins[threadIdx.x % 8] += 1;
    __syncthreads();
    y[AT] = bins[threadIdx.x % 8];
}
KERNEL(fault_race_no_syncwarp) {
    __shared__ volatile float s[128];
    s[threadIdx.x] = x[AT];
    __syncthreads();
    if (threadIdx.x < 32) {
        s[threadIdx.x] += s[threadIdx.x + 16];
        s[threadIdx.x] += s[threadIdx.x + 8];
        y[AT] = s[threadIdx.x];
    }
}
KERNEL(fault_race_no_syncwarp_between_two_lines) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    y[AT] = s[threadIdx.x ^ 1];
}
KERNEL(fault_race_barrier_of_one_group) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    y[AT] = s[127 - threadIdx.x];
}
KERNEL(fault_race_syncwarp_instead_of_barrier) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    __syncwarp();
    y[AT] = s[(threadIdx.x + 32) % 128];
}
KERNEL(fault_race_dynamic_parts) {
    extern __shared__ float d[];
    float *a = d, *b = d + 60; // the second part begins within the first
    if (threadIdx.x < 64) a[threadIdx.x] = x[AT];
    else b[threadIdx.x - 64] = x[AT];
    __syncthreads();
    y[AT] = threadIdx.x < 64 ? a[threadIdx.x] : b[threadIdx.x - 64];
}
KERNEL(clean_barrier) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    __syncthreads();
    y[AT] = s[127 - threadIdx.x];
}
KERNEL(clean_two_buffers) {
    __shared__ float s[2][128];
    float sum = 0;
    for (int i = 0; i < 6; i++) {
        s[i % 2][threadIdx.x] = x[AT] + i;
        __syncthreads();
        sum += s[i % 2][(threadIdx.x + 32) % 128];
    }
    y[AT] = sum;
}
KERNEL(clean_syncwarp) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    __syncwarp();
    y[AT] = s[threadIdx.x ^ 1];
}
KERNEL(clean_named_barriers) {
    __shared__ float s[128];
    int half = threadIdx.x / 64, lane = threadIdx.x % 64;
    s[threadIdx.x] = x[AT];
    asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
    y[AT] = s[64 * half + 63 - lane];
}
KERNEL(clean_producer_and_consumer) {
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
KERNEL(clean_atomic_histogram) {
    __shared__ int bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 8], 1);
    __syncthreads();
    y[AT] = bins[threadIdx.x % 8];
}
KERNEL(clean_one_value_stored_by_all) {
    __shared__ int any;
    if (threadIdx.x == 0) any = 0;
    __syncthreads();
    if (x[AT] >= 0.0f) any = 1;
    __syncthreads();
    y[AT] = any;
}
KERNEL(clean_tiles_of_a_group) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    float sum = x[AT];
    for (int i = tile.size() / 2; i > 0; i /= 2) sum += tile.shfl_down(sum, i);
    if (tile.thread_rank() == 0) y[AT / 16] = sum;
}
KERNEL(clean_tree_reduction) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    __syncthreads();
    for (int i = 64; i > 0; i /= 2) {
        if (threadIdx.x < i) s[threadIdx.x] += s[threadIdx.x + i];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
KERNEL(clean_flag_in_shared_memory) {
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
__device__ unsigned int ended;
KERNEL(clean_last_block_sums) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        y[blockIdx.x] = x[AT];
        __threadfence();
        last = atomicInc(&ended, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) y[2] = ((volatile float *)y)[0] + ((volatile float *)y)[1];
}

// Barriers and the lanes of a warp.
KERNEL(fault_sync_divergent_barrier) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    if (threadIdx.x % 2) __syncthreads();
    y[AT] = s[threadIdx.x];
}
KERNEL(clean_sync_barrier_after_a_warp_has_ended) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    if (threadIdx.x < 96) __syncthreads();
    if (threadIdx.x >= 96) while (((volatile float *)y)[0] == 12345.0f) {}
    y[AT] = s[threadIdx.x];
}
KERNEL(fault_sync_mask_without_the_caller) {
    y[AT] = __shfl_sync(0x0000fffe, x[AT], 1);
}
KERNEL(fault_sync_mask_of_absent_lanes) {
    if (threadIdx.x % 32 < 16) y[AT] = __shfl_sync(0xffffffff, x[AT], 0);
    else y[AT] = __shfl_sync(0xffff0000, x[AT], 16);
}
KERNEL(fault_sync_syncwarp_without_the_caller) {
    __syncwarp(0x7fffffff);
    y[AT] = x[AT];
}
KERNEL(clean_sync_masks_of_halves) {
    unsigned half = threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
    y[AT] = __shfl_xor_sync(half, x[AT], 1);
}
KERNEL(clean_sync_ballot_then_subset) {
    unsigned some = __ballot_sync(0xffffffff, threadIdx.x % 3 == 0);
    if (threadIdx.x % 3 == 0) y[AT] = __reduce_add_sync(some, 1);
}
KERNEL(clean_sync_warps_end_early) {
    __shared__ float s[128];
    if (threadIdx.x >= 96) return;
    s[threadIdx.x] = x[AT];
    __syncthreads();
    y[AT] = s[95 - threadIdx.x];
}
KERNEL(clean_sync_count) {
    y[AT] = __syncthreads_count(x[AT] > 0.5f);
}

// Code that traps.
KERNEL(fault_trap_assert) { if (AT == 5) __trap(); y[AT] = x[AT]; }
