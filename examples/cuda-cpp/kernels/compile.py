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

OPTIONS = [b"--gpu-architecture=compute_80", b"-default-device", b"--generate-line-info"]
# Instances of templates, which only a name brings about.
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
    # The line table names the source by its full path, which is this machine's.
    text = ptx.value.decode().replace(f"{source.parent}/", "kernels/")
    source.with_suffix(".ptx").write_text(text)


def check(code):
    if code:
        sys.exit(f"NVRTC error {code}")


main()
