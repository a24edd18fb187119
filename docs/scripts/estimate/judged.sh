#!/usr/bin/env bash
# Measures the kernels that judge the model of estimated times, once each.
#   judged.sh archive TOOL    # here: writes judged.tar.zst; wants cargo and NVRTC
#   judged.sh TOOL            # on a GPU, next to judged.tar.zst: writes judged.json. 30 s, H100
# Then, in docs/scripts: GPUEMU_CHIP=h100 TOOL gpuprof run --backend emulator --export-json
# estimated.json in estimate/judged, and estimate.py judged.json estimated.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ "$1" = archive ]; then
    tool=$(realpath "$2") to=$PWD/judged.tar.zst
    cd "$here/judged"
    exec "$tool" gpuprof archive --archive-file "$to"
fi
"$1" gpuprof run --archive-file judged.tar.zst --extract-to judged --backend cuda --no-config \
    --no-gate --quick --replay-mode none --export-json judged.json
