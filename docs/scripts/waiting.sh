#!/usr/bin/env bash
# What two builds take for the main job and for 300 configurations, both on the emulated driver:
# wall time, processor time, and how often a process waited. Needs no GPU and no cargo: a folder a
# build, each with `cargo-gpuprof` and `saxpy.tar.zst`, which it made:
#
#     cargo gpuprof archive --package saxpy --archive-file saxpy.tar.zst
#
#     docs/scripts/waiting.sh ROUNDS FOLDER...
#
# The builds take turns, so that a machine with other work hits them alike. Waits and processor time
# say more than wall time there.
set -euo pipefail
rounds=$1; shift
exec python3 - "$rounds" "$@" <<'P'
import os, resource, statistics, subprocess, sys, tempfile, time

rounds, folders = int(sys.argv[1]), [os.path.abspath(folder) for folder in sys.argv[2:]]
jobs = {
    "the main job, 5 configurations": ["--series", "block=64..1024"],
    "300 configurations": ["--series", "block=64", "--series", "n=64..19200 step 64"],
}

def once(folder, arguments):
    """Milliseconds, milliseconds of processors, waits of the runner and its harnesses."""
    with tempfile.TemporaryDirectory() as work:
        command = [folder + "/cargo-gpuprof", "gpuprof", "run", "-q", "--archive-file"]
        command += [folder + "/saxpy.tar.zst", "saxpy", "--no-gate", *arguments]
        environment = {**os.environ, "GPUPROF_BACKEND": "emulator"}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(command, cwd=work, env=environment, check=True, stdout=subprocess.DEVNULL)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * wall, 1e3 * busy, after.ru_nvcsw - before.ru_nvcsw

for job, arguments in jobs.items():
    found = {folder: [] for folder in folders}
    for round in range(rounds + 1):
        for folder in folders:
            one = once(folder, arguments)
            # The first one reads from disk what the others find in memory.
            if round:
                found[folder].append(one)
    print(f"{job}, {rounds} runs each: least and median")
    print(f"{'':24}{'wall, ms':>18}{'processors, ms':>18}{'waits':>18}")
    for folder in folders:
        columns = zip(*found[folder])
        cells = [f"{min(column):.0f} / {statistics.median(column):.0f}" for column in columns]
        print(f"{os.path.basename(folder):24}" + "".join(f"{cell:>18}" for cell in cells))
P
