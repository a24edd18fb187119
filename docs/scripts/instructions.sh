#!/usr/bin/env bash
# Single PTX instructions on a GPU and on the emulated driver, bit by bit. Wants cargo-gpuprof and
# instructions.py in the current folder, and python3. Prints a line for each instruction, and ends
# with 1 if one differs whose result PTX defines exactly.
#   instructions.sh [PART OF A NAME]
set -uo pipefail
here=$(dirname "$0")
python3 "$here/instructions.py" run "${1:-}" >i-gpu.txt || exit 2
./cargo-gpuprof gpuprof emulate -- python3 "$here/instructions.py" run "${1:-}" >i-emulated.txt 2>i-emulated.stderr || exit 2
python3 "$here/instructions.py" compare i-gpu.txt i-emulated.txt
