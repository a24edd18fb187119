#!/usr/bin/env bash
# Micro-benchmarks of a GPU: the constants of the model of estimated times (emulator/src/device).
#   constants.sh FOLDER    # on a GPU; wants nvcc and ncu. Two minutes on an H100
# FOLDER/clocks.txt has the clocks of chains, FOLDER/caches.txt those of caches, FOLDER/durations.csv
# and FOLDER/more.csv the durations of kernels by ncu, with a flushed L2.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
nvcc -O3 -arch=native -o constants "$here/constants.cu"
nvcc -O3 -arch=native -o caches "$here/caches.cu"
./constants > clocks.txt
./caches > caches.txt
nvidia-smi --query-gpu=name,clocks.sm,clocks.max.sm --format=csv >> clocks.txt
durations() {
    ncu --csv --clock-control none --cache-control all \
        --metrics gpu__time_duration.sum ./constants "$1"
}
durations timed > durations.csv
durations more > more.csv
