#!/usr/bin/env python3
"""Runs exported programs on a GPU and compares global memory with the reference's.

    emulator/tests/reference/run_on_gpu.py FOLDER

CONTRIBUTING.md says how to write FOLDER. Needs Python 3.9 and
libcuda.so.1, which compiles the PTX, on all cores. Exit code 1: a program differs, or the driver
refuses one. A kernel that never ends is stopped by --seconds and counted.
"""
import argparse
import ctypes
import multiprocessing
import os
import sys
import time

JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_SIZE = 5, 6
NOT_READY = 600


class Driver:
    """The few calls of libcuda that a launch needs."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()

    def call(self, name, *args):
        result = getattr(self.lib, name)(*args)
        if result != 0:
            text = ctypes.c_char_p()
            self.lib.cuGetErrorName(result, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown').decode()}")

    def load(self, text):
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(1 << 14)
        keys = (ctypes.c_int * 2)(JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), text, 2, keys, values)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{log.value.decode(errors='replace')}") from None
        return module

    def run(self, module, name, blocks, threads, words, seconds):
        """Global memory after the launch; None if it has not ended in time."""
        function, address, event = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        memory = (ctypes.c_uint32 * len(words))(*words)
        size = ctypes.c_size_t(ctypes.sizeof(memory))
        self.call("cuMemAlloc_v2", ctypes.byref(address), size)
        self.call("cuMemcpyHtoD_v2", address, memory, size)
        self.call("cuEventCreate", ctypes.byref(event), 2)
        params = (ctypes.c_void_p * 1)(ctypes.addressof(address))
        grid, block = (blocks, 1, 1), (threads, 1, 1)
        self.call("cuLaunchKernel", function, *grid, *block, 0, None, params, None)
        self.call("cuEventRecord", event, None)
        end = time.monotonic() + seconds
        while (state := self.lib.cuEventQuery(event)) == NOT_READY:
            if time.monotonic() > end:
                return None
        if state != 0:
            self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", memory, address, size)
        self.call("cuMemFree_v2", address)
        self.call("cuEventDestroy_v2", event)
        return list(memory)


def words(text):
    """`3*a,ff` is a, a, a, ff."""
    found = []
    for run in filter(None, text.split(",")):
        count, _, word = run.rpartition("*")
        found += [int(word, 16)] * int(count or 1)
    return found


def memory(seed, count, rest):
    """Memory before the launch, as `ir.rs` makes it."""
    start = lambda at: ((at ^ seed) * 2654435761 & 0xffffffff) >> (at % 29)
    return [start(at) for at in range(count)] + words(rest)


def run_module(work):
    """What differs in a module's programs, as lines."""
    folder, module, programs, seconds = work
    lines = []
    try:
        driver = Driver()
        with open(os.path.join(folder, f"{module}.ptx"), "rb") as file:
            loaded = driver.load(file.read() + b"\0")
    except RuntimeError as error:
        return 0, [f"module {module}: {error}"]
    right = 0
    for name, blocks, threads, seed, count, rest, changes in programs:
        before = memory(int(seed), int(count), rest)
        expected = [word ^ change for word, change in zip(before, words(changes))]
        try:
            got = driver.run(loaded, name, int(blocks), int(threads), before, seconds)
        except RuntimeError as error:
            # The context is lost, and with it the other programs of this module.
            return right, lines + [f"{name}: {error}"]
        if got is None:
            return right, lines + [f"{name}: has not ended after {seconds} s"]
        if got == expected:
            right += 1
            continue
        differ = [at for at, pair in enumerate(zip(got, expected)) if pair[0] != pair[1]]
        some = ", ".join(f"[{at}] {got[at]:#x}, not {expected[at]:#x}" for at in differ[:6])
        lines.append(f"{name}: {len(differ)} words differ: {some}")
    return right, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=10, help="how long a kernel may run")
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 16))
    options = parser.parse_args()
    modules = {}
    with open(os.path.join(options.folder, "manifest")) as file:
        for line in file:
            module, *program = line.split()
            modules.setdefault(module, []).append(program)
    # A process a module: one that is lost takes no other one with it, and an endless kernel ends.
    work = [(options.folder, module, list_, options.seconds) for module, list_ in modules.items()]
    right, wrong = 0, []
    start = time.monotonic()
    fork = multiprocessing.get_context("spawn")
    with fork.Pool(options.processes, maxtasksperchild=1) as pool:
        for count, lines in pool.imap_unordered(run_module, work, chunksize=1):
            right += count
            wrong += lines
            for line in lines:
                print(line, flush=True)
    total = sum(len(list_) for list_ in modules.values())
    print(f"{right} of {total} programs have the reference's result; "
          f"{time.monotonic() - start:.0f} s")
    sys.exit(right != total)


if __name__ == "__main__":
    main()
