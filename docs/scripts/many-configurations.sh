#!/usr/bin/env bash
# What a run of many small configurations on the emulated driver takes: seconds of processor time
# and wall, peak memory, and the size of what is stored; and then reports of it, and its resumption.
# many-configurations.sh [SIZES [CARGO-GPUPROF]]: 5 block sizes at each of as many sizes, 60 by
# default, and the release build. Without a GPU; beside other work only processor time says
# anything. 20000 sizes are 100,000 configurations, which take half an hour.
set -euo pipefail
sizes=${1:-60}
tool=$(realpath "${2:-target/release/cargo-gpuprof}")
repository=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$tool" gpuprof archive --quiet --manifest-path "$repository/Cargo.toml" --package saxpy \
    --archive-file saxpy.tar.zst
measured() {
    python3 - "$@" <<'PYTHON'
import os, resource, subprocess, sys, time
began = time.monotonic()
with open("out", "wb") as out, open("err", "wb") as err:
    code = subprocess.run(sys.argv[2:], stdout=out, stderr=err).returncode
wall = time.monotonic() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{sys.argv[1]:28} {used.ru_utime + used.ru_stime:7.2f} s cpu {wall:8.2f} s "
      f"{used.ru_maxrss / 1024:6.0f} MiB  exit {code}  {os.path.getsize('out')} B out")
PYTHON
}
run() {
    measured "$1" "$tool" gpuprof run --archive-file saxpy.tar.zst --backend emulator \
        --max-configs 100000 --series block=64..1024 --series "n=1..$sizes step 1" "${@:2}"
}
run "run"
runs=(target/gpuprof/runs/2*)
du -b "${runs[0]}"/*.json*
for format in table html markdown csv json json-lines junit github; do
    measured "report --format $format" "$tool" gpuprof report --format "$format"
done
# As a run that was killed before its last hundredth.
rm "${runs[0]}"/{run,verdict}.json
lines=$(wc -l < "${runs[0]}/journal.jsonl")
head -n "$((lines - lines / 100))" "${runs[0]}/journal.jsonl" > journal
mv journal "${runs[0]}/journal.jsonl"
run "run --resume" --resume
