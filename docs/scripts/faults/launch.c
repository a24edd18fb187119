/* Launches one kernel of a PTX file, for ../faults.sh:  launch faults.ptx NAME
   Exit code: 0, 3 where the driver reports an error, or 4 where a result is no number, as a
   comparison with a reference would find. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 256 };

static void check(CUresult code, const char *doing) {
    const char *name = "?";
    if (code == CUDA_SUCCESS) return;
    cuGetErrorName(code, &name);
    fprintf(stderr, "launch: %s: %s\n", doing, name);
    exit(3);
}

static char *text_of(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) { perror(path); exit(2); }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = calloc(size + 1, 1);
    if (fread(text, 1, size, file) != (size_t)size) { perror(path); exit(2); }
    fclose(file);
    return text;
}

int main(int count, char **arguments) {
    if (count != 3) { fprintf(stderr, "launch: give a PTX file and a name\n"); return 2; }
    const char *name = arguments[2];
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr x, y;
    float values[N];
    int n = N;
    for (int i = 0; i < N; i++) values[i] = i;
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuModuleLoadData(&module, text_of(arguments[1])), "cuModuleLoadData");
    check(cuModuleGetFunction(&function, module, name), "cuModuleGetFunction");
    check(cuMemAlloc(&x, sizeof values), "cuMemAlloc");
    check(cuMemAlloc(&y, sizeof values), "cuMemAlloc");
    check(cuMemcpyHtoD(y, values, sizeof values), "cuMemcpyHtoD");
    size_t written = strstr(name, "partly") ? sizeof values / 2 : sizeof values;
    if (!strstr(name, "_unwritten_") || strstr(name, "partly") || strstr(name, "shared"))
        check(cuMemcpyHtoD(x, values, written), "cuMemcpyHtoD");
    if (strstr(name, "freed")) check(cuMemFree(x), "cuMemFree");
    if (strstr(name, "null")) x = 0;
    void *parameters[] = {&x, &y, &n};
    check(cuLaunchKernel(function, 2, 1, 1, 128, 1, 1, 512, 0, parameters, 0), "cuLaunchKernel");
    check(cuCtxSynchronize(), "cuCtxSynchronize");
    check(cuMemcpyDtoH(values, y, sizeof values), "cuMemcpyDtoH");
    for (int i = 0; i < N; i++)
        if (values[i] != values[i]) {
            fprintf(stderr, "launch: thread (%d,0,0): its result is no number\n", i);
            return 4;
        }
    return 0;
}
