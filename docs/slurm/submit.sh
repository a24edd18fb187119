#!/bin/bash
# Submits gpuprof.sbatch, waits until every task has ended, however it ended, and merges. Ends with
# the exit code of `merge`: 106 where slices are missing. Run it again to measure those alone.
#
#   submit.sh [OPTION OF merge…]
#
# Each archive, with its GPUPROF_SLURM_ARGUMENTS, has a folder of its own below `slices`: another
# archive is measured, the same one is only merged again. To measure it once more, remove its
# folder, or name another one in GPUPROF_SLICES.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

plan="$(sha256sum < series.tar.zst) ${GPUPROF_SLURM_SLICES:-} ${GPUPROF_SLURM_ARGUMENTS:-}"
export GPUPROF_SLICES=${GPUPROF_SLICES:-slices/$(sha256sum <<< "$plan" | cut --characters=-12)}
again=
if compgen -G "$GPUPROF_SLICES/*/*/manifest.json" > /dev/null; then
    again=$(./cargo-gpuprof merge "$GPUPROF_SLICES" --missing)
    if [ -z "$again" ]; then
        echo "$GPUPROF_SLICES is measured: nothing is submitted" >&2
        exec ./cargo-gpuprof merge "$GPUPROF_SLICES" "$@"
    fi
fi

# Nothing of Slurm's is believed but that the tasks have ended: the slices say what is measured.
# `sbatch --wait` ends with the highest code of all tasks.
sbatch --wait ${again:+--array="$again"} "$here/gpuprof.sbatch" || true
exec ./cargo-gpuprof merge "$GPUPROF_SLICES" "$@"
