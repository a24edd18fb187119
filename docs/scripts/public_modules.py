#!/usr/bin/env python3
"""The published modules that the emulated driver loads, and why it refuses kernels of others.

    python3 docs/scripts/public_modules.py build FOLDER      # needs cargo, pip and g++
    cargo gpuprof emulate -- python3 docs/scripts/public_modules.py load FOLDER

A module is the PTX of one source file of a published wheel, as its authors compiled it, or a file
of a crate in `cuda-files/modules.txt`: a `.ptx` file, or a `.cu` file that nvcc 13.0.88 compiles
unmodified. It loads if the driver takes it and at least one of its kernels. `load` prints a line
for each refused kernel, then the counts.
"""

import collections
import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

from fatbins import newest_ptx
from public_programs import CRATES, Driver, fetched_crates, installed_toolkit

# The newest architecture of the emulated device.
NEWEST = 90

# The library of each wheel whose PTX is read.
LIBRARIES = {
    "bitsandbytes==0.50.2": r"bitsandbytes/libbitsandbytes_cuda126\.so",
    "catboost==1.2.10": r"catboost/_catboost\.so",
    "ctranslate2==4.8.5": r"ctranslate2\.libs/libctranslate2-.*",
    "spconv-cu120==2.3.6": r"spconv/core_cc\..*\.so",
    "thundergbm==0.3.17": r"thundergbm/libthundergbm\.so",
}
PLATFORMS = ["manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_24_x86_64",
             "manylinux2014_x86_64"]
HEADERS = (".h", ".cuh", ".hpp")


def unpack_wheel(folder, package, library):
    """Writes every PTX of a wheel that has kernels."""
    wheels = folder / "downloads"
    name, version = package.split("==")
    found = list(wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
    if not found:
        platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--only-binary=:all:", "--python-version=3.11", *platforms,
                        "--dest", wheels, package], check=True)
        found = list(wheels.glob(f"{name.replace('-', '_')}-{version}-*.whl"))
    target = folder / "ptx" / package.replace("==", "-")
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(found[0]) as wheel:
        [member] = [member for member in wheel.namelist() if re.fullmatch(library, member)]
        texts = newest_ptx(wheel.read(member), NEWEST)
        for number, text in enumerate(text for text in texts if b".entry" in text):
            (target / f"{number:03}.ptx").write_bytes(text)


def include_folders(crate):
    """The folders that `includes.txt` gives a crate, else all of its folders with headers."""
    for line in (CRATES / "includes.txt").read_text().splitlines():
        name, *folders = line.split()
        if name == crate.name:
            return [crate / folder for folder in folders if not folder.startswith("$")]
    return sorted({file.parent for file in crate.rglob("*") if file.suffix in HEADERS})


def compile_module(toolkit, crates, name, ptx):
    """Writes the PTX of a module unless it is there. Returns the compiler's error, if any."""
    source = crates / name
    ptx.parent.mkdir(parents=True, exist_ok=True)
    if ptx.exists():
        return ""
    if source.suffix == ".ptx":
        ptx.write_bytes(source.read_bytes())
        return ""
    folders = [source.parent, *include_folders(crates / name.split("/")[0])]
    command = [toolkit / "bin/nvcc", "-ptx", "-arch=compute_90", "-std=c++17", "-lineinfo", "-w",
               "--expt-relaxed-constexpr", "--expt-extended-lambda", "-DFEATURE_BABY_BEAR",
               *[f"-I{folder}" for folder in folders], f"-I{toolkit}/include/cccl", source]
    part = ptx.with_suffix(".part")
    ran = subprocess.run([*command, "-o", part], stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.STDOUT)
    if ran.returncode:
        errors = [line for line in ran.stdout.splitlines() if "error" in line]
        return errors[0] if errors else "it does not compile"
    part.rename(ptx)
    return ""


def build(folder):
    for package, library in LIBRARIES.items():
        unpack_wheel(folder, package, library)
    toolkit, crates = installed_toolkit(folder), fetched_crates(folder)
    names = (CRATES / "modules.txt").read_text().split()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(compile_module, toolkit, crates, name,
                            folder / "ptx" / f"{name.removesuffix('.ptx')}.ptx"): name
                for name in names}
        errors = 0
        for job in concurrent.futures.as_completed(jobs):
            if job.result():
                errors += 1
                print(f"{jobs[job]}: {job.result()}", flush=True)
    print(f"{len(jobs) - errors} of {len(jobs)} files of crates compile")
    return errors == 0


class Log:
    """The emulated driver's reports of refusals, a line of JSON each."""

    def __init__(self):
        self.file = pathlib.Path(tempfile.mkdtemp()) / "log"
        os.environ["GPUEMU_LOG"] = str(self.file)
        self.read = 0

    def reason(self):
        """The message of the last report since the previous call."""
        text = self.file.read_text() if self.file.exists() else ""
        lines, self.read = text[self.read:].splitlines(), len(text)
        faults = [json.loads(line).get("fault") for line in lines]
        return next((fault["message"] for fault in reversed(faults) if fault), "no reason")


def refusals(driver, log, file):
    """The kernels of a PTX file, and why each of them that is refused is."""
    text = file.read_bytes()
    kernels = re.findall(r"\.entry\s+([\w$]+)", text.decode())
    handle, function = ctypes.c_void_p(), ctypes.c_void_p()
    if driver.library.cuModuleLoadData(ctypes.byref(handle), text + b"\0"):
        return kernels, dict.fromkeys(kernels, log.reason())
    refused = {}
    for kernel in kernels:
        if driver.library.cuModuleGetFunction(ctypes.byref(function), handle, kernel.encode()):
            refused[kernel] = log.reason()
    driver.call("cuModuleUnload", handle)
    return kernels, refused


def kind(reason):
    """A reason without its kernel and its line."""
    named = re.search(r"(?:support this:|unsupported) (.*?)(?:,? in '|,? at )", reason)
    return named.group(1) if named else reason[:100]


def load(folder):
    log = Log()
    driver = Driver()
    counts, reasons = collections.Counter(), collections.Counter()
    for file in sorted((folder / "ptx").rglob("*.ptx")):
        kernels, refused = refusals(driver, log, file)
        for kernel, reason in refused.items():
            print(f"{file.relative_to(folder / 'ptx')}: {kernel}: {reason}", flush=True)
        if kernels:
            counts["modules"] += 1
            counts["that load"] += len(refused) < len(kernels)
            counts["that load whole"] += not refused
            counts["kernels"] += len(kernels)
            counts["that run"] += len(kernels) - len(refused)
            reasons.update(map(kind, refused.values()))
    print(*[f"{count} {name}" for name, count in counts.items()], sep=", ")
    for reason, count in reasons.most_common():
        print(f"{count:6} {reason}")
    return True


if __name__ == "__main__":
    sys.exit(0 if {"build": build, "load": load}[sys.argv[1]](pathlib.Path(sys.argv[2])) else 1)
