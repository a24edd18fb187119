#!/usr/bin/env bash
# The .cu files of published crates: how many NVRTC compiles as they are, or nvcc where NVRTC does not
# and GPUPROF_NVCC names one, and how many of their kernels the emulated driver loads. One line a
# file, then the counts and every reason.
#
#   cuda-files.sh NVRTC-FOLDER [PATTERN]    # such as nvidia/cu13/lib of the PyPI wheel
#                                           # nvidia-cuda-nvrtc==13.3.33; files that match PATTERN
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$here/cuda-files/." "$folder"
cargo fetch --quiet --manifest-path "$folder/Cargo.toml"
sources=$(dirname "$(cargo metadata --format-version 1 --manifest-path "$folder/Cargo.toml" |
    python3 -c 'import json, os, sys
paths = {p["name"]: p["manifest_path"] for p in json.load(sys.stdin)["packages"]}
print(os.path.dirname(paths["candle-kernels"]))')")
grep -E "${2:-.}" "$here/cuda-files/list.txt" > "$folder/files.txt"
cd "$here/../.."
cargo run --quiet --release -p cargo-gpuprof --example cuda_files -- \
    "$1" "$folder/cache" "$folder/files.txt" "$sources" \
    "$here/cuda-files/includes.txt"
