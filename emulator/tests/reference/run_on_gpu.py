#!/usr/bin/env python3
"""Runs exported programs on a GPU and compares global memory with the reference's.

    emulator/tests/reference/run_on_gpu.py FOLDER

CONTRIBUTING.md says how to write FOLDER. Needs Python 3.9 and
libcuda.so.1, which compiles the PTX, on all cores. A kernel that does not end within --seconds is
stopped. A program that fails is compiled again without optimisations: ptxas takes a warp to be
converged behind a call, and then drops `bar.warp.sync`. Exit code 1: a program differs without
optimisations too, or the driver refuses it.
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import subprocess
import sys
import time

JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_SIZE, JIT_OPTIMIZATION_LEVEL = 5, 6, 7
NOT_READY = 600
OPTIMISED = 4
CHILD = "--child"
PER_PROCESS = 20


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

    def load(self, text, level):
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(1 << 14)
        options = {
            JIT_ERROR_LOG_BUFFER: ctypes.addressof(log),
            JIT_ERROR_LOG_SIZE: len(log),
            JIT_OPTIMIZATION_LEVEL: level,
        }
        keys = (ctypes.c_int * 3)(*options)
        values = (ctypes.c_void_p * 3)(*options.values())
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), text, 3, keys, values)
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


def run_program(driver, folder, program, seconds, level):
    """How the program fails; None if it does not."""
    name, blocks, threads, seed, count, rest, changes = program
    before = memory(int(seed), int(count), rest)
    expected = [word ^ change for word, change in zip(before, words(changes))]
    try:
        with open(os.path.join(folder, f"{name}.ptx"), "rb") as file:
            loaded = driver.load(file.read() + b"\0", level)
        got = driver.run(loaded, name, int(blocks), int(threads), before, seconds)
    except RuntimeError as error:
        return str(error)
    return difference(got, expected) if got else f"has not ended after {seconds} s"


def run_programs(folder, programs, seconds, level):
    """Prints how each program fails, one line of JSON each, up to the first that fails: the
    driver's context may be lost then."""
    driver = Driver()
    for program in programs:
        how = run_program(driver, folder, program, seconds, level)
        print(json.dumps(how), flush=True)
        if how:
            os._exit(0)  # a kernel that never ends must not hold the process


def difference(got, expected):
    differ = [word for word, pair in enumerate(zip(got, expected)) if pair[0] != pair[1]]
    some = ", ".join(f"[{word}] {got[word]:#x}, not {expected[word]:#x}" for word in differ[:6])
    return f"{len(differ)} words differ: {some}" if differ else None


def run_in_process(work):
    """Runs programs in a process, and those behind one that fails in another. Yields the work of
    each program that fails, without optimisations, and how."""
    folder, programs, seconds, level = work
    while programs:
        text = json.dumps([folder, programs, seconds, level])
        child = subprocess.run([sys.executable, __file__, CHILD], input=text, text=True,
                               stdout=subprocess.PIPE)
        outcomes = [json.loads(line) for line in child.stdout.splitlines()]
        if child.returncode != 0:
            outcomes.append(f"ends the driver's process with code {child.returncode}")
        for program, how in zip(programs, outcomes):
            if how:
                yield (folder, [program], seconds, 0), how
        programs = programs[len(outcomes):]


def failures(processes, work):
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        for failed in pool.map(lambda each: list(run_in_process(each)), work):
            yield from failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=10, help="how long a kernel may run")
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 16))
    options = parser.parse_args()
    with open(os.path.join(options.folder, "manifest")) as file:
        programs = [line.split() for line in file]
    total = len(programs)
    work = [(options.folder, programs[at:at + PER_PROCESS], options.seconds, OPTIMISED)
            for at in range(0, total, PER_PROCESS)]
    start = time.monotonic()
    failed = []
    for work, how in failures(options.processes, work):
        print(f"{work[1][0][0]}: {how}", flush=True)
        failed.append(work)
    print(f"{total - len(failed)} of {total} programs have the reference's result; "
          f"{time.monotonic() - start:.0f} s", flush=True)
    wrong = 0
    for work, how in failures(options.processes, failed):
        print(f"{work[1][0][0]} without optimisations: {how}", flush=True)
        wrong += 1
    print(f"{len(failed) - wrong} of the other {len(failed)} have it without optimisations; "
          f"{time.monotonic() - start:.0f} s")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    if sys.argv[1:] == [CHILD]:
        run_programs(*json.load(sys.stdin))
        sys.exit()
    main()
