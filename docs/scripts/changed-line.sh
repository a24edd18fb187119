#!/usr/bin/env bash
# How long it takes from a changed line of a .cu file to the first result: of `cargo gpuprof run`, of
# `nvcc -ptx` alone, and of CuPy's RawModule. Wants cargo-gpuprof, NVRTC where it finds it, nvcc in
# PATH or none, and a python3 with CuPy. Least, median and most of seconds.
#
#   changed-line.sh CARGO-GPUPROF [TIMES [OPTION OF cargo gpuprof run…]]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tool=$(realpath "$1")
times=${2:-5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$here/changed-line/." "$folder"
mkdir "$folder/kernels"
file=$(realpath "$here/../../examples/cuda-cpp/kernels/jacobi.cu")
cp "$file" "$folder/kernels"
sed -i "s|\.\./\.\./\.\./runtime|$(realpath "$here/../../runtime")|" "$folder/Cargo.toml"
cd "$folder"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$folder/target}
run=("$tool" gpuprof run --quiet "${@:3}")
"${run[@]}" >/dev/null
for name in changed unchanged; do
    for ((i = 0; i < times; i++)); do
        [ $name = unchanged ] || sed -i "s/0\.25[0-9]*f/0.25$i$(date +%N)f/" kernels/jacobi.cu
        began=$(date +%s.%N)
        "${run[@]}" >/dev/null
        echo "$began $(date +%s.%N)"
    done | awk -v name="$name" '{ print $2 - $1 }' | sort -n | awk -v name="$name" '
        { taken[NR] = $1 }
        END { printf "cargo gpuprof run, %s: %.2f %.2f %.2f s\n", name, taken[1], taken[int((NR + 1) / 2)], taken[NR] }'
done
python3 "$here/changed-line/peers.py" "$file" "$times"
