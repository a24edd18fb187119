// One instruction a kernel: loads and stores by width and space, atomics, copies, matrices.
//
// Every kernel takes (out, in, a, b, c), two arrays of 4 MiB. The lanes of the mask `c` access PLACE in a
// piece of memory of their own warp: `b` is an offset, and in its upper half by how many bits the lane's
// number is shifted, and how many of its upper bits are dropped.
typedef unsigned u32;
typedef unsigned long long u64;

#define LANE (threadIdx.x & 31u)
#define PLACE (a * (LANE >> (b >> 16 & 7) & 31u >> (b >> 20 & 7)) + (b & 0xffff))
#define WARP ((blockIdx.x * blockDim.x + threadIdx.x) >> 5)
#define ACTIVE if (c >> LANE & 1)
#define KERNEL(name) extern "C" __global__ void name(u32 *out, const u32 *in, u32 a, u32 b, u32 c)
#define RESULT out[blockIdx.x * blockDim.x + threadIdx.x]
#define SHARED_BYTES 16384
#define PIECE 8192

__device__ __forceinline__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

// ptxas narrows a load of which only a part is used.
__device__ __forceinline__ u32 folded(u64 v) { return (u32)v ^ (u32)(v >> 32); }

#define FILLED_SHARED                                                                              \
    __shared__ __align__(16) u32 s[SHARED_BYTES / 4];                                              \
    for (u32 i = threadIdx.x; i < SHARED_BYTES / 4; i += blockDim.x)                               \
        asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(shared_address(s + i)), "r"(i) : "memory"); \
    __syncthreads();

#define FROM_GLOBAL const char *p = (const char *)in + WARP * PIECE + PLACE;
#define TO_GLOBAL char *p = (char *)out + (1 << 20) + WARP * PIECE + PLACE;
#define IN_SHARED FILLED_SHARED u32 p = shared_address(s) + (threadIdx.x >> 5) * PIECE + PLACE;
#define GENERIC_SHARED FILLED_SHARED char *p = (char *)s + (threadIdx.x >> 5) * PIECE + PLACE;

// Loads: the statement, the registers it fills and what becomes of them.
#define LOAD_1(op, at, type, constraint)                                                           \
    type v = 0;                                                                                    \
    ACTIVE asm volatile(op " %0, [%1];" : "+" constraint(v) : at(p));                              \
    RESULT = folded(v);
#define LOAD_2(op, at, type, constraint)                                                           \
    type v = 0, w = 0;                                                                             \
    ACTIVE asm volatile(op " {%0, %1}, [%2];" : "+" constraint(v), "+" constraint(w) : at(p));     \
    RESULT = folded(v) ^ folded(w);
#define LOAD_4(op, at, type, constraint)                                                           \
    type v = 0, w = 0, x = 0, y = 0;                                                               \
    ACTIVE asm volatile(op " {%0, %1, %2, %3}, [%4];"                                              \
                        : "+" constraint(v), "+" constraint(w), "+" constraint(x), "+" constraint(y) \
                        : at(p));                                                                  \
    RESULT = folded(v) ^ folded(w) ^ folded(x) ^ folded(y);
#define STORE_1(op, at, type, constraint)                                                          \
    type v = (type)threadIdx.x;                                                                    \
    ACTIVE asm volatile(op " [%1], %0;" ::constraint(v), at(p) : "memory");
#define STORE_2(op, at, type, constraint)                                                          \
    type v = (type)threadIdx.x;                                                                    \
    ACTIVE asm volatile(op " [%1], {%0, %0};" ::constraint(v), at(p) : "memory");
#define STORE_4(op, at, type, constraint)                                                          \
    type v = (type)threadIdx.x;                                                                    \
    ACTIVE asm volatile(op " [%1], {%0, %0, %0, %0};" ::constraint(v), at(p) : "memory");

