#!/usr/bin/env python3
"""Records on a GPU what the kernels of this folder count, for tests/calibration.rs.

    ./record.py [--ncu ncu] [--out h100.csv]    # needs a driver, a GPU and Nsight Compute, no toolkit

Output: a line for each launch, with the kernel, its grid, block and arguments, and every counter
of COUNTERS. Values that Nsight Compute does not give stay empty.
"""
import argparse
import array
import csv
import ctypes
import pathlib
import re
import subprocess
import sys
from ctypes import byref, c_uint32, c_uint64, c_void_p

HERE = pathlib.Path(__file__).parent
MODULES = ["shapes", "awkward", "accesses"]
WORDS = 1 << 20

GLOBAL = ["ld", "st", "red", "atom"]
L1 = [f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum" for op in GLOBAL for what in ("requests", "sectors")]
L1 += [f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st", "atom")]
HARDWARE = ["smsp__warps_launched.sum", "sm__ctas_launched.sum", *L1, "smsp__inst_executed.sum"]
PATCHED = [f"smsp__sass_inst_executed_op_global_{op}.sum" for op in GLOBAL]
PATCHED += [f"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{op}.sum" for op in GLOBAL]
PATCHED += [f"smsp__sass_data_bytes_mem_global_op_{op}.sum" for op in GLOBAL]
SHARED = ["ld", "st", "atom"]
PATCHED += [f"smsp__sass_inst_executed_op_shared_{op}.sum" for op in SHARED]
PATCHED += [f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in SHARED]
PATCHED += [f"smsp__sass_data_bytes_mem_shared_op_{op}.sum" for op in SHARED]
# Not emulated under these names so far.
PATCHED += [f"smsp__sass_inst_executed_op_local_{op}.sum" for op in ("ld", "st")]
PATCHED += ["smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
            "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum",
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"]
COUNTERS = HARDWARE + PATCHED

FULL, ODD, THIRDS, LOW, MIDDLE = 0xFFFFFFFF, 0xAAAAAAAA, 0x49249249, 0x0000FFFF, 0x00FFFFE0
WIDTHS = {"v4_u32": 16, "v2_u64": 16, "v2_u32": 8, "u64": 8, "b64": 8, "f64": 8, "s64": 8, "narrowed": 8,
          "v4_u8": 4, "copy_8": 8, "copy_16": 16, "matrix": 16, "u16": 2, "b16": 2, "u8": 1}


def width(kernel):
    # The longest key first: `u8` also ends `v4_u8`.
    known = [key for key in sorted(WIDTHS, key=len, reverse=True) if key in kernel]
    return WIDTHS[known[0]] if known else 4


def arguments(kernel):
    """The (a, b, c) with which a kernel is launched: for an access the stride, the offset and the mask."""
    w = width(kernel)
    if kernel.startswith(("load_mixed", "store_mixed")):
        return [(4, 0, LOW), (8, 4, THIRDS), (0, 0, FULL), (4, 0, 0)]
    if kernel.startswith(("load", "store")):
        patterns = [(w, 0, FULL), (w, w, ODD), (w, 0, THIRDS), (2 * w, 0, MIDDLE), (0, 0, FULL), (0, w, LOW),
                    (128, 0, FULL), (3 * w, w, FULL), (w, 0, 0)]
        if "_shared" in kernel and w >= 8:
            lanes = [1 << 16, 2 << 16, 1 << 20, 2 << 20, 4 << 20, 1 << 16 | 1 << 20]
            patterns += [(w, b, mask) for b in lanes for mask in (FULL, THIRDS)] + [(128, 0, ODD), (2 * w, 0, FULL)]
        return patterns
    if kernel.startswith(("atom", "unused", "red", "cas")):
        return [(w, 0, FULL), (0, 0, THIRDS), (128, 0, MIDDLE)]
    if kernel.startswith("copy"):
        return [(w, 0, FULL), (w, w, THIRDS), (2 * w, 0, LOW), (w, 0, 0)]
    if kernel.startswith("matrix"):
        return [(16, 0, FULL), (128, 0, FULL), (144, 0, FULL), (0, 0, FULL), (32, 16, FULL)]
    if kernel == "local_array":
        return [(3, 5, FULL), (1, 0, THIRDS)]
    if kernel in ("flow_guard", "plain_saxpy"):
        return [(500, 0, 0), (37, 0, 0)]
    if kernel in ("plain_stride_loop", "plain_histogram", "plain_histogram_floats"):
        return [(3000, 0, 0)]
    return [(4, 2, 3)]


def shape(kernel):
    """Blocks and threads of a block."""
    awkward = {"t01_sh128_partial": (2, 96), "t06_sh_atomics": (3, 128), "t11_early_return": (8, 160),
               "t12_loop_break": (6, 96), "t14_cp_async": (4, 128), "t18_switch": (8, 96), "t19_nested": (6, 80)}
    if kernel in awkward:
        return awkward[kernel]
    if re.match(r"t\d\d_|load|store|atom|unused|red|cas|copy|matrix|local", kernel):
        return 2, 64
    return (4, 256) if kernel == "plain_matmul" else (4, 128)


def kernels(module):
    return re.findall(r"\.entry (\w+)", (HERE / f"{module}.ptx").read_text())


def launches(module):
    """The launches of a module: kernel, grid, block, a, b, c."""
    return [(kernel, *shape(kernel), *abc) for kernel in kernels(module) for abc in arguments(kernel)]


def launch_all(module):
    """Does the launches of a module, on whatever driver there is."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def check(code, what):
        if code:
            sys.exit(f"{what}: CUDA error {code}")

    check(cuda.cuInit(0), "cuInit")
    context, loaded, state = c_void_p(), c_void_p(), 2
    check(cuda.cuDevicePrimaryCtxRetain(byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    text = (HERE / f"{module}.ptx").read_bytes()
    check(cuda.cuModuleLoadData(byref(loaded), text + b"\0"), "cuModuleLoadData")
    values = array.array("I")
    for _ in range(WORDS):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        values.append(state)
    out, source, size = c_uint64(), c_uint64(), ctypes.c_size_t(4 * WORDS)
    check(cuda.cuMemAlloc_v2(byref(out), size), "cuMemAlloc")
    check(cuda.cuMemAlloc_v2(byref(source), size), "cuMemAlloc")
    check(cuda.cuMemcpyHtoD_v2(source, values.tobytes(), size), "cuMemcpyHtoD")
    for kernel, grid, block, *numbers in launches(module):
        function = c_void_p()
        check(cuda.cuModuleGetFunction(byref(function), loaded, kernel.encode()), kernel)
        check(cuda.cuMemsetD32_v2(out, 0, ctypes.c_size_t(WORDS)), "cuMemsetD32")
        holders = [out, source, *map(c_uint32, numbers)]
        params = (c_void_p * 5)(*(ctypes.cast(byref(holder), c_void_p) for holder in holders))
        check(cuda.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, None, params, None), kernel)
        check(cuda.cuCtxSynchronize(), kernel)


def profile(ncu, module, names):
    """The values of `names` for each launch of a module."""
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
               "--metrics", ",".join(names), sys.executable, __file__, "--launch", module]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    start = next((at for at, line in enumerate(lines) if line.startswith('"ID"')), None)
    if done.returncode or start is None:
        sys.exit(f"ncu failed:\n{done.stdout[-2000:]}")
    rows = [row for row in csv.DictReader(lines[start:]) if row["ID"]]
    wanted = launches(module)
    if len(rows) != len(wanted):
        sys.exit(f"ncu saw {len(rows)} launches of {module}, not {len(wanted)}")

    def number(text):
        try:
            return f"{float((text or '').replace(',', '')):.0f}"
        except ValueError:
            return ""

    return [{name: number(row.get(name)) for name in names} for row in rows]


def groups(module):
    """Counters that are collected by one run. Patching moves the lanes of kernels that diverge: there it
    collects few counters at a time."""
    if module == "accesses":
        return [HARDWARE, PATCHED]
    return [HARDWARE, *(PATCHED[at:at + 3] for at in range(0, len(PATCHED), 3))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--out", default=str(HERE / "h100.csv"))
    parser.add_argument("--launch", metavar="MODULE", help="only do the launches of a module")
    options = parser.parse_args()
    if options.launch:
        return launch_all(options.launch)
    with open(options.out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["kernel", "grid", "block", "a", "b", "c", *COUNTERS])
        for module in MODULES:
            counted = [{} for _ in launches(module)]
            for names in groups(module):
                print(module, len(names), "counters", file=sys.stderr, flush=True)
                for row, values in zip(counted, profile(options.ncu, module, names)):
                    row.update(values)
            for launch, row in zip(launches(module), counted):
                writer.writerow([*launch, *(row[name] for name in COUNTERS)])
            file.flush()


main()
