#!/usr/bin/env python3
"""Planted faults and sound kernels: the findings of the emulated driver and of compute-sanitizer.

    faults.py build FOLDER        makes what the other commands launch from faults/: wants gcc,
                                  NVRTC 13.3 or newer (GPUPROF_NVRTC=the folder of its library)
                                  and, unless FOLDER/planted.ptx is there, cargo and cargo-gpuprof
                                  (GPUPROF=path). With PTXAS=path also machine code for sm_90.
    faults.py emulated FOLDER     prints a line for each kernel, and a summary; wants
                                  cargo-gpuprof and no GPU
    faults.py sanitizer FOLDER    on a GPU with compute-sanitizer: writes FOLDER/sanitizer.csv, a
                                  new version of faults/sanitizer.csv, which `emulated` reads

Above each kernel of faults/ a comment gives its check, how its launch differs from the usual one
(see faults/launch.c), and a description:

    /// race [grid=1]: each thread overwrites what the one before it reads

The check of a kernel without a fault is `sound`. The lines of a fault end in `// FAULT`: those of
both accesses of a race, and otherwise the line of the access or barrier.
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "faults"
CUDA = ["memory", "init", "shared_races", "global_races", "sync"]
RUST = ["src/faulty.rs", "src/sound.rs"]
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
# The check that finds a kind of fault; `memory` finds all others.
CHECKS = {"race": "race", "uninitialised": "init", "barrier_deadlock": "sync", "undefined": "sync"}
GPUPROF = os.environ.get("GPUPROF", "cargo-gpuprof")
# Seconds after which a launch hangs.
PATIENCE = 20


def read_kernels():
    """The kernels of all sources, as dictionaries."""
    kernels = []
    for source in [f"{name}.cu" for name in CUDA] + RUST:
        module = "planted" if source in RUST else source.removesuffix(".cu")
        for number, line in enumerate((SOURCES / source).read_text().splitlines(), 1):
            if comment := re.match(r"/// (\w+)(?: \[(.*)\])?: ", line):
                check, options = comment[1], (comment[2] or "").split()
            elif name := re.match(r"KERNEL\((\w+)\)|pub (?:unsafe )?fn (\w+)", line):
                kernels.append({"name": name[1] or name[2], "check": check, "options": options,
                                "source": Path(source).name, "module": module, "lines": set()})
            elif line.endswith("// FAULT"):
                kernels[-1]["lines"].add(number)
    return kernels


def build(folder):
    headers = folder / "headers"
    compiler = HERE.parent.parent / "emulator/tests/fixtures/compile.py"
    for name in CUDA:
        copy = Path(shutil.copy(SOURCES / f"{name}.cu", folder))
        library = Path(os.environ["GPUPROF_NVRTC"]) / "libnvrtc.so.13"
        options = ["-std=c++17", "-w", f"--use-bundled-headers={headers}", f"-I{SOURCES}"]
        command = [sys.executable, compiler, library, copy, "compute_80", *options]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        # Code for compute_80 needs nothing of later versions, which older drivers refuse.
        ptx = copy.with_suffix(".ptx")
        ptx.write_text(re.sub(r"(?m)^\.version 9\.\d+", ".version 9.0", ptx.read_text()))
    shutil.rmtree(headers)
    if not (folder / "planted.ptx").exists():
        target = folder / "target"
        archive = [GPUPROF, "gpuprof", "archive", "--archive-file", folder / "planted.tar.zst"]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
        subprocess.run(archive, cwd=SOURCES, env=environment, check=True)
        shutil.copy(next(target.glob("gpuprof/kernels/*/planted.ptx")), folder)
    if ptxas := os.environ.get("PTXAS"):
        for ptx in folder.glob("*.ptx"):
            command = [ptxas, "-lineinfo", "-arch=sm_90", ptx, "-o", ptx.with_suffix(".cubin")]
            subprocess.run(command, check=True)
    launcher = ["gcc", "-O1", SOURCES / "launch.c", "-o", folder / "launch", "-ldl"]
    subprocess.run(launcher, check=True)


def for_each(function, items):
    """What `function` returns for each item, on as many items at once as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


def launch(folder, kernel, suffix):
    module = folder / (kernel["module"] + suffix)
    return [folder / "launch", module, kernel["name"], *kernel["options"]]


def places(kernel, text):
    """The lines of the kernel's source that `text` names, in their order."""
    return [int(line) for line in re.findall(rf"\b{kernel['source']}:(\d+)", text)]


