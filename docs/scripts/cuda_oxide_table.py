"""Runs examples of cuda-oxide on the emulated driver and judges them by the rules of its
scripts/smoketest.sh: exit code 0, a word of success, no word of failure.

    cuda_oxide_table.py GPUPROF EXAMPLES WORK NAME…

WORK/bin holds the executables. Each runs in its own folder, where it looks for its PTX, for at most
LIMIT seconds (environment; 1200 by default: two products of 1024x1024 matrices take minutes). Output:
a line for each example and, for those that are not right, what was refused; then the counts.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

LIMIT = int(os.environ.get("LIMIT", "1200"))

FAILURE = re.compile(
    r"(^|\s)FAIL(ED)?($|[\s:!.])|(^|\s)✗($|\s)|panicked at |assertion failed:|assertion `[^`]*` failed"
    r"|illegal memory access|invalid argument|misaligned address|fatal( error)?:",
    re.M,
)
SUCCESS = re.compile("SUCCESS|PASS|Complete")


def reason(text, code):
    """Why a program is not right, by the first line of the driver's or else of its own."""
    told = re.findall(r"^emulated CUDA driver: (.*)", text, re.M)
    if told:
        return told[-1]
    own = re.findall(r"undefined symbol: \S+|panicked at [^\n]*\n[^\n]*|^[^\n]*FAIL[^\n]*", text, re.M)
    return own[0].replace("\n", " ") if own else f"exit code {code}, no word of success"


def judge(gpuprof, folder, program):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [gpuprof, "gpuprof", "emulate", "--quiet", "--export-json", report.name]
        try:
            done = subprocess.run(
                command + ["--", program],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LIMIT,
                env={**os.environ, "RUST_BACKTRACE": "0"},
            )
        except subprocess.TimeoutExpired:
            return "slow", f"not ended after {LIMIT} s"
        text = done.stdout.decode(errors="replace")
        try:
            unsupported = json.load(open(report.name)).get("unsupported", [])
        except ValueError:
            unsupported = []
    if done.returncode == 0 and SUCCESS.search(text) and not FAILURE.search(text):
        return "right", ""
    if re.search(r"^\s*skipping:", text, re.M) and done.returncode == 0:
        return "skips", re.search(r"skipping:.*", text)[0]
    why = reason(text, done.returncode)
    return "not", why + (f" ({unsupported})" if unsupported and "unsupported" not in why else "")


def main():
    gpuprof, examples, work, *names = sys.argv[1:]
    counts = collections.Counter()
    for name in names:
        program = os.path.join(work, "bin", name)
        if os.path.exists(program):
            verdict, why = judge(gpuprof, os.path.join(examples, name), program)
        else:
            verdict, why = ("refuses", "to compile, as it should") if name.startswith("error") else (
                "absent", "was not built")
        counts[verdict] += 1
        print(f"| {name} | {verdict} | {why[:200]} |", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))


main()
