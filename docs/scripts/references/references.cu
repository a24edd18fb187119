// What NVIDIA's libraries take for the work of the examples `scan`, `radix-sort` and `csr`.
//
//     nvcc -O3 -std=c++17 -arch=native references.cu -lcusparse -o references && ./references
//
// A line a library function: its work, the median of 30 times in microseconds by CUDA events after
// five launches that are not counted, and the bytes that have to move, a second. Each runs on data
// far beyond the L2 cache.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cusparse.h>

#define CHECK(call)                                                                    \
    do {                                                                               \
        if (int code = static_cast<int>(call)) {                                       \
            std::fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, code); \
            std::exit(1);                                                              \
        }                                                                              \
    } while (0)

template <class Work>
void timed(char const* name, double bytes, Work work) {
    std::vector<float> times(30);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int i = 0; i < 5; ++i) work();
    for (float& time : times) {
        CHECK(cudaEventRecord(begin));
        work();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&time, begin, end));
    }
    std::sort(times.begin(), times.end());
    double const seconds = times[times.size() / 2] / 1e3;
    std::printf("%-44s %9.1f us  %6.3f TB/s\n", name, seconds * 1e6, bytes / seconds / 1e12);
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
}

template <class T>
T* allocated(size_t count) {
    T* memory = nullptr;
    CHECK(cudaMalloc(&memory, count * sizeof(T)));
    CHECK(cudaMemset(memory, 0, count * sizeof(T)));
    return memory;
}

template <class T>
T* copied(std::vector<T> const& host) {
    T* memory = allocated<T>(host.size());
    CHECK(cudaMemcpy(memory, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

std::vector<uint32_t> random_words(size_t count) {
    std::vector<uint32_t> words(count);
    uint64_t state = 1;
    for (uint32_t& word : words) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        word = static_cast<uint32_t>(state >> 32);
    }
    return words;
}

void copy() {
    size_t const n = size_t{256} << 20;
    char *from = allocated<char>(n), *to = allocated<char>(n);
    timed("cudaMemcpyAsync, device to device, 256 MiB", 2.0 * n,
          [&] { CHECK(cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToDevice)); });
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
}

void scan() {
    size_t const n = size_t{64} << 20;
    uint32_t *x = copied(random_words(n)), *y = allocated<uint32_t>(n);
    size_t bytes = 0;
    CHECK(cub::DeviceScan::InclusiveSum(nullptr, bytes, x, y, n));
    char* room = allocated<char>(bytes);
    timed("cub::DeviceScan::InclusiveSum, 64 Mi u32", 8.0 * n,
          [&] { CHECK(cub::DeviceScan::InclusiveSum(room, bytes, x, y, n)); });
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(room));
}

void sort(char const* name, int from, int to) {
    size_t const n = size_t{48} << 20;
    uint32_t *x = copied(random_words(n)), *y = allocated<uint32_t>(n);
    size_t bytes = 0;
    CHECK(cub::DeviceRadixSort::SortKeys(nullptr, bytes, x, y, n, from, to));
    char* room = allocated<char>(bytes);
    timed(name, 8.0 * n * (to - from) / 8,
          [&] { CHECK(cub::DeviceRadixSort::SortKeys(room, bytes, x, y, n, from, to)); });
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(room));
}

// The matrix of the example: row r has 1 + 37·r mod 64 entries, in runs of eight columns.
void product() {
    uint64_t const rows = 1 << 20;
    std::vector<int32_t> offsets{0}, columns;
    for (uint64_t row = 0; row < rows; ++row) {
        uint64_t const entries = 1 + row * 37 % 64;
        for (uint64_t entry = 0; entry < entries; ++entry) {
            uint64_t const run = (row / 8 * 8 + entry / 8 + 1) * 0x9e3779b97f4a7c15u;
            uint64_t const place = (((run ^ (run >> 30)) * 0xbf58476d1ce4e5b9u) >> 32) % (rows / 8);
            columns.push_back(static_cast<int32_t>(8 * place + entry % 8));
        }
        offsets.push_back(static_cast<int32_t>(columns.size()));
    }
    size_t const entries = columns.size();
    int32_t *device_offsets = copied(offsets), *device_columns = copied(columns);
    float *values = copied(std::vector<float>(entries, 0.5f));
    float *x = copied(std::vector<float>(rows, 1.5f)), *y = allocated<float>(rows);
    cusparseHandle_t handle;
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t dense_x, dense_y;
    CHECK(cusparseCreate(&handle));
    CHECK(cusparseCreateCsr(&a, rows, rows, entries, device_offsets, device_columns, values,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    CHECK(cusparseCreateDnVec(&dense_x, rows, x, CUDA_R_32F));
    CHECK(cusparseCreateDnVec(&dense_y, rows, y, CUDA_R_32F));
    float const one = 1, zero = 0;
    double const moved = 8.0 * entries + 12.0 * rows + 4;
    struct { cusparseSpMVAlg_t algorithm; char const* name; } const ways[] = {
        {CUSPARSE_SPMV_CSR_ALG1, "cusparseSpMV, CSR_ALG1, 1 Mi rows"},
        {CUSPARSE_SPMV_CSR_ALG2, "cusparseSpMV, CSR_ALG2, 1 Mi rows"}};
    for (auto const& way : ways) {
        size_t bytes = 0;
        CHECK(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, dense_x, &zero,
                                      dense_y, CUDA_R_32F, way.algorithm, &bytes));
        char* room = allocated<char>(std::max<size_t>(bytes, 1));
        CHECK(cusparseSpMV_preprocess(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, dense_x, &zero,
                                      dense_y, CUDA_R_32F, way.algorithm, room));
        timed(way.name, moved, [&] {
            CHECK(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, dense_x, &zero, dense_y,
                               CUDA_R_32F, way.algorithm, room));
        });
        CHECK(cudaFree(room));
    }
}

int main() {
    copy();
    scan();
    sort("cub::DeviceRadixSort::SortKeys, 48 Mi, 8 bits", 8, 16);
    sort("cub::DeviceRadixSort::SortKeys, 48 Mi, 32 bits", 0, 32);
    product();
}
