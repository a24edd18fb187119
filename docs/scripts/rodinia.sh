#!/usr/bin/env bash
# Seven kernels of Rodinia in CUDA C++ and their ports to Rust, side by side.
#   rodinia.sh archive FOLDER   here: puts Rodinia's sources from FOLDER (a clone of the suite) into
#                               rodinia/suite and writes rodinia.tar.zst; wants cargo and an NVRTC
#   rodinia.sh                  on a GPU: wants cargo-gpuprof and rodinia.tar.zst in the current
#                               folder; prints times, registers and instructions of both
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)

if [ "${1:-}" = archive ]; then
    from=$(cd "$2" && pwd)
    suite=$HERE/rodinia/suite
    rm -rf "$suite"
    for folder in backprop hotspot3D lud nw pathfinder srad; do
        mkdir -p "$suite/cuda/$folder"
        cp -r "$from/cuda/$folder/." "$suite/cuda/$folder"
    done
    # The host code beside this kernel is not C++: arrays whose length is no constant.
    mkdir -p "$suite/cuda/gaussian"
    tr -d '\r' <"$from/cuda/gaussian/gaussian.cu" |
        sed -n '/^__global__ void Fan2(.*[^;]$/,/^}/p' >"$suite/cuda/gaussian/fan2.cu"
    to=$PWD/rodinia.tar.zst
    cd "$HERE/rodinia"
    cargo gpuprof archive --archive-file "$to"
    exit
fi

# Sizes that fill a GPU, for every series that has the axis.
SIZES=${SIZES:-"n=2048 t=0 nx=512 ny=512 columns=1000 diagonal=4 rows=50 inputs=65536 offset=0"}
options=()
for size in $SIZES; do options+=(--series "$size"); done
./cargo-gpuprof gpuprof run --archive-file rodinia.tar.zst --extract-to w-rodinia --no-config --no-gate \
    --repeat "${REPEAT:-5}" --metrics "${METRICS:-duration,registers,smsp__inst_executed.sum}" \
    --message-format json "${options[@]}" >rodinia.jsonl 2>rodinia.stderr || echo "exit code $?"
METRICS=${METRICS:-duration,registers,smsp__inst_executed.sum} python3 - <<'PYTHON'
import json, os, sys

PAIRS = {
    'Fan2': 'fan2', 'hotspotOpt1': 'hotspot', 'dynproc_kernel': 'dynproc', 'needle_cuda_shared_1': 'needle',
    'srad': 'srad', 'lud_internal': 'internal', 'bpnn_layerforward_CUDA': 'layer_forward',
}
lines = [json.loads(line) for line in open('rodinia.jsonl') if line.startswith('{')]
rows = [line for line in lines if line.get('reason') == 'configuration-finished']
names = os.environ['METRICS'].split(',')

def last(row):
    return row['series']['kernel'].rsplit('::', 1)[-1]

def values(row):
    metric = lambda name: row['metrics'].get(name, {}).get('value')
    return '  '.join(f'{name} {metric(name)}' for name in names)

bad = 0
for row in rows:
    if not row['verified']:
        print('WRONG', row['series']['kernel'], row['configuration'], row['status'], row['status_reason'])
        bad += 1
for original, port in PAIRS.items():
    for row in rows:
        if last(row) in (original, port):
            print(f"{original:24} {row['series']['kernel']:40} {row['configuration']:44} {values(row)}")
sys.exit(1 if bad or not rows else 0)
PYTHON
