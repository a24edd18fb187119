/* A CUDA program that knows nothing of gpuprof: it finds the driver as all do, compiles PTX, and
 * launches. Its argument says what goes wrong. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const PTX =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry fill(.param .u64 out) {\n"
    ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [out];\n"
    "mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd2, %r1, 4;\n"
    "add.s64 %rd3, %rd1, %rd2;\n"
    "st.global.u32 [%rd3], %r1;\n"
    "ret;\n}\n"
    ".visible .entry hang(.param .u64 out) {\nAGAIN:\nbra AGAIN;\n}\n";

static void *driver;

static int call(const char *name, void *a, void *b, void *c, void *d, void *e)
{
    int (*function)(void *, void *, void *, void *, void *) =
        (int (*)(void *, void *, void *, void *, void *))dlsym(driver, name);
    return function ? function(a, b, c, d, e) : 500;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    void *context, *module, *function;
    unsigned long long out = 0;
    char log[256] = "";
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 9;
    call("cuInit", 0, 0, 0, 0, 0);
    call("cuDevicePrimaryCtxRetain", &context, 0, 0, 0, 0);
    call("cuCtxSetCurrent", context, 0, 0, 0, 0);
    if (!strcmp(mode, "refused")) {
        int options[] = {5, 6};
        void *values[] = {log, (void *)sizeof log};
        int code = call("cuModuleLoadDataEx", &module, ".version 8.0\n.target sm_80\nnosuch;\n",
                        (void *)2, options, values);
        printf("code %d: %s\n", code, log);
        return 3;
    }
    if (!strcmp(mode, "closes")) {
        for (int i = 3; i < 64; i++)
            close(i);
        for (int i = 3; i < 64; i++)
            open("own", O_CREAT | O_WRONLY, 0644);
    }
    if (!strcmp(mode, "unsupported"))
        for (int i = 0; i < 3; i++)
            call("cuArrayCreate_v2", 0, 0, 0, 0, 0);
    call("cuModuleLoadData", &module, (void *)PTX, 0, 0, 0);
    void *name = strcmp(mode, "hangs") ? "fill" : "hang";
    call("cuModuleGetFunction", &function, module, name, 0, 0);
    call("cuMemAlloc_v2", &out, (void *)128, 0, 0, 0);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **) = dlsym(driver, "cuLaunchKernel");
    void *arguments[] = {&out};
    unsigned threads = !strcmp(mode, "fault") || !strcmp(mode, "closes") ? 64 : 32;
    void *first, *last, *untimed;
    call("cuEventCreate", &first, 0, 0, 0, 0);
    call("cuEventCreate", &last, 0, 0, 0, 0);
    call("cuEventCreate", &untimed, (void *)2, 0, 0, 0);
    call("cuEventRecord", first, 0, 0, 0, 0);
    call("cuEventRecord", untimed, 0, 0, 0, 0);
    for (int i = 0; i < 3; i++)
        launch(function, 1, 1, 1, threads, 1, 1, 0, 0, arguments, 0);
    if (!strcmp(mode, "timed")) {
        float took = -1, never = -1;
        int early = call("cuEventElapsedTime", &never, first, last, 0, 0);
        call("cuEventRecord", last, 0, 0, 0, 0);
        int without = call("cuEventElapsedTime", &never, untimed, last, 0, 0);
        int code = call("cuEventElapsedTime", &took, first, last, 0, 0);
        int again = call("cuEventElapsedTime_v2", &never, last, first, 0, 0);
        printf("not recorded %d, not timed %d, both %d %d, %s\n", early, without, code, again,
               took > 0 && took == -never ? "some time" : "no time");
    }
    puts("the program ends well");
    return 0;
}
