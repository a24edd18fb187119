#!/usr/bin/env python3
"""Prints what a CUDA driver says and computes, one line each, to compare the emulator with a GPU:

    tests/hardware.py libcuda.so.1 > gpu.txt; tests/hardware.py path/to/emulated/libcuda.so > emulated.txt; diff gpu.txt emulated.txt
"""
import ctypes
import pathlib
import random
import struct
import subprocess
import sys
from ctypes import byref, c_int, c_uint64, c_void_p

cuda = ctypes.CDLL(sys.argv[1])
fixtures = pathlib.Path(__file__).parent / "fixtures"
random.seed(1)


def check(code, what):
    if code:
        sys.exit(f"{what}: {code}")


def start():
    context = c_void_p()
    check(cuda.cuDevicePrimaryCtxRetain(byref(context), 0), "retain")
    check(cuda.cuCtxSetCurrent(context), "set current")
    module = c_void_p()
    check(cuda.cuModuleLoadData(byref(module), (fixtures / "kernels.ptx").read_bytes() + b"\0"), "load")
    return module


def function(module, name):
    found = c_void_p()
    check(cuda.cuModuleGetFunction(byref(found), module, name.encode()), name)
    return found


def upload(data):
    address = c_uint64()
    check(cuda.cuMemAlloc_v2(byref(address), ctypes.c_size_t(len(data))), "alloc")
    check(cuda.cuMemcpyHtoD_v2(address, bytes(data), ctypes.c_size_t(len(data))), "copy")
    return address


def launch(module, name, grid, block, *args):
    params = (c_void_p * len(args))(*[ctypes.cast(ctypes.pointer(arg), c_void_p) for arg in args])
    code = cuda.cuLaunchKernel(function(module, name), grid, 1, 1, block, 1, 1, 0, None, params, None)
    return code, cuda.cuCtxSynchronize()


def words(address, count):
    data = ctypes.create_string_buffer(4 * count)
    check(cuda.cuMemcpyDtoH_v2(data, address, ctypes.c_size_t(4 * count)), "copy back")
    return struct.unpack(f"{count}I", data.raw)


check(cuda.cuInit(0), "init")
faults = {
    "traps": lambda: (8, 32, upload(bytes(128))),
    "misaligned": lambda: (1, 32, upload(bytes(256))),
    "out_of_bounds": lambda: (1, 32, c_uint64(0), c_int(0)),
}
if len(sys.argv) > 2:
    module = start()
    print(sys.argv[2], launch(module, sys.argv[2], *faults[sys.argv[2]]()))
    sys.exit()

value = c_int()
for attribute in range(1, 140):
    code = cuda.cuDeviceGetAttribute(byref(value), attribute, 0)
    print("attribute", attribute, code, value.value if code == 0 else "")
size = ctypes.c_size_t()
cuda.cuDeviceTotalMem_v2(byref(size), 0)
print("memory", size.value)

module = start()
for name in ["saxpy", "transpose_shared", "matmul", "local_array"]:
    for attribute in [0, 1, 2, 3, 5, 6, 7, 8, 9]:
        code = cuda.cuFuncGetAttribute(byref(value), attribute, function(module, name))
        print("function", name, attribute, code, value.value)
    for block in [32, 64, 128, 256, 512, 1024]:
        cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(byref(value), function(module, name), block, ctypes.c_size_t(0))
        print("occupancy", name, block, value.value)

doubles = struct.pack("256d", *[random.uniform(0, 30) for _ in range(256)])
output = upload(bytes(2048))
print("doubles", launch(module, "doubles", 8, 32, upload(doubles), output), words(output, 512))
floats = struct.pack("256f", *[random.uniform(0, 30) for _ in range(256)])
output = upload(bytes(4096))
print("fast_math", launch(module, "fast_math", 8, 32, upload(floats), output), words(output, 1024))

operands = (fixtures / "arithmetic.bin").read_bytes()
arithmetic = c_void_p()
check(cuda.cuModuleLoadData(byref(arithmetic), (fixtures / "arithmetic.ptx").read_bytes() + b"\0"), "load arithmetic")
output = upload(bytes(4 * 1024 * 128))
print("arithmetic", launch(arithmetic, "arithmetic", 32, 32, upload(operands), output))
results = words(output, 1024 * 128)
for row in range(128):
    print("row", row, *[f"{word:08x}" for word in results[1024 * row:1024 * row + 1024]])

for name in faults:
    # A fault ends a GPU's context for good, so each has its own process.
    sys.stdout.flush()
    subprocess.run([sys.executable, __file__, sys.argv[1], name], check=True)
