#!/usr/bin/env bash
# Measures the kernels that judge the model of estimated times, once each. SET is a folder next to
# this script: judged (the default, 33 kernels), judged-again (32 others), judged-third (28 more),
# judged-fourth (24 more) or judged-fifth (36 more).
#   judged.sh archive TOOL [SET]    # here: writes SET.tar.zst; wants cargo and NVRTC
#   judged.sh TOOL [SET]            # on a GPU, next to SET.tar.zst: writes SET.json
# The first set takes 30 s on an H100. Then, in docs/scripts: GPUEMU_CHIP=h100 TOOL gpuprof run
# --backend emulator --export-json estimated.json in estimate/SET, and estimate.py SET.json
# estimated.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ "$1" = archive ]; then
    tool=$(realpath "$2") set=${3:-judged}
    to=$PWD/$set.tar.zst
    cd "$here/$set"
    exec "$tool" gpuprof archive --archive-file "$to"
fi
set=${2:-judged}
"$1" gpuprof run --archive-file "$set.tar.zst" --extract-to "$set" --backend cuda --no-config \
    --no-gate --quick --replay-mode none --export-json "$set.json"
