"""CUB's block and warp algorithms, compiled by NVRTC and compared with numpy.

    pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-cccl numpy
    cargo gpuprof emulate -- python3 docs/scripts/cub.py [CASE ...]

It runs on any CUDA driver. Exit code 1: an algorithm does not compile, does not load, or its
result is wrong.
"""

import ctypes
import glob
import os
import subprocess
import sys

import numpy as np
import nvidia

ROOT = os.path.join(list(nvidia.__path__)[0], "cu13")
ctypes.CDLL(glob.glob(ROOT + "/lib/libnvrtc-builtins.so.*")[0], ctypes.RTLD_GLOBAL)
NVRTC = ctypes.CDLL(glob.glob(ROOT + "/lib/libnvrtc.so.*")[0])
CUDA = ctypes.CDLL("libcuda.so.1")

THREADS, ITEMS, WARP = 64, 4, 32
COUNT = THREADS * ITEMS
KEYS = np.random.default_rng(1).integers(-50, 50, COUNT).astype(np.int32)
OTHERS = np.random.default_rng(2).integers(0, 1000, COUNT).astype(np.int32)
ROWS = KEYS.reshape(THREADS, ITEMS)
BY_WARP = KEYS.reshape(THREADS // WARP, WARP * ITEMS)

# Statements that load a thread's items in blocked order into `items`, and that store them.
LOAD = "cub::LoadDirectBlocked(t, in, items);"
STORE = "cub::StoreDirectBlocked(t, out, items);"


def segment_heads(keys):
    return np.concatenate([[1], keys[1:] != keys[:-1]]).astype(np.int32)


def block(header, temporary, use, expected):
    """A kernel of one block: `use` calls `A(temp)`, the algorithm of type `temporary`."""
    body = f"using A = {temporary}; __shared__ typename A::TempStorage temp; {use}"
    return header, body, expected


def warp(header, temporary, use, expected):
    body = (
        f"using A = {temporary}; __shared__ typename A::TempStorage temps[2]; auto &temp = temps[t / 32]; {use}"
    )
    return header, body, expected


def scan(values, axis=None):
    return np.cumsum(values, axis=axis).astype(np.int32)


def exclusive(values):
    return (scan(values) - values.reshape(-1)).astype(np.int32)


def first_of_each(values):
    out = np.zeros(COUNT, np.int32)
    out[: len(values)] = values
    return out


def histogram(values):
    return first_of_each(np.bincount(values & 63, minlength=64).astype(np.int32))


def sorted_pairs():
    order = np.argsort(KEYS, kind="stable")
    return OTHERS[order]


CASES = {}
I = "int, 64"
for name, algorithm in [("raking", "BLOCK_SCAN_RAKING"), ("memoize", "BLOCK_SCAN_RAKING_MEMOIZE"), ("warps", "BLOCK_SCAN_WARP_SCANS")]:
    CASES[f"block_scan_{name}"] = block(
        "block_scan", f"cub::BlockScan<{I}, cub::{algorithm}>", f"{LOAD} A(temp).InclusiveSum(items, items); {STORE}", scan(KEYS))
    CASES[f"block_scan_exclusive_{name}"] = block(
        "block_scan", f"cub::BlockScan<{I}, cub::{algorithm}>", f"{LOAD} A(temp).ExclusiveSum(items, items); {STORE}", exclusive(KEYS))
for name, algorithm in [("raking", "BLOCK_REDUCE_RAKING"), ("commutative", "BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY"), ("warps", "BLOCK_REDUCE_WARP_REDUCTIONS")]:
    CASES[f"block_reduce_{name}"] = block(
        "block_reduce", f"cub::BlockReduce<{I}, cub::{algorithm}>", f"{LOAD} int s = A(temp).Sum(items); if (t == 0) out[0] = s;",
        first_of_each([KEYS.sum()]))
CASES["block_reduce_partial"] = block(
    "block_reduce", f"cub::BlockReduce<{I}>", "int s = A(temp).Sum(in[t], 41); if (t == 0) out[0] = s;", first_of_each([KEYS[:41].sum()]))
CASES["block_radix_sort"] = block(
    "block_radix_sort", f"cub::BlockRadixSort<{I}, 4>", f"{LOAD} A(temp).Sort(items); {STORE}", np.sort(KEYS))
CASES["block_radix_sort_descending"] = block(
    "block_radix_sort", f"cub::BlockRadixSort<{I}, 4>", f"{LOAD} A(temp).SortDescending(items); {STORE}", -np.sort(-KEYS))
CASES["block_radix_sort_pairs"] = block(
    "block_radix_sort", f"cub::BlockRadixSort<{I}, 4, int>",
    f"int values[4]; {LOAD} cub::LoadDirectBlocked(t, other, values); A(temp).Sort(items, values); cub::StoreDirectBlocked(t, out, values);",
    sorted_pairs())
CASES["block_merge_sort"] = block(
    "block_merge_sort", f"cub::BlockMergeSort<{I}, 4>", f"{LOAD} A(temp).Sort(items, Less()); {STORE}", np.sort(KEYS))
CASES["block_merge_sort_pairs"] = block(
    "block_merge_sort", f"cub::BlockMergeSort<{I}, 4, int>",
    f"int values[4]; {LOAD} cub::LoadDirectBlocked(t, other, values); A(temp).StableSort(items, values, Less()); cub::StoreDirectBlocked(t, out, values);",
    sorted_pairs())
for name, algorithm in [("sort", "BLOCK_HISTO_SORT"), ("atomic", "BLOCK_HISTO_ATOMIC")]:
    CASES[f"block_histogram_{name}"] = block(
        "block_histogram", f"cub::BlockHistogram<unsigned char, 64, 4, 64, cub::{algorithm}>",
        "__shared__ int bins[64]; unsigned char bytes[4]; for (int i = 0; i < 4; i++) bytes[i] = in[4 * t + i] & 63;"
        "A(temp).Histogram(bytes, bins); __syncthreads(); out[t] = bins[t];", histogram(KEYS))
for algorithm in ["DIRECT", "STRIPED", "VECTORIZE", "TRANSPOSE", "WARP_TRANSPOSE", "WARP_TRANSPOSE_TIMESLICED"]:
    striped = algorithm == "STRIPED"
    loaded = KEYS.reshape(ITEMS, THREADS).T.reshape(-1) if striped else KEYS
    CASES[f"block_load_{algorithm.lower()}"] = block(
        "block_load", f"cub::BlockLoad<{I}, 4, cub::BLOCK_LOAD_{algorithm}>", f"A(temp).Load(in, items); {STORE}", loaded)
    stored = ROWS.T.reshape(-1) if striped else KEYS
    CASES[f"block_store_{algorithm.lower()}"] = block(
        "block_store", f"cub::BlockStore<{I}, 4, cub::BLOCK_STORE_{algorithm}>", f"{LOAD} A(temp).Store(out, items);", stored)
CASES["block_load_partial"] = block(
    "block_load", f"cub::BlockLoad<{I}, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>", f"A(temp).Load(in, items, 101, 7); {STORE}",
    np.concatenate([KEYS[:101], np.full(COUNT - 101, 7, np.int32)]))
CASES["block_exchange_blocked_to_striped"] = block(
    "block_exchange", f"cub::BlockExchange<{I}, 4>", f"{LOAD} A(temp).BlockedToStriped(items, items); {STORE}",
    KEYS.reshape(ITEMS, THREADS).T.reshape(-1))
CASES["block_exchange_striped_to_blocked"] = block(
    "block_exchange", f"cub::BlockExchange<{I}, 4>", f"{LOAD} A(temp).StripedToBlocked(items, items); {STORE}", ROWS.T.reshape(-1))
CASES["block_exchange_scatter"] = block(
    "block_exchange", f"cub::BlockExchange<{I}, 4>",
    f"{LOAD} int ranks[4]; for (int i = 0; i < 4; i++) ranks[i] = 255 - (4 * t + i); A(temp).ScatterToBlocked(items, ranks); {STORE}", KEYS[::-1])
CASES["block_discontinuity_heads"] = block(
    "block_discontinuity", f"cub::BlockDiscontinuity<{I}>",
    f"int flags[4]; {LOAD} A(temp).FlagHeads(flags, items, NotEqual()); cub::StoreDirectBlocked(t, out, flags);", segment_heads(KEYS))
CASES["block_shuffle_rotate"] = block(
    "block_shuffle", f"cub::BlockShuffle<{I}>", "int v; A(temp).Rotate(in[t], v, 3); out[t] = v;", first_of_each(np.roll(KEYS[:THREADS], -3)))
CASES["block_shuffle_up"] = block(
    "block_shuffle", f"cub::BlockShuffle<{I}>", f"int prior[4]; {LOAD} for (int i = 0; i < 4; i++) prior[i] = items[i]; A(temp).Up(items, prior); cub::StoreDirectBlocked(t, out, prior);",
    np.concatenate([KEYS[:1], KEYS[:-1]]))
CASES["block_adjacent_difference"] = block(
    "block_adjacent_difference", f"cub::BlockAdjacentDifference<{I}>", f"{LOAD} A(temp).SubtractLeft(items, items, Minus()); {STORE}",
    np.concatenate([KEYS[:1], np.diff(KEYS)]))
CASES["block_run_length_decode"] = (
    "block_run_length_decode",
    "using A = cub::BlockRunLengthDecode<int, 64, 1, 4>; __shared__ typename A::TempStorage temp;"
    "int values[1] = {in[t]}, lengths[1] = {t % 8 == 0 ? 11 : 3}, total = 0, decoded[4];"
    "A decode(temp, values, lengths, total); decode.RunLengthDecode(decoded, 0); cub::StoreDirectBlocked(t, out, decoded);",
    np.repeat(KEYS[:THREADS], [11 if t % 8 == 0 else 3 for t in range(THREADS)])[:COUNT])
CASES["block_topk_free_ranks"] = block(
    "block_radix_rank", "cub::BlockRadixRank<64, 4, false>",
    "unsigned keys[4]; int ranks[4]; for (int i = 0; i < 4; i++) keys[i] = in[4 * t + i] & 15;"
    "A(temp).RankKeys(keys, ranks, cub::BFEDigitExtractor<unsigned>(0, 4)); cub::StoreDirectBlocked(t, out, ranks);",
    np.argsort(np.argsort(KEYS & 15, kind="stable"), kind="stable").astype(np.int32))
CASES["warp_scan"] = warp("warp_scan", "cub::WarpScan<int>", "int v; A(temp).InclusiveSum(in[t], v); out[t] = v;",
    first_of_each(scan(KEYS[:THREADS].reshape(2, 32), 1).reshape(-1)))
CASES["warp_scan_of_8"] = (
    "warp_scan", "using A = cub::WarpScan<int, 8>; __shared__ typename A::TempStorage temps[8]; int v; A(temps[t / 8]).ExclusiveSum(in[t], v); out[t] = v;",
    first_of_each((scan(KEYS[:THREADS].reshape(8, 8), 1) - KEYS[:THREADS].reshape(8, 8)).reshape(-1)))
CASES["warp_reduce"] = warp("warp_reduce", "cub::WarpReduce<int>", "int s = A(temp).Sum(in[t]); if (t % 32 == 0) out[t / 32] = s;",
    first_of_each(KEYS[:THREADS].reshape(2, 32).sum(1)))
CASES["warp_reduce_segments"] = warp("warp_reduce", "cub::WarpReduce<int>",
    "int s = A(temp).HeadSegmentedSum(in[t], t % 4 == 0); out[t] = t % 4 == 0 ? s : 0;",
    first_of_each([KEYS[t : t + 4].sum() if t % 4 == 0 else 0 for t in range(THREADS)]))
CASES["warp_reduce_partial"] = warp("warp_reduce", "cub::WarpReduce<int>",
    "int s = A(temp).Reduce(in[t], Max(), 19); if (t % 32 == 0) out[t / 32] = s;",
    first_of_each([KEYS[:19].max(), KEYS[32:51].max()]))
CASES["warp_merge_sort"] = warp("warp_merge_sort", "cub::WarpMergeSort<int, 4>", f"{LOAD} A(temp).Sort(items, Less()); {STORE}",
    np.sort(BY_WARP, axis=1).reshape(-1))
CASES["warp_exchange"] = warp("warp_exchange", "cub::WarpExchange<int, 4>", f"{LOAD} A(temp).BlockedToStriped(items, items); {STORE}",
    np.concatenate([row.reshape(ITEMS, WARP).T.reshape(-1) for row in BY_WARP]))
CASES["warp_load"] = warp("warp_load", "cub::WarpLoad<int, 4, cub::WARP_LOAD_TRANSPOSE>", f"A(temp).Load(in + 128 * (t / 32), items); {STORE}", KEYS)
CASES["warp_store"] = warp("warp_store", "cub::WarpStore<int, 4, cub::WARP_STORE_TRANSPOSE>", f"{LOAD} A(temp).Store(out + 128 * (t / 32), items);", KEYS)

HEADERS = {
    name: f"#include <cub/{'warp' if name.startswith('warp') else 'block'}/{name}.cuh>\n" for name in {header for header, _, _ in CASES.values()}
}
FUNCTORS = """
struct Less { __device__ bool operator()(int a, int b) const { return a < b; } };
struct NotEqual { __device__ bool operator()(int a, int b) const { return a != b; } };
struct Minus { __device__ int operator()(int a, int b) const { return a - b; } };
struct Max { __device__ int operator()(int a, int b) const { return a > b ? a : b; } };
"""


def source(header, body):
    return (
        "#include <cub/block/block_load.cuh>\n#include <cub/block/block_store.cuh>\n" + HEADERS[header] + FUNCTORS
        + 'extern "C" __global__ void k(const int *in, const int *other, int *out) {'
        + f"int t = threadIdx.x; int items[4]; {body} }}"
    )


def check(code, what):
    if code:
        name = ctypes.c_char_p()
        CUDA.cuGetErrorName(code, ctypes.byref(name))
        raise RuntimeError(f"{what}: {name.value.decode() if name.value else code}")


def compiled(text):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    NVRTC.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None)
    options = ["--gpu-architecture=compute_90", f"-I{ROOT}/include", f"-I{ROOT}/include/cccl", "-lineinfo", "-std=c++17"]
    given = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    failed = NVRTC.nvrtcCompileProgram(program, len(options), given)
    getattr(NVRTC, f"nvrtcGet{'ProgramLog' if failed else 'PTX'}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(NVRTC, f"nvrtcGet{'ProgramLog' if failed else 'PTX'}")(program, buffer)
    if failed:
        lines = [line for line in buffer.value.decode().splitlines() if "error" in line]
        raise RuntimeError("it does not compile: " + " ".join(lines[:2]))
    return buffer.value


def uploaded(values):
    address = ctypes.c_uint64()
    check(CUDA.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(values.nbytes)), "cuMemAlloc")
    check(CUDA.cuMemcpyHtoD_v2(address, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes)), "cuMemcpyHtoD")
    return address


