#!/usr/bin/env python3
"""Prints which lanes run together in the kernels of fixtures/masks.ptx, as a CUDA driver runs them.

Needs a driver and a GPU, no toolkit:

    tests/masks.py libcuda.so.1 > tests/fixtures/masks.h200.txt

Output: a line for every kernel and slot that was written: `kernel slot first-last=mask …`, the mask
that each of these threads read, or what it computed. `tests/masks.rs` runs the same launches on the
emulator.
"""
import ctypes
import os
import pathlib
import re
import struct
import sys
import threading
from ctypes import byref, c_int, c_uint64, c_void_p

THREADS, SLOTS, N, UNWRITTEN = 64, 8, 40, 0xDEADBEEF

cuda = ctypes.CDLL(sys.argv[1])


def check(code, what):
    if code:
        print(f"{what}: CUDA error {code}", file=sys.stderr, flush=True)
        os._exit(1)


def memory(words):
    data = struct.pack(f"<{len(words)}I", *words)
    address = c_uint64()
    check(cuda.cuMemAlloc_v2(byref(address), c_uint64(len(data))), "cuMemAlloc")
    check(cuda.cuMemcpyHtoD_v2(address, data, c_uint64(len(data))), "cuMemcpyHtoD")
    return address


def give_up():
    print("a kernel did not end within 20 seconds", file=sys.stderr)
    os._exit(1)


def record(module, name):
    function = c_void_p()
    check(cuda.cuModuleGetFunction(byref(function), module, name.encode()), name)
    out, values = memory([UNWRITTEN] * THREADS * SLOTS), memory(range(4 * THREADS))
    arguments = [out, values, c_int(N)]
    pointers = (c_void_p * 3)(*(ctypes.cast(byref(argument), c_void_p) for argument in arguments))
    watchdog = threading.Timer(20, give_up)
    watchdog.start()
    check(cuda.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, None, pointers, None), name)
    check(cuda.cuCtxSynchronize(), name)
    watchdog.cancel()
    data = ctypes.create_string_buffer(4 * THREADS * SLOTS)
    check(cuda.cuMemcpyDtoH_v2(data, out, c_uint64(len(data))), name)
    words = struct.unpack(f"<{THREADS * SLOTS}I", data.raw)
    return [words[slot * THREADS:(slot + 1) * THREADS] for slot in range(SLOTS)]


def runs(words):
    start = 0
    for end in range(1, len(words) + 1):
        if end == len(words) or words[end] != words[start]:
            if words[start] != UNWRITTEN:
                yield f"{start}-{end - 1}={words[start]:08x}"
            start = end


text = (pathlib.Path(__file__).parent / "fixtures" / "masks.ptx").read_bytes()
check(cuda.cuInit(0), "cuInit")
context, module = c_void_p(), c_void_p()
check(cuda.cuDevicePrimaryCtxRetain(byref(context), 0), "cuDevicePrimaryCtxRetain")
check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
check(cuda.cuModuleLoadData(byref(module), text + b"\0"), "cuModuleLoadData")
for name in re.findall(rb"\.entry (\w+)", text):
    for slot, words in enumerate(record(module, name.decode())):
        if line := " ".join(runs(words)):
            print(name.decode(), slot, line, flush=True)
