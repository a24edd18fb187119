#!/usr/bin/env python3
"""Compiles every CUDA C++ file here to PTX with NVRTC, which needs no GPU and no CUDA toolkit:

    pip download --no-deps nvidia-cuda-nvrtc-cu12==12.1.105 && unzip nvidia_cuda_nvrtc*.whl
    LD_LIBRARY_PATH=nvidia/cuda_nvrtc/lib python3 compile.py

The version decides which drivers can load the result: 12.1 writes PTX 8.1, for driver 530 and later.
"""

import ctypes
import os
import pathlib
import sys

OPTIONS = [b"--gpu-architecture=compute_80", b"-default-device"]
# NVRTC compiles the instances of a template that are named here.
INSTANCES = {
    "matmul": [
        f"matmul<{tile}, {half}>" for tile in (64, 128) for half in ("__half", "__nv_bfloat16")
    ],
}


def main():
    folder = pathlib.Path(__file__).resolve().parent
    os.chdir(folder)
    nvrtc = ctypes.CDLL("libnvrtc.so.12")
    for source in sorted(folder.glob("*.cu")):
        compile_one(nvrtc, source)


def compile_one(nvrtc, source):
    program = ctypes.c_void_p()
    text, name = source.read_bytes(), source.name.encode()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None))
    for instance in INSTANCES.get(source.stem, []):
        check(nvrtc.nvrtcAddNameExpression(program, instance.encode()))
    options = (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)
    failed = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
    size = ctypes.c_size_t()
    check(nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)))
    log = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetProgramLog(program, log))
    if failed:
        sys.exit(log.value.decode())
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, ptx))
    source.with_suffix(".ptx").write_text(shorten(ptx.value.decode()))


def shorten(ptx):
    """Drops comments, empty lines, and the constants of a header that NVRTC always includes."""
    head = [line for line in ptx.splitlines() if line.startswith("// Cuda compilation tools")]
    kept = [line for line in ptx.splitlines() if line.strip() and "//" not in line]
    return "\n".join(head + [line for line in kept if "_INTERNAL_" not in line]) + "\n"


def check(code):
    if code:
        sys.exit(f"NVRTC error {code}")


main()
