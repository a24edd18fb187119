/* Records what NVIDIA's occupancy calculator says, for the test in src/occupancy.rs.
 *
 * Input: cuda_occupancy.h, which is in the PyPI wheel nvidia-cuda-runtime==13.0.96. Output: text.
 * The calculator's limits do not depend on each other's inputs: that is checked here over all
 * combinations, and so each limit is recorded over its own inputs alone. `AT:LIMIT` holds from AT
 * up to the next one; `-` is no limit.
 *
 *     python3 -m pip download --no-deps nvidia-cuda-runtime==13.0.96
 *     python3 -m zipfile -e nvidia_cuda_runtime*.whl wheel
 *     cc -O2 -I wheel/nvidia/cu13/include record.c -o record && ./record | zstd -19 > recorded.zst
 */
#include <stdio.h>
#include <stdlib.h>

#include <cuda_occupancy.h>

/* As cudaGetDeviceProperties has them. */
static const struct cudaOccDeviceProp DEVICES[] = {
    {7, 0, 1024, 2048, 65536, 65536, 32, 49152, 98304, 80, 98304, 0},
    {7, 5, 1024, 1024, 65536, 65536, 32, 49152, 65536, 40, 65536, 0},
    {8, 0, 1024, 2048, 65536, 65536, 32, 49152, 167936, 108, 166912, 1024},
    {8, 6, 1024, 1536, 65536, 65536, 32, 49152, 102400, 84, 101376, 1024},
    {8, 9, 1024, 1536, 65536, 65536, 32, 49152, 102400, 128, 101376, 1024},
    {9, 0, 1024, 2048, 65536, 65536, 32, 49152, 233472, 132, 232448, 1024},
    {10, 0, 1024, 2048, 65536, 65536, 32, 49152, 233472, 148, 232448, 1024},
    {12, 0, 1024, 1536, 65536, 65536, 32, 49152, 102400, 170, 101376, 1024},
};
static const int STATICS[] = {0, 1, 128, 1023, 1025, 8192, 32769, 49152};
static const int DYNAMICS[] = {0,     1,     127,   129,   1024,  4097,  8192,   16384,
                               16385, 32768, 49152, 65536, 98304, 98305, 166912, 231424};
static const int CARVEOUTS[] = {-1, 0, 1, 5, 10, 25, 33, 50, 66, 75, 90, 100};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One launch of a function that may use as much dynamic shared memory as the driver allows by
 * default, or else as much as it uses. */
static cudaOccResult ask(const cudaOccDeviceProp *device, int registers, int block, int fixed,
                         int dynamic, int carveout, int barriers)
{
    int allowed = (int)device->sharedMemPerBlock - fixed;
    cudaOccFuncAttributes function = {0};
    cudaOccDeviceState state = {0};
    cudaOccResult result;
    function.maxThreadsPerBlock = device->maxThreadsPerBlock;
    function.numRegs = registers;
    function.sharedSizeBytes = fixed;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = dynamic > allowed ? dynamic : allowed;
    function.numBlockBarriers = barriers;
    state.carveoutConfig = carveout;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, device, &function, &state, block, dynamic)) {
        fprintf(stderr, "%d.%d: the calculator refuses\n", device->computeMajor, device->computeMinor);
        exit(1);
    }
    return result;
}

/* Writes a limit where it differs from the one before. */
static void step(int at, int limit, int *last)
{
    if (limit == *last)
        return;
    *last = limit;
    if (limit == INT_MAX)
        printf(" %d:-", at);
    else
        printf(" %d:%d", at, limit);
}

static int least(cudaOccResult r)
{
    int limits[] = {r.blockLimitRegs, r.blockLimitSharedMem, r.blockLimitWarps, r.blockLimitBlocks,
                    r.blockLimitBarriers};
    int least = INT_MAX;
    for (size_t i = 0; i < COUNT(limits); i++)
        least = limits[i] < least ? limits[i] : least;
    return least;
}

/* That each limit follows from its own inputs, and what is resident from the limits. */
static void check(const cudaOccDeviceProp *device)
{
    for (size_t s = 0; s < COUNT(STATICS); s++)
        for (size_t d = 0; d < COUNT(DYNAMICS); d++) {
            int shared = ask(device, 16, 32, STATICS[s], DYNAMICS[d], -1, 1).blockLimitSharedMem;
            for (int registers = 16; registers < 256; registers++)
                for (int block = 32; block <= 1024; block++) {
                    cudaOccResult all = ask(device, registers, block, STATICS[s], DYNAMICS[d], -1, 1);
                    cudaOccResult own = ask(device, registers, block, 0, 0, -1, 1);
                    if (all.blockLimitSharedMem != shared || all.blockLimitRegs != own.blockLimitRegs ||
                        all.blockLimitWarps != own.blockLimitWarps ||
                        all.activeBlocksPerMultiprocessor != least(all)) {
                        fprintf(stderr, "the limits depend on each other\n");
                        exit(1);
                    }
                }
        }
}

int main(void)
{
    for (size_t i = 0; i < COUNT(DEVICES); i++) {
        const cudaOccDeviceProp *device = &DEVICES[i];
        cudaOccResult least_used = ask(device, 16, 32, 0, 0, -1, 1);
        int last = -1;
        check(device);
        printf("device %d %d %d %d %d %d %zu %zu %zu %zu\n", device->computeMajor, device->computeMinor,
               device->maxThreadsPerBlock, device->maxThreadsPerMultiprocessor, device->regsPerBlock,
               device->regsPerMultiprocessor, device->sharedMemPerBlock, device->sharedMemPerMultiprocessor,
               device->sharedMemPerBlockOptin, device->reservedSharedMemPerBlock);
        printf("blocks 0:%d\nwarps", least_used.blockLimitBlocks);
        for (int block = 32; block <= 1024; block++)
            step(block, ask(device, 16, block, 0, 0, -1, 1).blockLimitWarps, &last);
        printf("\nbarriers");
        last = -1;
        for (int barriers = 0; barriers <= 16; barriers++)
            step(barriers, ask(device, 16, 32, 0, 0, -1, barriers).blockLimitBarriers, &last);
        printf("\n");
        for (int registers = 16; registers < 256; registers++) {
            printf("registers %d", registers);
            last = -1;
            for (int block = 32; block <= 1024; block++)
                step(block, ask(device, registers, block, 0, 0, -1, 1).blockLimitRegs, &last);
            printf("\n");
        }
        for (size_t c = 0; c < COUNT(CARVEOUTS); c++)
            for (size_t s = 0; s < COUNT(STATICS); s++) {
                int most = (int)device->sharedMemPerBlockOptin - STATICS[s];
                printf("shared %d %d", CARVEOUTS[c], STATICS[s]);
                last = -1;
                for (int dynamic = 0; dynamic <= most; dynamic++)
                    step(dynamic, ask(device, 16, 32, STATICS[s], dynamic, CARVEOUTS[c], 1).blockLimitSharedMem,
                         &last);
                printf(" %d\n", most);
            }
    }
    return 0;
}