def run(header, body):
    ptx = compiled(source(header, body))
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(CUDA.cuModuleLoadData(ctypes.byref(module), ptx + b"\0"), "cuModuleLoadData")
    check(CUDA.cuModuleGetFunction(ctypes.byref(function), module, b"k"), "cuModuleGetFunction")
    result = np.zeros(COUNT, np.int32)
    arguments = [uploaded(np.ascontiguousarray(values)) for values in (KEYS, OTHERS, result)]
    pointers = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in arguments])
    check(CUDA.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, None, pointers, None), "cuLaunchKernel")
    check(CUDA.cuCtxSynchronize(), "the kernel")
    check(CUDA.cuMemcpyDtoH_v2(result.ctypes.data_as(ctypes.c_void_p), arguments[2], ctypes.c_size_t(result.nbytes)), "cuMemcpyDtoH")
    for address in arguments:
        CUDA.cuMemFree_v2(address)
    return result


def verdict(name):
    header, body, expected = CASES[name]
    try:
        return "right" if (run(header, body) == expected).all() else "WRONG"
    except RuntimeError as error:
        return f"REFUSED: {error}"


def open_device():
    check(CUDA.cuInit(0), "cuInit")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(CUDA.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    check(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "the context")
    check(CUDA.cuCtxSetCurrent(context), "the context")


def main(wanted):
    if len(wanted) == 1:
        open_device()
        print(f"{wanted[0]:36} {verdict(wanted[0])}", flush=True)
        return 0
    # A fault ends the context, so every case has a process of its own.
    names = wanted or list(CASES)
    lines = []
    for name in names:
        ran = subprocess.run([sys.executable, __file__, name], stdout=subprocess.PIPE, text=True)
        lines.append(ran.stdout)
        print(ran.stdout, end="", flush=True)
    right = sum(line.endswith(" right\n") for line in lines)
    print(f"{len(names)} algorithms, {right} right")
    return 0 if right == len(names) else 1


sys.exit(main(sys.argv[1:]))
