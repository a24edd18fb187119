/* Launches one kernel of a module, for ../faults.py:
       launch MODULE KERNEL [grid=N] [block=N] [x=unwritten|half|freed|null] [slices] [cooperative]
   Two buffers of 256 floats: x holds 0, 1, 2, …, and y zeros. Exit code: 0, 3 where the driver
   reports an error, or 4 where a result is no number, as a comparison with a reference finds. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256, SHARED = 512 };

static void *driver;

/* Calls a function of the driver; all of its arguments are integers or pointers. */
#define CALL(name, ...)                                                                        \
    do {                                                                                       \
        int (*called)(uintptr_t, ...) = (int (*)(uintptr_t, ...))dlsym(driver, name);        \
        int code = called ? called(__VA_ARGS__) : -1;                                          \
        if (code) {                                                                            \
            fprintf(stderr, "launch: %s: error %d\n", name, code);                             \
            return 3;                                                                          \
        }                                                                                      \
    } while (0)
#define P(value) ((uintptr_t)(value))

static void *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *bytes = calloc(1, 64 << 20);
    if (!file || !bytes || !fread(bytes, 1, (64 << 20) - 1, file)) {
        perror(path);
        exit(2);
    }
    fclose(file);
    return bytes;
}

int main(int count, char **arguments)
{
    const char *state = "";
    uintptr_t device = 0, context = 0, module = 0, function = 0, grid = 2, block = 128;
    uint64_t x = 0, y = 0, length = N;
    int slices = 0, cooperative = 0, n = N;
    float values[N], zeros[N] = {0};
    if (count < 3)
        return 2;
    for (int i = 3; i < count; i++) {
        sscanf(arguments[i], "grid=%zu", &grid);
        sscanf(arguments[i], "block=%zu", &block);
        if (!strncmp(arguments[i], "x=", 2))
            state = arguments[i] + 2;
        slices |= !strcmp(arguments[i], "slices");
        cooperative |= !strcmp(arguments[i], "cooperative");
    }
    for (int i = 0; i < N; i++)
        values[i] = i;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "launch: %s\n", dlerror());
        return 2;
    }
    CALL("cuInit", 0);
    CALL("cuDeviceGet", P(&device), 0);
    CALL("cuDevicePrimaryCtxRetain", P(&context), device);
    CALL("cuCtxSetCurrent", context);
    CALL("cuModuleLoadData", P(&module), P(read_file(arguments[1])));
    CALL("cuModuleGetFunction", P(&function), module, P(arguments[2]));
    CALL("cuMemAlloc_v2", P(&x), sizeof values);
    CALL("cuMemAlloc_v2", P(&y), sizeof values);
    CALL("cuMemcpyHtoD_v2", y, P(zeros), sizeof zeros);
    if (strcmp(state, "unwritten"))
        CALL("cuMemcpyHtoD_v2", x, P(values), sizeof values / (strcmp(state, "half") ? 1 : 2));
    if (!strcmp(state, "freed"))
        CALL("cuMemFree_v2", x);
    if (!strcmp(state, "null"))
        x = 0;
    void *plain[] = {&x, &y, &n}, *with_lengths[] = {&x, &length, &y, &length};
    uintptr_t given = P(slices ? with_lengths : plain);
    if (cooperative)
        CALL("cuLaunchCooperativeKernel", function, grid, P(1), P(1), block, P(1), P(1), P(SHARED),
             P(0), given);
    else
        CALL("cuLaunchKernel", function, grid, P(1), P(1), block, P(1), P(1), P(SHARED), P(0),
             given, P(0));
    CALL("cuCtxSynchronize", 0);
    CALL("cuMemcpyDtoH_v2", P(values), y, sizeof values);
    for (int i = 0; i < N; i++)
        if (values[i] != values[i]) {
            fprintf(stderr, "launch: thread (%d,0,0): its result is no number\n", i);
            return 4;
        }
    return 0;
}
