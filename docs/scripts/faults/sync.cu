// Barriers and the lanes of a warp.
#include "planted.cuh"

/// sync: half of the lanes meet at a barrier of the block
KERNEL(divergent_barrier) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    if (threadIdx.x % 2)
        __syncthreads(); // FAULT
    y[AT] = s[threadIdx.x];
}
/// sync: a barrier for 128 threads at which 64 arrive
KERNEL(barrier_of_too_many) {
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, 128;" ::: "memory"); // FAULT
    y[AT] = x[AT];
}
/// sync: the caller is not in the mask of its shuffle
KERNEL(shuffle_without_the_caller) {
    y[AT] = __shfl_sync(0x0000fffe, x[AT], 1); // FAULT
}
/// sync: a mask with lanes that wait at another barrier
KERNEL(mask_of_absent_lanes) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    if (threadIdx.x % 32 < 16)
        s[threadIdx.x] = __shfl_sync(0xffffffff, x[AT], 1); // FAULT
    __syncthreads(); // FAULT
    y[AT] = s[threadIdx.x];
}
/// sync: the caller is not in the mask of its barrier
KERNEL(syncwarp_without_the_caller) {
    __syncwarp(0x7fffffff); // FAULT
    y[AT] = x[AT];
}
/// sync: a value from a lane that has ended
KERNEL(shuffle_from_an_ended_lane) {
    if (threadIdx.x % 32 >= 16) return;
    y[AT] = __shfl_sync(0x0000ffff, x[AT], 20); // FAULT
}

/// sound: a warp that ends without the barrier of the others
KERNEL(barrier_without_a_warp) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    if (threadIdx.x < 96) __syncthreads();
    y[AT] = s[threadIdx.x];
}
/// sound: warps that end before the barrier of the others
KERNEL(warps_end_early) {
    __shared__ float s[128];
    if (threadIdx.x >= 96) return;
    s[threadIdx.x] = x[AT];
    __syncthreads();
    y[AT] = s[95 - threadIdx.x];
}
/// sound: a barrier in each arm, which need not be the same instruction
KERNEL(barrier_in_both_arms) {
    __shared__ float s[128];
    s[threadIdx.x] = x[AT];
    if (threadIdx.x % 2) {
        __barrier_sync(0);
        y[AT] = s[127 - threadIdx.x];
    } else {
        __barrier_sync(0);
        y[AT] = s[127 - threadIdx.x] + 1.0f;
    }
}
/// sound: two halves of a warp with a mask each
KERNEL(masks_of_halves) {
    unsigned half = threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
    y[AT] = __shfl_xor_sync(half, x[AT], 1);
}
/// sound: the mask of a subset comes from a vote
KERNEL(ballot_then_subset) {
    unsigned some = __ballot_sync(0xffffffff, threadIdx.x % 3 == 0);
    if (threadIdx.x % 3 == 0) y[AT] = __reduce_add_sync(some, 1);
}
/// sound: lanes of both arms exchange with each other
KERNEL(shuffle_in_both_arms) {
    if (threadIdx.x % 2) y[AT] = __shfl_xor_sync(~0u, x[AT], 1) + 1.0f;
    else y[AT] = __shfl_xor_sync(~0u, x[AT], 1) + 2.0f;
}
/// sound: the lanes that are left exchange, with a mask that names those that ended
KERNEL(shuffle_after_early_exit) {
    if (threadIdx.x % 32 >= 24) return;
    y[AT] = __shfl_xor_sync(~0u, x[AT], 1);
}
/// sound: tiles of sixteen lanes
KERNEL(tiles_of_a_group) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    float sum = x[AT];
    for (int i = tile.size() / 2; i > 0; i /= 2) sum += tile.shfl_down(sum, i);
    if (tile.thread_rank() == 0) y[AT / 16] = sum;
}
/// sound: the lanes that took a branch form a group
KERNEL(coalesced_lanes) {
    if (threadIdx.x % 5 < 2) {
        auto group = cg::coalesced_threads();
        y[AT] = group.shfl(x[AT], 0);
    }
}
/// sound: tiles that take other arms than their neighbours
KERNEL(tiles_in_arms) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    if (threadIdx.x / 8 % 2) {
        tile.sync();
        y[AT] = tile.shfl_xor(x[AT], 1);
    } else {
        y[AT] = tile.any(x[AT] > 100.0f);
    }
}