#define WIDTH(name, suffix, n, type, constraint)                                                   \
    KERNEL(load_global_##name) { FROM_GLOBAL LOAD_##n("ld.global" suffix, "l", type, constraint) } \
    KERNEL(load_shared_##name) { IN_SHARED LOAD_##n("ld.shared" suffix, "r", type, constraint) }   \
    KERNEL(load_generic_shared_##name) { GENERIC_SHARED LOAD_##n("ld" suffix, "l", type, constraint) } \
    KERNEL(store_global_##name) { TO_GLOBAL STORE_##n("st.global" suffix, "l", type, constraint) } \
    KERNEL(store_shared_##name) { IN_SHARED STORE_##n("st.shared" suffix, "r", type, constraint) } \
    KERNEL(store_generic_shared_##name) { GENERIC_SHARED STORE_##n("st" suffix, "l", type, constraint) }

WIDTH(u8, ".u8", 1, unsigned short, "h")
WIDTH(u16, ".u16", 1, unsigned short, "h")
WIDTH(u32, ".u32", 1, u32, "r")
WIDTH(u64, ".u64", 1, u64, "l")
WIDTH(v4_u8, ".v4.u8", 4, unsigned short, "h")
WIDTH(v2_u32, ".v2.u32", 2, u32, "r")
WIDTH(v4_u32, ".v4.u32", 4, u32, "r")
WIDTH(v2_u64, ".v2.u64", 2, u64, "l")

KERNEL(load_generic_global_u32) { FROM_GLOBAL LOAD_1("ld.u32", "l", u32, "r") }
KERNEL(load_generic_global_v4_u32) { FROM_GLOBAL LOAD_4("ld.v4.u32", "l", u32, "r") }
KERNEL(store_generic_global_u32) { TO_GLOBAL STORE_1("st.u32", "l", u32, "r") }
KERNEL(load_volatile_global_u32) { FROM_GLOBAL LOAD_1("ld.volatile.global.u32", "l", u32, "r") }
KERNEL(load_acquire_global_u32) { FROM_GLOBAL LOAD_1("ld.acquire.gpu.global.u32", "l", u32, "r") }
KERNEL(store_release_global_u32) { TO_GLOBAL STORE_1("st.release.gpu.global.u32", "l", u32, "r") }
KERNEL(load_global_nc_u32) { FROM_GLOBAL LOAD_1("ld.global.nc.u32", "l", u32, "r") }
KERNEL(load_global_nc_v4_u32) { FROM_GLOBAL LOAD_4("ld.global.nc.v4.u32", "l", u32, "r") }

// Lanes of the mask `c` go to shared memory, the others to global memory, by one instruction.
KERNEL(load_mixed_u32) {
    GENERIC_SHARED
    const char *q = (const char *)in + WARP * PIECE + PLACE;
    const char *r = c >> LANE & 1 ? p : q;
    u32 v;
    asm volatile("ld.u32 %0, [%1];" : "=r"(v) : "l"(r));
    RESULT = v;
}
KERNEL(store_mixed_u32) {
    GENERIC_SHARED
    char *q = (char *)out + (1 << 20) + WARP * PIECE + PLACE;
    char *r = c >> LANE & 1 ? p : q;
    asm volatile("st.u32 [%0], %1;" ::"l"(r), "r"(threadIdx.x) : "memory");
}

// Local memory: an array that no register can hold.
KERNEL(load_narrowed_global) { FROM_GLOBAL u64 v = 0; ACTIVE asm volatile("ld.global.u64 %0, [%1];" : "+l"(v) : "l"(p)); RESULT = (u32)v; }
KERNEL(load_narrowed_shared) { IN_SHARED u64 v = 0; ACTIVE asm volatile("ld.shared.u64 %0, [%1];" : "+l"(v) : "r"(p)); RESULT = (u32)v; }
KERNEL(local_array) {
    u32 v[64];
#pragma unroll 1
    for (u32 i = 0; i < 64; i++) v[i * a & 63] = in[i + threadIdx.x];
    ACTIVE RESULT = v[LANE * b & 63];
}

// Atomics: with the old value, without, and as a reduction.
#define ATOMIC_1(space, at, p, op, type, constraint, value)                                        \
    type v = value, old;                                                                           \
    ACTIVE {                                                                                       \
        asm volatile("atom" space op " %0, [%1], %2;" : "=" constraint(old) : at(p), constraint(v) : "memory"); \
        RESULT = (u32)old;                                                                         \
    }
#define UNUSED_1(space, at, p, op, type, constraint, value)                                        \
    type v = value, old;                                                                           \
    ACTIVE asm volatile("atom" space op " %0, [%1], %2;" : "=" constraint(old) : at(p), constraint(v) : "memory");
#define REDUCE_1(space, at, p, op, type, constraint, value)                                        \
    type v = value;                                                                                \
    ACTIVE asm volatile("red" space op " [%0], %1;" ::at(p), constraint(v) : "memory");

#define ATOMIC(name, op, type, constraint, value)                                                  \
    KERNEL(atom_global_##name) { TO_GLOBAL ATOMIC_1(".global", "l", p, op, type, constraint, value) } \
    KERNEL(unused_global_##name) { TO_GLOBAL UNUSED_1(".global", "l", p, op, type, constraint, value) } \
    KERNEL(atom_shared_##name) { IN_SHARED ATOMIC_1(".shared", "r", p, op, type, constraint, value) } \
    KERNEL(unused_shared_##name) { IN_SHARED UNUSED_1(".shared", "r", p, op, type, constraint, value) }
#define REDUCTION(name, op, type, constraint, value)                                               \
    ATOMIC(name, op, type, constraint, value)                                                      \
    KERNEL(red_global_##name) { TO_GLOBAL REDUCE_1(".global", "l", p, op, type, constraint, value) }

REDUCTION(add_u32, ".add.u32", u32, "r", threadIdx.x)
REDUCTION(add_u64, ".add.u64", u64, "l", threadIdx.x)
REDUCTION(add_f32, ".add.f32", float, "f", (float)threadIdx.x)
REDUCTION(add_f64, ".add.f64", double, "d", (double)threadIdx.x)
REDUCTION(add_f16x2, ".add.noftz.f16x2", u32, "r", 0x3c003c00)
REDUCTION(add_bf16x2, ".add.noftz.bf16x2", u32, "r", 0x3f803f80)
REDUCTION(min_s32, ".min.s32", int, "r", (int)threadIdx.x - 40)
REDUCTION(max_u32, ".max.u32", u32, "r", threadIdx.x)
REDUCTION(min_s64, ".min.s64", long long, "l", threadIdx.x)
REDUCTION(max_u64, ".max.u64", u64, "l", threadIdx.x)
REDUCTION(and_b32, ".and.b32", u32, "r", threadIdx.x)
REDUCTION(or_b64, ".or.b64", u64, "l", threadIdx.x)
REDUCTION(xor_b32, ".xor.b32", u32, "r", threadIdx.x)
REDUCTION(inc_u32, ".inc.u32", u32, "r", 77)
REDUCTION(dec_u32, ".dec.u32", u32, "r", 77)
ATOMIC(exch_b32, ".exch.b32", u32, "r", threadIdx.x)
ATOMIC(exch_b64, ".exch.b64", u64, "l", threadIdx.x)

#define SWAP(name, op, type, constraint)                                                           \
    KERNEL(name##_global) {                                                                        \
        TO_GLOBAL type old;                                                                        \
        ACTIVE {                                                                                   \
            asm volatile("atom.global" op " %0, [%1], %2, %3;" : "=" constraint(old) : "l"(p), constraint((type)0), constraint((type)threadIdx.x) : "memory"); \
            RESULT = (u32)old;                                                                     \
        }                                                                                          \
    }                                                                                              \
    KERNEL(name##_unused_global) {                                                                 \
        TO_GLOBAL type old;                                                                        \
        ACTIVE asm volatile("atom.global" op " %0, [%1], %2, %3;" : "=" constraint(old) : "l"(p), constraint((type)0), constraint((type)threadIdx.x) : "memory"); \
    }                                                                                              \
    KERNEL(name##_shared) {                                                                        \
        IN_SHARED type old;                                                                        \
        ACTIVE {                                                                                   \
            asm volatile("atom.shared" op " %0, [%1], %2, %3;" : "=" constraint(old) : "r"(p), constraint((type)0), constraint((type)threadIdx.x) : "memory"); \
            RESULT = (u32)old;                                                                     \
        }                                                                                          \
    }
SWAP(cas_b32, ".cas.b32", u32, "r")
SWAP(cas_b64, ".cas.b64", u64, "l")
KERNEL(cas_b16_global) {
    TO_GLOBAL unsigned short old;
    ACTIVE {
        asm volatile("atom.global.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "l"(p), "h"((unsigned short)0), "h"((unsigned short)1) : "memory");
        RESULT = old;
    }
}
KERNEL(atom_generic_add_u32) { TO_GLOBAL ATOMIC_1("", "l", p, ".add.u32", u32, "r", threadIdx.x) }
KERNEL(unused_generic_add_u32) { TO_GLOBAL UNUSED_1("", "l", p, ".add.u32", u32, "r", threadIdx.x) }
KERNEL(atom_generic_shared_add_u32) { GENERIC_SHARED ATOMIC_1("", "l", p, ".add.u32", u32, "r", threadIdx.x) }

// Copies from global to shared memory, and what a copy of no bytes counts.
#define COPY(name, op, last)                                                                       \
    KERNEL(name) {                                                                                 \
        __shared__ __align__(16) u32 s[SHARED_BYTES / 4];                                          \
        u32 to = shared_address(s) + (threadIdx.x >> 5) * PIECE + 16 * LANE;                       \
        FROM_GLOBAL                                                                                \
        ACTIVE asm volatile(op " [%0], [%1], " last ";" ::"r"(to), "l"(p), "r"(LANE < 8 ? 0 : 4) : "memory"); \
        asm volatile("cp.async.wait_all;" ::: "memory");                                           \
        __syncthreads();                                                                           \
        u32 v = 0;                                                                                 \
        ACTIVE v = s[(threadIdx.x >> 5) * (PIECE / 4) + 4 * LANE];                                 \
        RESULT = v;                                                                                \
    }
COPY(copy_4, "cp.async.ca.shared.global", "4")
COPY(copy_8, "cp.async.ca.shared.global", "8")
COPY(copy_16, "cp.async.ca.shared.global", "16")
COPY(copy_16_bypass, "cp.async.cg.shared.global", "16")
COPY(copy_4_part, "cp.async.ca.shared.global", "4, %2")
COPY(copy_16_bypass_part, "cp.async.cg.shared.global", "16, %2")

// Matrices: eight rows of 16 bytes a matrix.
#define MATRIX(name, op, registers, ...)                                                           \
    KERNEL(name) {                                                                                 \
        IN_SHARED                                                                                  \
        u32 v = 0, w = 0, x = 0, y = 0;                                                            \
        asm volatile(op " " registers ", [%4];" : "+r"(v), "+r"(w), "+r"(x), "+r"(y) : "r"(p));    \
        RESULT = v ^ w ^ x ^ y;                                                                    \
    }
MATRIX(matrix_x1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16", "{%0}")
MATRIX(matrix_x2, "ldmatrix.sync.aligned.m8n8.x2.shared.b16", "{%0, %1}")
MATRIX(matrix_x4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "{%0, %1, %2, %3}")
MATRIX(matrix_x4_trans, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "{%0, %1, %2, %3}")