def emulate(folder, kernel):
    """The finding of the emulated driver, and its lines."""
    with tempfile.TemporaryDirectory() as own:
        report = Path(own) / "report.json"
        options = ["--check", "all", "--quiet", "--export-json", report, "--"]
        command = [GPUPROF, "gpuprof", "emulate", *options, *launch(folder, kernel, ".ptx")]
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        faults = json.loads(report.read_text())["faults"]
    if not faults:
        # The launcher's code for a result that is no number.
        return {0: "", 4: "result"}.get(ended.returncode, f"exit code {ended.returncode}"), set()
    place, _, message = faults[0]["message"].partition(", block ")
    lines = set(places(kernel, place)[:1])
    if faults[0]["kind"] == "race":
        other = message.partition("which ")[2].partition(": a race")[0]
        lines |= set(places(kernel, other)[:1])
    return CHECKS.get(faults[0]["kind"], "memory"), lines


def is_exact(kernel, lines):
    """Whether these are the lines of the fault: all of a race, one of others."""
    expected = kernel["lines"]
    return lines == expected if kernel["check"] == "race" else bool(lines & expected)


def words(lines):
    return " ".join(map(str, sorted(lines)))


def emulated(folder):
    kernels = read_kernels()
    findings = for_each(lambda kernel: emulate(folder, kernel), kernels)
    with open(SOURCES / "sanitizer.csv", newline="") as file:
        stored = {row["kernel"]: row for row in csv.DictReader(file)}
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["kernel", "source", "check", "lines", "found", "at", "exact", *TOOLS])
    counts = Counter()
    for kernel, (found, lines) in zip(kernels, findings):
        expected = kernel["check"]
        exact = found == expected and is_exact(kernel, lines)
        tools = [stored.get(kernel["name"], {}).get(tool, "") for tool in TOOLS]
        table.writerow([kernel["name"], kernel["source"], expected, words(kernel["lines"]), found,
                        words(lines), "yes" if exact else "", *tools])
        kind = "sound" if expected == "sound" else "faulty"
        counts[kind] += 1
        counts[kind, "found"] += found != ""
        counts[kind, "named"] += found == expected
        counts[kind, "exact"] += exact
        counts[kind, "sanitizer"] += any(cell.startswith("found") for cell in tools)
    print(f"{counts['faulty']} faulty: the emulated driver finds {counts['faulty', 'found']}, "
          f"names {counts['faulty', 'named']}, {counts['faulty', 'exact']} with their lines; "
          f"compute-sanitizer finds {counts['faulty', 'sanitizer']}. {counts['sound']} sound: the "
          f"emulated driver blames {counts['sound', 'found']}, compute-sanitizer "
          f"{counts['sound', 'sanitizer']}.")


def sanitize(folder, kernel, tool):
    """The cell of a kernel and a tool of compute-sanitizer."""
    options = ["--tool", tool, "--error-exitcode", "9"]
    suffix = ".cubin" if (folder / "planted.cubin").exists() else ".ptx"
    command = ["timeout", "--kill-after=5", str(PATIENCE), "compute-sanitizer", *options,
               *launch(folder, kernel, suffix)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    (folder / "logs" / f"{kernel['name']}.{tool}").write_text(ended.stdout)
    lines = words(set(places(kernel, ended.stdout)))
    if ended.returncode == 9:
        return f"found {lines}".strip()
    if "Warning: Race reported" in ended.stdout:
        return f"warning {lines}".strip()
    # The codes of `timeout`.
    ends = {0: "", 124: "hangs", 137: "hangs"}
    return ends.get(ended.returncode, f"exit code {ended.returncode}")


def sanitizer(folder):
    (folder / "logs").mkdir(exist_ok=True)
    kernels = read_kernels()
    pairs = [(kernel, tool) for tool in TOOLS for kernel in kernels]
    cells = iter(for_each(lambda pair: sanitize(folder, *pair), pairs))
    columns = [[next(cells) for _ in kernels] for _ in TOOLS]
    with open(folder / "sanitizer.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["kernel", *TOOLS])
        table.writerows(zip([kernel["name"] for kernel in kernels], *columns))


def main():
    commands = {"build": build, "emulated": emulated, "sanitizer": sanitizer}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    folder = Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    commands[sys.argv[1]](folder)


if __name__ == "__main__":
    main()
