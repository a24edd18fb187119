#!/usr/bin/env bash
# What the tool does with runs of many rows: seconds of processor time and wall, and peak memory.
# large-runs.sh [ROWS [CARGO-GPUPROF [gpu]]]: 100000 rows by default, and the release build; rows of
# the emulated driver, or as of a GPU with seven processes each.
set -euo pipefail
rows=${1:-100000}
tool=$(realpath "${2:-target/release/cargo-gpuprof}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cargo run --quiet --release --package cargo-gpuprof --example large_run -- "$rows" "$folder" "${@:3:1}"
cd "$folder"
measured() {
    python3 - "$@" <<'PYTHON'
import resource, subprocess, sys, time
began = time.monotonic()
with open("out", "wb") as out:
    code = subprocess.run(sys.argv[2:], stdout=out).returncode
wall = time.monotonic() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
size = sum(1 for _ in open("out", "rb"))
print(f"{sys.argv[1]:44} {used.ru_utime + used.ru_stime:7.1f} s cpu {wall:7.1f} s "
      f"{used.ru_maxrss / 1024:7.0f} MiB  exit {code}  {size} lines")
PYTHON
}
report() { measured "report $*" "$tool" gpuprof report after.json "$@"; }
report --top 20
report --top 20 --sort n
report --filter 'block == 64' --top 20
report --reference block=64 --top 20
report --top 20 --format markdown
report --format csv
report --format json
report --format json-lines
report --format junit
measured 'compare --top 20' "$tool" gpuprof compare before.json after.json --top 20
measured 'compare, a threshold' "$tool" gpuprof compare before.json after.json --top 20 \
    --threshold 'every ptx_instructions <= baseline + 1%'
measured 'compare --format json' "$tool" gpuprof compare before.json after.json --format json
measured 'run --load-baseline --baseline' "$tool" gpuprof run --load-baseline ./after.json \
    --baseline ./before.json --top 20
