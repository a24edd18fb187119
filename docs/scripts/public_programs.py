#!/usr/bin/env python3
"""Five published kernels whose blocks wait for each other, unmodified, on any CUDA driver.

    python3 docs/scripts/public_programs.py build FOLDER     # needs cargo, pip and g++
    python3 docs/scripts/public_programs.py run FOLDER > RESULTS
    python3 docs/scripts/public_programs.py compare RESULTS OTHER-RESULTS

`build` gets crates and wheels, and nvcc writes one PTX file a program to FOLDER. `run` needs only
these files, Python and a driver: `cargo gpuprof emulate -- python3 …` gives it the emulated one.
It checks the results against the host, and prints them: a hash of exact ones, samples of others.
Exit code 1: a program does not build or load, its result is wrong, or two results differ.
"""

import ctypes
import hashlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import time
from itertools import accumulate

WHEELS = ["nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88", "nvidia-cuda-crt==13.0.88",
          "nvidia-cuda-runtime==13.0.96", "nvidia-cuda-cccl==13.0.85", "nvidia-cublas==13.0.2.14"]
CRATES = pathlib.Path(__file__).resolve().parent / "cuda-files"

# What nvcc compiles: the published file, and the instance that is launched.
SOURCES = {
    "scan": """
        #include <cub/device/device_scan.cuh>
        using Hub = cub::detail::scan::policy_hub<int, int, int, unsigned, cuda::std::plus<>>;
        using Policy = Hub::Policy900::ScanPolicyT;
        extern "C" __device__ int threads = Policy::BLOCK_THREADS;
        extern "C" __device__ int tile_items = Policy::BLOCK_THREADS * Policy::ITEMS_PER_THREAD;
        cudaError_t used(size_t &bytes, const int *in, int *out) {
            return cub::DeviceScan::InclusiveSum(nullptr, bytes, in, out, 1000);
        }""",
    "sort": """
        #include <cub/device/device_radix_sort.cuh>
        using Hub = cub::detail::radix::policy_hub<unsigned, cub::NullType, unsigned>;
        using Policy = Hub::Policy900::OnesweepPolicy;
        extern "C" __device__ int threads = Policy::BLOCK_THREADS;
        using Histogram = Hub::Policy900::HistogramPolicy;
        extern "C" __device__ int histogram_threads = Histogram::BLOCK_THREADS;
        extern "C" __device__ int sum_threads = Hub::Policy900::ExclusiveSumPolicy::BLOCK_THREADS;
        extern "C" __device__ int tile_items = Policy::BLOCK_THREADS * Policy::ITEMS_PER_THREAD;
        cudaError_t used(size_t &bytes, const unsigned *in, unsigned *out) {
            return cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, 1000);
        }""",
    "marlin": '#include "marlin_cuda_kernel.cu"',
    "prefix": """
        #include <cassert>
        #include <ff/baby_bear.hpp>
        #include "calc_prefix_operation.cuh"
        template __global__ void calc_prefix_op_kernel<Add<Fp4>, Fp4, 48>(Fp4 *, size_t);""",
    "softmax": '#include "softmax.cu"',
}
# Marlin fetches one tile too many, which it never uses, and does not wait before it overwrites it.
# That race harms no result; the emulated driver would stop at it.
CHECKS = {"marlin": {"GPUEMU_CHECK": "init"}}
MARLIN = "baracuda-kernels-sys-0.1.0-alpha.80/vendor/marlin/src"
PREFIX = "risc0-sys-1.4.0/kernels/zkp/cuda/supra"
GGML = "llama-cpp-sys-2-0.1.161/llama.cpp/ggml"
INCLUDES = {
    "marlin": [MARLIN],
    "prefix": [PREFIX, "sppark-0.1.16/sppark"],
    "softmax": [f"{GGML}/src/ggml-cuda", f"{GGML}/src", f"{GGML}/include"],
}


def fetched_crates(folder):
    """The folder with the sources of all crates. Cargo writes its lock file to `folder`."""
    shutil.copytree(CRATES, folder / "crates", dirs_exist_ok=True)
    manifest = folder / "crates/Cargo.toml"
    listed = subprocess.run(["cargo", "metadata", "--quiet", "--format-version", "1",
                             "--manifest-path", manifest], check=True, stdout=subprocess.PIPE)
    paths = {one["name"]: one["manifest_path"] for one in json.loads(listed.stdout)["packages"]}
    return pathlib.Path(paths["sppark"]).parent.parent


def installed_toolkit(folder):
    """The folder with nvcc and its headers."""
    wheels = folder / "wheels"
    if not wheels.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target",
                        wheels, *WHEELS], check=True)
    return wheels / "nvidia/cu13"


