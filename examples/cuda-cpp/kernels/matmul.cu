// c <- a b on tensor cores: a has m rows and k columns, b has k rows and n columns, both of halves; c
// is of floats. All are stored by rows.
//
// A block of 256 threads computes a tile of TILE by TILE. It copies slices of a and b into shared
// memory, STAGES of them ahead (cp.async), loads fragments (ldmatrix), and multiplies them
// (mma.sync.m16n8k16), all of which needs compute capability 8.0.
//
// m, n and k are multiples of TILE. matmul.ptx is this file compiled by kernels/compile.py.

// What cuda_fp16.h and cuda_bf16.h call them. The kernel only moves halves, and instructions multiply
// them, so it does without these headers.
struct __align__(2) __half {
    unsigned short bits;
};
struct __align__(2) __nv_bfloat16 {
    unsigned short bits;
};

constexpr int THREADS = 256;
constexpr int STAGES = 3;
// Columns of a slice of a, and rows of one of b.
constexpr int DEPTH = 32;
// 16 bytes: rows of shared memory end with as many that nobody uses, so that eight rows of a matrix
// lie in different banks.
constexpr int PAD = 8;

__device__ __forceinline__ unsigned shared_address(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies 16 bytes to shared memory, beside what the thread does next.
__device__ __forceinline__ void copy_16(void *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

__device__ __forceinline__ void load_a(unsigned (&a)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(row)));
}

// Two neighbours of 8 columns each.
__device__ __forceinline__ void load_b(unsigned (&b)[2][2], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0][0]), "=r"(b[0][1]), "=r"(b[1][0]), "=r"(b[1][1])
                 : "r"(shared_address(row)));
}

#define MULTIPLY(type)                                                                          \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 "                 \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"              \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4],
                                         const unsigned (&b)[2], const __half *) {
    MULTIPLY("f16");
}

__device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4],
                                         const unsigned (&b)[2], const __nv_bfloat16 *) {
    MULTIPLY("bf16");
}

template <int TILE, typename T>
__global__ void __launch_bounds__(THREADS)
    matmul(unsigned m, unsigned n, unsigned k, const T *a, const T *b, float *c) {
    // Two warps share the rows of the tile, and four its columns.
    constexpr int ROWS = TILE / 2, COLUMNS = TILE / 4;
    constexpr int DOWN = ROWS / 16, ACROSS = COLUMNS / 8;
    extern __shared__ __align__(16) unsigned char memory[];
    using SliceOfA = T[TILE][DEPTH + PAD];
    using SliceOfB = T[DEPTH][TILE + PAD];
    SliceOfA *slices_of_a = reinterpret_cast<SliceOfA *>(memory);
    SliceOfB *slices_of_b = reinterpret_cast<SliceOfB *>(memory + STAGES * sizeof(SliceOfA));

    unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    unsigned first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
    unsigned of_row = warp / 4 * ROWS, of_column = warp % 4 * COLUMNS;

    auto start = [&](unsigned slice) {
        if (slice * DEPTH < k) {
            auto &to_a = slices_of_a[slice % STAGES];
            auto &to_b = slices_of_b[slice % STAGES];
            const T *from_a = a + size_t(first_row) * k + slice * DEPTH;
            const T *from_b = b + size_t(slice) * DEPTH * n + first_column;
            for (int i = 0; i < TILE * DEPTH / 8 / THREADS; i++) {
                unsigned at = thread + i * THREADS;
                unsigned row = at / (DEPTH / 8), column = at % (DEPTH / 8) * 8;
                copy_16(&to_a[row][column], from_a + size_t(row) * k + column);
                row = at / (TILE / 8), column = at % (TILE / 8) * 8;
                copy_16(&to_b[row][column], from_b + size_t(row) * n + column);
            }
        }
        // An empty group, too, keeps their number right.
        asm volatile("cp.async.commit_group;");
    };

    float sums[DOWN][ACROSS][4] = {};
    for (unsigned slice = 0; slice < STAGES - 1; slice++) {
        start(slice);
    }
    for (unsigned slice = 0; slice * DEPTH < k; slice++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        start(slice + STAGES - 1);
        auto &of_a = slices_of_a[slice % STAGES];
        auto &of_b = slices_of_b[slice % STAGES];
#pragma unroll
        for (int depth = 0; depth < DEPTH; depth += 16) {
            unsigned fragments_of_a[DOWN][4], fragments_of_b[ACROSS][2];
#pragma unroll
            for (int i = 0; i < DOWN; i++) {
                load_a(fragments_of_a[i],
                       &of_a[of_row + 16 * i + lane % 16][depth + lane / 16 * 8]);
            }
#pragma unroll
            for (int j = 0; j < ACROSS; j += 2) {
                unsigned(&two)[2][2] = reinterpret_cast<unsigned(&)[2][2]>(fragments_of_b[j]);
                load_b(two, &of_b[depth + lane % 16][of_column + 8 * j + lane / 16 * 8]);
            }
#pragma unroll
            for (int i = 0; i < DOWN; i++) {
#pragma unroll
                for (int j = 0; j < ACROSS; j++) {
                    multiply(sums[i][j], fragments_of_a[i], fragments_of_b[j], a);
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < DOWN; i++) {
#pragma unroll
        for (int j = 0; j < ACROSS; j++) {
            unsigned row = first_row + of_row + 16 * i + lane / 4;
            unsigned column = first_column + of_column + 8 * j + lane % 4 * 2;
            float *to = c + size_t(row) * n + column;
            *reinterpret_cast<float2 *>(to) = make_float2(sums[i][j][0], sums[i][j][1]);
            *reinterpret_cast<float2 *>(to + size_t(8) * n) =
                make_float2(sums[i][j][2], sums[i][j][3]);
        }
    }
}
