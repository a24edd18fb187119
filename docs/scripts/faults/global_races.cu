// Races in global memory, and code that looks like them.
#include "planted.cuh"

__device__ unsigned finished, arrived, slots, held, total, flags[64];

__device__ unsigned load_acquire(unsigned *at) {
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}
__device__ void store_release(unsigned *at, unsigned value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

/// race [grid=1]: each thread overwrites what the one before it reads
KERNEL(shift_in_place) {
    if (AT < 127)
        y[AT] = y[AT + 1] + 1.0f; // FAULT
}
/// race: a stencil in place, of which the halo belongs to the other block
KERNEL(stencil_in_place) {
    float right = AT < n - 1 ? y[AT + 1] : 0.0f; // FAULT
    __syncthreads();
    y[AT] = right + x[AT]; // FAULT
}
/// race: all threads add to one place without atomics
KERNEL(lost_update) {
    y[0] += x[AT]; // FAULT
}
/// race: the number of the next slot is counted without atomics
KERNEL(append_without_atomics) {
    int slot = (int)y[0]; // FAULT
    y[0] = slot + 1 + x[AT]; // FAULT
    y[1 + slot % 100] = x[AT];
}
/// race [grid=8 block=32]: the block before writes its sum and then a flag, with no fence between
KERNEL(look_back_without_fence) {
    volatile unsigned *flag = flags;
    if (threadIdx.x > 0) return;
    float before = 0.0f;
    if (blockIdx.x > 0) {
        while (flag[blockIdx.x - 1] == 0) {}
        before = y[blockIdx.x - 1]; // FAULT
    }
    y[blockIdx.x] = before + 1.0f; // FAULT
    flag[blockIdx.x] = 1;
}
/// race [grid=8 block=32]: the block before writes a flag by a plain store
KERNEL(look_back_by_plain_flag) {
    if (threadIdx.x > 0) return;
    float before = 0.0f;
    if (blockIdx.x > 0 && flags[blockIdx.x - 1] == 1) // FAULT
        before = ((volatile float *)y)[blockIdx.x - 1];
    y[blockIdx.x] = before + 1.0f;
    __threadfence();
    flags[blockIdx.x] = 1; // FAULT
}

/// sound: the last block adds the sums of all
KERNEL(last_block_sums) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        y[blockIdx.x] = x[AT];
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) y[2] = ((volatile float *)y)[0] + ((volatile float *)y)[1];
}
/// sound: slots are counted by atomics, and only their order depends on the run
KERNEL(append) {
    unsigned slot = atomicAdd(&slots, 1);
    y[slot] = x[AT];
}
/// sound: one lane counts the slots of its warp
KERNEL(append_by_warps) {
    bool mine = AT % 3 == 0;
    unsigned mask = __ballot_sync(~0u, mine), lane = threadIdx.x % 32, first = 0;
    if (lane == 0) first = atomicAdd(&slots, __popc(mask));
    first = __shfl_sync(~0u, first, 0);
    if (mine) y[first + __popc(mask & ((1u << lane) - 1))] = x[AT];
}
/// sound: several blocks store the same value
KERNEL(all_write_one_value) {
    y[0] = 1.0f;
    if (AT % 7 == 0) y[3] = 5.0f;
}
/// sound: each block turns its part around in place
KERNEL(reverse_in_place) {
    y[AT] = x[AT];
    __syncthreads();
    float opposite = y[blockIdx.x * blockDim.x + blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    y[AT] = opposite;
}
/// sound: two buffers in turn, and a barrier of the grid by hand between the rounds
KERNEL(grid_barrier) {
    float *from = x, *to = y;
    for (unsigned round = 1; round <= 4; round++) {
        to[AT] = from[(AT + 1) % n] + from[(AT + n - 1) % n];
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(&arrived, 1);
            while (*(volatile unsigned *)&arrived < round * gridDim.x) {}
            __threadfence();
        }
        __syncthreads();
        float *other = from;
        from = to;
        to = other;
    }
}
/// sound [cooperative]: a stencil in place between barriers of the grid
KERNEL(grid_sync) {
    auto grid = cg::this_grid();
    for (int round = 0; round < 3; round++) {
        float value = y[(AT + 128) % n];
        grid.sync();
        y[AT] = value + x[AT];
        grid.sync();
    }
}
/// sound [grid=8 block=32]: look-back by release and acquire
KERNEL(look_back_by_release) {
    if (threadIdx.x > 0) return;
    float before = 0.0f;
    if (blockIdx.x > 0) {
        while (load_acquire(&flags[blockIdx.x - 1]) == 0) {}
        before = y[blockIdx.x - 1];
    }
    y[blockIdx.x] = before + 1.0f;
    store_release(&flags[blockIdx.x], 1);
}
/// sound [grid=8 block=32]: look-back by volatile flags and fences
KERNEL(look_back_by_fence) {
    volatile unsigned *flag = flags;
    if (threadIdx.x > 0) return;
    float before = 0.0f;
    if (blockIdx.x > 0) {
        while (flag[blockIdx.x - 1] == 0) {}
        __threadfence();
        before = y[blockIdx.x - 1];
    }
    y[blockIdx.x] = before + 1.0f;
    __threadfence();
    flag[blockIdx.x] = 1;
}
/// sound [grid=8 block=32]: flag and value are one word, so there is nothing else to order
KERNEL(look_back_by_one_word) {
    volatile unsigned *state = flags;
    if (threadIdx.x > 0) return;
    unsigned before = 1;
    if (blockIdx.x > 0)
        while (((before = state[blockIdx.x - 1]) & 1) == 0) {}
    state[blockIdx.x] = ((before >> 1) + blockIdx.x) << 1 | 1;
    y[blockIdx.x] = before;
}
/// sound: every thread takes one lock in turn
KERNEL(lock) {
    for (bool done = false; !done;) {
        if (atomicCAS(&held, 0, 1) == 0) {
            __threadfence();
            total += 1;
            __threadfence();
            atomicExch(&held, 0);
            done = true;
        }
    }
}
