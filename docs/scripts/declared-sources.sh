#!/usr/bin/env bash
# Every kind of source of declared kernels on a GPU: CUDA C++ by NVRTC and by nvcc, PTX, a cubin, a
# fatbin, and the PTX constants of candle's published crate. Each archive is run once, and its
# counters are compared with ncu's (sets-against-ncu.sh detailed).
#
#   declared-sources.sh archive FOLDER TOOLKIT    with cargo and a release build, without a GPU
#   declared-sources.sh                           with a GPU and ncu, in FOLDER with cargo-gpuprof
#
# TOOLKIT holds bin/nvcc, bin/ptxas and bin/fatbinary: the toolkit of CUDA, or nvidia/cu13 of the
# wheels that the book's page on CUDA C++ names. NVRTC is where cargo gpuprof finds it.
# PROFILE is a Cargo profile [bench]. The linker must find libcudart.so for candle.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# packed NAME ARGUMENTS…: an archive of the package in the current folder.
packed() {
    echo "$1"
    "$tool" gpuprof archive --quiet --profile "${PROFILE:-bench}" "${@:2}" --archive-file "$folder/$1.tar.zst"
}

if [ "${1:-}" = archive ]; then
    folder=$(realpath "$2")
    toolkit=$(realpath "$3")
    tool=$(realpath "$here/../../target/release/cargo-gpuprof")
    export GPUPROF_NVCC=$toolkit/bin/nvcc PATH=$toolkit/bin:$PATH
    copy=$(mktemp -d)
    trap 'rm -rf "$copy"' EXIT
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$copy/target}
    cp -r "$here/../../tests/fixtures/declared" "$here/../../tests/fixtures/machine-code" \
        "$here/../../examples/candle" "$copy"
    find "$copy" -name Cargo.toml -exec \
        sed -i "s|\"\(\.\./\)*runtime\"|\"$(realpath "$here/../../runtime")\"|" {} +
    cd "$copy/machine-code/kernels"
    images=()
    for arch in sm_80 sm_90; do
        ptxas -arch $arch scale.ptx -o scale.$arch.cubin
        images+=("--image3=kind=elf,sm=${arch#sm_},file=scale.$arch.cubin")
    done
    fatbinary --create scale.fatbin -64 "${images[@]}" --image3=kind=ptx,sm=90,file=scale.ptx
    cd ..
    packed machine-code
    cd "$copy/declared"
    for package in in-cuda in-nvcc in-ptx; do packed $package --package $package; done
    cd "$copy/candle"
    packed candle
    exit
fi

for archive in machine-code in-cuda in-nvcc in-ptx candle; do
    [ -e $archive.tar.zst ] || { echo "$archive.tar.zst is not here" >&2; exit 2; }
    own=sources-$archive
    mkdir -p "$own"
    ln -sf "../$archive.tar.zst" "$own/ex.tar.zst"
    ln -sf ../cargo-gpuprof "$own/cargo-gpuprof"
    (
        cd "$own"
        echo "== $archive"
        ./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --repeat 3 || echo "exit code $?"
        "$here/sets-against-ncu.sh" detailed || echo "exit code $?"
    )
done
