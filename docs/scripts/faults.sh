#!/usr/bin/env bash
# Planted faults in CUDA C++, and kernels beside them without one: what the emulated driver says of
# each, and what compute-sanitizer says of it on a GPU.
#   faults.sh build FOLDER       makes FOLDER/faults.ptx and FOLDER/launch: wants nvcc, gcc, and a
#                                libcuda.so to link (LIBCUDA=folder: the emulated driver's will do)
#   faults.sh emulated FOLDER    wants cargo-gpuprof (GPUPROF=path)
#   faults.sh sanitizer FOLDER   on a GPU: wants compute-sanitizer
# Prints a line for each kernel, tools that found something behind it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$2
names=$(sed -n 's/^KERNEL(\([a-z0-9_]*\)).*/\1/p' "$here/faults/faults.cu")

build() {
    mkdir -p "$folder"
    nvcc -ptx -std=c++17 -lineinfo -arch=compute_80 ${INCLUDE:+-I"$INCLUDE" -I"$INCLUDE/cccl"} \
        "$here/faults/faults.cu" -o "$folder/faults.ptx"
    gcc -O1 ${INCLUDE:+-I"$INCLUDE"} "$here/faults/launch.c" -o "$folder/launch" -L"$LIBCUDA" -lcuda
}

emulated() {
    for name in $names; do
        code=0
        timeout 60 "${GPUPROF:-cargo-gpuprof}" gpuprof emulate --check all -- \
            "$folder/launch" "$folder/faults.ptx" "$name" > /dev/null 2> "$folder/told" || code=$?
        said=$(grep -m 1 -o 'thread ([0-9,]*): .*' "$folder/told" | cut -d: -f2 | cut -c1-60) || true
        echo "$name  ${said:-$([ $code = 0 ] && echo nothing || echo "exit code $code")}"
    done
}

# One line: the tools of compute-sanitizer that found something in the kernel $1.
sanitized() {
    found=
    for tool in memcheck racecheck initcheck synccheck; do
        code=0
        timeout 60 compute-sanitizer --tool $tool --error-exitcode 9 "$folder/launch" \
            "$folder/faults.ptx" "$1" > "$folder/$1.$tool" 2>&1 || code=$?
        case $code in
        0) ;;
        9) found+=" $tool" ;;
        *) found+=" $tool(exit code $code)" ;;
        esac
    done
    echo "$1 ${found:- nothing}"
}

case $1 in
build) build ;;
emulated) emulated ;;
sanitizer)
    export folder
    export -f sanitized
    xargs -P 8 -I NAME bash -c 'sanitized NAME' <<< "$names" | sort
    ;;
esac
