#!/bin/bash
# Submits gpuprof.sbatch, waits until every task has ended, however it ended, and merges. Ends with
# the exit code of `merge`: 106 where slices are missing. Run it again to measure those alone.
#
#   submit.sh [OPTION OF merge…]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

again=
if [ -d slices ]; then
    again=$(./cargo-gpuprof merge slices --missing)
    [ -n "$again" ] || exec ./cargo-gpuprof merge slices "$@"
fi

# Nothing of Slurm's is believed but that the tasks have ended: the slices say what is measured.
# `sbatch --wait` ends with the highest code of all tasks.
sbatch --wait ${again:+--array="$again"} "$here/gpuprof.sbatch" || true
exec ./cargo-gpuprof merge slices "$@"