def build(folder):
    toolkit, crates = installed_toolkit(folder), fetched_crates(folder)
    for name, source in SOURCES.items():
        file = folder / f"instance_{name}.cu"
        file.write_text(source)
        includes = [f"-I{crates / include}" for include in INCLUDES.get(name, [])]
        subprocess.run([toolkit / "bin/nvcc", "-ptx", "-arch=compute_90", "-std=c++17",
                        "-lineinfo", "--expt-relaxed-constexpr", "-DFEATURE_BABY_BEAR", *includes,
                        f"-I{toolkit}/include/cccl", file, "-o", folder / f"{name}.ptx"],
                       check=True)


class Driver:
    """A CUDA driver with a context on its first device."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: error {code}")

    def allocate(self, size):
        """Device memory of `size` bytes, all zero."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.zero(address, size)
        return address

    def zero(self, address, size):
        self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(size))

    def upload(self, data):
        address = self.allocate(len(data))
        self.call("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
        return address

    def download(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, address, ctypes.c_size_t(size))
        return data.raw


class Module:
    """The PTX file of a program, loaded."""

    def __init__(self, driver, file):
        text = file.read_bytes()
        self.driver, self.handle = driver, ctypes.c_void_p()
        self.entries = re.findall(r"\.entry\s+(\w+)\(", text.decode())
        driver.call("cuModuleLoadData", ctypes.byref(self.handle), text + b"\0")

    def variable(self, name):
        """The value of an `int`."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        self.driver.call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size),
                         self.handle, name.encode())
        return struct.unpack("i", self.driver.download(address, 4))[0]

    def launch(self, part, grid, block, arguments, shared=0, cooperative=False):
        """Launches the one kernel whose name contains `part`, and waits for it."""
        [name] = [entry for entry in self.entries if part in entry]
        function = ctypes.c_void_p()
        self.driver.call("cuModuleGetFunction", ctypes.byref(function), self.handle, name.encode())
        if shared > 48 * 1024:
            self.driver.call("cuFuncSetAttribute", function, 8, shared)
        pointers = (ctypes.c_void_p * len(arguments))(
            *[ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in arguments])
        shape = (grid, 1, 1, block, 1, 1, shared, None, pointers)
        if cooperative:
            self.driver.call("cuLaunchCooperativeKernel", function, *shape)
        else:
            self.driver.call("cuLaunchKernel", function, *shape, None)
        self.driver.call("cuCtxSynchronize")


NOTHING = ctypes.c_ubyte(0)  # an argument of an empty class


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def scan(driver, module):
    """CUB's DeviceScan: a tile looks back at the sums of the tiles before it."""
    count = 300_000
    values = [random.randrange(-1000, 1000) for _ in range(count)]
    tiles = -(-count // module.variable("tile_items"))
    source = driver.upload(struct.pack(f"{count}i", *values))
    states, out = driver.allocate(8 * (tiles + 32)), driver.allocate(4 * count)
    module.launch("DeviceScanInitKernel", -(-tiles // 128), 128, [states, ctypes.c_int(tiles)])
    module.launch("DeviceScanKernel", tiles, module.variable("threads"), [
        source, out, states, ctypes.c_int(0), NOTHING, NOTHING, ctypes.c_uint(count)])
    result = driver.download(out, 4 * count)
    return list(struct.unpack(f"{count}i", result)) == list(accumulate(values)), digest(result)


def sort(driver, module):
    """CUB's DeviceRadixSort: OneSweep, a tile looks back at the digits of the tiles before it."""
    count, digits, passes = 200_000, 256, 4
    keys = [random.getrandbits(32) for _ in range(count)]
    tiles = -(-count // module.variable("tile_items"))
    bins, counters = driver.allocate(4 * passes * digits), driver.allocate(4 * passes)
    here, there = driver.upload(struct.pack(f"{count}I", *keys)), driver.allocate(4 * count)
    lookback = driver.allocate(4 * tiles * digits)
    module.launch("HistogramKernel", 16, module.variable("histogram_threads"), [
        bins, here, ctypes.c_uint(count), ctypes.c_int(0), ctypes.c_int(32), NOTHING])
    module.launch("ExclusiveSumKernel", passes, module.variable("sum_threads"), [bins])
    for number in range(passes):
        driver.zero(lookback, 4 * tiles * digits)
        at = ctypes.c_uint64(bins.value + 4 * digits * number)
        counter, none = ctypes.c_uint64(counters.value + 4 * number), ctypes.c_uint64(0)
        module.launch("OnesweepKernel", tiles, module.variable("threads"), [
            lookback, counter, none, at, there, here, none, none, ctypes.c_int(count),
            ctypes.c_int(8 * number), ctypes.c_int(8), NOTHING])
        here, there = there, here
    result = driver.download(here, 4 * count)
    return list(struct.unpack(f"{count}I", result)) == sorted(keys), digest(result)


def marlin(driver, module):
    """Marlin's product of f16 and 4-bit weights: blocks add to a tile in turn, behind a lock.

    All sums are whole numbers below 2048, so each is exact in every format.
    """
    rows, depth, columns = 16, 1024, 512
    inputs = [1] * depth + [random.randrange(-1, 2) for _ in range((rows - 1) * depth)]
    weights = random.randbytes(depth * columns // 2)
    a, b = driver.upload(struct.pack(f"{rows * depth}e", *inputs)), driver.upload(weights)
    scales = driver.upload(struct.pack(f"{columns}e", *[1] * columns))
    out, locks = driver.allocate(2 * rows * columns), driver.allocate(4 * 16 * columns)
    sizes = [ctypes.c_int(size) for size in (rows, columns, depth)]
    module.launch("MarlinILi256ELi1ELi8ELi8ELi4ELin1E", 7, 256, [a, b, out, scales, *sizes, locks],
                  shared=96 * 1024)
    result = driver.download(out, 2 * rows * columns)
    first_row = sum(struct.unpack(f"{columns}e", result[:2 * columns]))
    all_weights = sum((byte & 15) + (byte >> 4) - 16 for byte in weights)
    return first_row == all_weights, digest(result)


def prefix(driver, module):
    """RISC Zero's prefix sum of elements of a finite field: a cooperative grid with barriers."""
    count, words, prime = 100_003, 4, 0x78000001
    values = [random.randrange(prime) for _ in range(count * words)]
    elements = driver.upload(struct.pack(f"{len(values)}I", *values))
    module.launch("calc_prefix_op", 4, 256, [elements, ctypes.c_size_t(count)], shared=256 * 16,
                  cooperative=True)
    result = driver.download(elements, 4 * len(values))
    got = struct.unpack(f"{len(values)}I", result)
    right = all(list(got[word::words]) == list(accumulate(values[word::words],
                                                          lambda x, y: (x + y) % prime))
                for word in range(words))
    return right, digest(result)


def softmax(driver, module):
    """ggml's softmax of long rows: a cooperative grid with barriers."""
    rows, columns, grid = 2, 50_000, 16
    values = [random.uniform(-8, 8) for _ in range(rows * columns)]
    packed = struct.pack(f"{len(values)}f", *values)
    values = struct.unpack(f"{len(values)}f", packed)
    source, out = driver.upload(packed), driver.allocate(len(packed))
    maxima, sums = driver.allocate(4 * grid), driver.allocate(4 * grid)
    sizes = [columns, rows, rows, columns, rows, 1, 1, 1, 1, 1, 1, 1]
    parameters = struct.pack("qI4x12q4f", 1, 1, *sizes, 1.0, 0.0, 1.0, 1.0)
    module.launch("soft_max_f32_parallelize_cols", grid, 256, [
        source, out, maxima, sums, ctypes.create_string_buffer(parameters, 128)], cooperative=True)
    result = struct.unpack(f"{len(values)}f", driver.download(out, len(packed)))
    right = True
    for row in range(rows):
        part = slice(row * columns, (row + 1) * columns)
        powers = [math.exp(value) for value in values[part]]
        total = math.fsum(powers)
        right &= all(near(got, power / total) for got, power in zip(result[part], powers))
    return right, list(result[::997])


def near(one, other):
    return math.isclose(one, other, rel_tol=1e-5)


def run_one(folder, name):
    """Runs a program in this process."""
    random.seed(name)
    start, driver = time.monotonic(), Driver()
    right, value = globals()[name](driver, Module(driver, folder / f"{name}.ptx"))
    took = time.monotonic() - start
    print(f"{name:8} {'right' if right else 'WRONG'}, {took:.1f} s", file=sys.stderr)
    print(json.dumps({"device": driver.name, "right": right, "value": value}))
    return right


def run(folder):
    """Runs each program in a process of its own, because a fault ends the driver's context."""
    results = {}
    for name in SOURCES:
        command = [sys.executable, __file__, "run", folder, name]
        ran = subprocess.run(command, env=os.environ | CHECKS.get(name, {}),
                             stdout=subprocess.PIPE)
        results[name] = json.loads(ran.stdout or '{"device": "-", "right": false, "value": []}')
    print(json.dumps(results, indent=1))
    return all(result["right"] for result in results.values())


def equal(one, other):
    """Whether both are right, and their hashes are equal, or their samples nearly so."""
    if not (one["right"] and other["right"]):
        return False
    if isinstance(one["value"], str):
        return one["value"] == other["value"]
    return all(map(near, one["value"], other["value"]))


def compare(*files):
    one, other = (json.loads(pathlib.Path(file).read_text()) for file in files)
    same = 0
    for name in SOURCES:
        agrees = equal(one[name], other[name])
        print(f"{name:8} {'equal' if agrees else 'DIFFERENT'}")
        same += agrees
    devices = " and ".join(results["scan"]["device"] for results in (one, other))
    print(f"{same} of {len(SOURCES)} are right and equal on {devices}")
    return same == len(SOURCES)


def main(command, *paths):
    if command == "build":
        build(pathlib.Path(paths[0]))
        return 0
    if command == "compare":
        done = compare(*paths)
    else:
        folder, *names = paths
        done = run_one(pathlib.Path(folder), *names) if names else run(pathlib.Path(folder))
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
