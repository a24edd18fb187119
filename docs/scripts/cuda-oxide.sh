#!/usr/bin/env bash
# Builds NVIDIA's Rust compiler from a checkout of cuda-oxide, runs our example on the emulated
# driver (cuda-oxide/, three kernels), then all examples of the checkout, and prints a table.
#
#   docs/scripts/cuda-oxide.sh CHECKOUT WORK [EXAMPLE…]
#
# Needs no GPU and no CUDA toolkit: rustup with the toolchain of the checkout's rust-toolchain.toml
# (rust-src, rustc-dev, llvm-tools), `cargo gpuprof` of this clone in PATH or in GPUPROF, and for the
# headers Python's pip, unless CUDA_HOME is set. WORK keeps everything that is built; what is there
# is not built again. LIMIT is how many seconds a program may run (1200).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 2
gpuprof=${GPUPROF:-cargo-gpuprof}

RUSTUP_TOOLCHAIN=$(sed -n 's/^channel = "\(.*\)"/\1/p' "$checkout/rust-toolchain.toml")
export RUSTUP_TOOLCHAIN
sysroot=$(rustc --print sysroot)
host=$(rustc -vV | sed -n 's/^host: //p')

# cuda.h, libclang for bindgen, and the emulated driver as what programs are linked to.
mkdir -p "$work/emulator" "$work/bin" "$work/log"
if [ -z "${CUDA_HOME:-}" ]; then
    if [ ! -d "$work/wheels" ]; then
        python3 -m pip install --quiet --no-deps --target "$work/wheels" \
            nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 libclang==18.1.1
    fi
    export CUDA_HOME=$work/wheels/nvidia/cu13 LIBCLANG_PATH=$work/wheels/clang/native
fi
export CUDA_TOOLKIT_PATH=$CUDA_HOME
# The wheel of libclang lacks stddef.h.
BINDGEN_EXTRA_CLANG_ARGS="-I$(gcc -print-file-name=include)"
export BINDGEN_EXTRA_CLANG_ARGS
"$gpuprof" gpuprof emulate --quiet -- \
    sh -c 'cp "${LD_LIBRARY_PATH%%:*}"/* "$0"' "$work/emulator" 2>/dev/null
export LIBRARY_PATH=$sysroot/lib:$work/emulator

(cd "$checkout/crates/rustc-codegen-cuda" && LD_LIBRARY_PATH=$sysroot/lib cargo build --quiet)
export CUDA_OXIDE_BACKEND=$checkout/crates/rustc-codegen-cuda/target/debug/librustc_codegen_cuda.so

# Our example, with the checkout in the place of the git addresses.
rm -rf "$work/example"
cp -r "$here/cuda-oxide" "$work/example"
sed -i -e "s#path = \"../../../runtime\"#path = \"$here/../../runtime\"#" \
    -e "s#^\(cuda-[a-z]*\) = { git = .*#\1 = { path = \"$checkout/crates/\1\" }#" \
    "$work/example/Cargo.toml"
cp "$here/../../Cargo.lock" "$work/example"
(cd "$work/example" && "$gpuprof" gpuprof run --backend emulator --target-dir "$work/target-example")

# Their examples. The flags are those of `cargo oxide build`; a target keeps them from macros and
# build scripts. Packages of one name in several examples need folders of their own.
flags=(-Zcodegen-backend="$CUDA_OXIDE_BACKEND" -Copt-level=3 -Cdebug-assertions=off
    -Zmir-enable-passes=-JumpThreading -Csymbol-mangling-version=v0)
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\x1f' "${flags[@]}")
# No line tables: a crate that becomes NVVM IR does not compile with them.
export CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%?}
examples=$checkout/crates/rustc-codegen-cuda/examples
if [ $# -eq 0 ]; then
    mapfile -t all < <(cd "$examples" && printf '%s\n' */Cargo.toml | sed 's#/Cargo.toml##')
    set -- "${all[@]}"
fi
for name; do
    [ -e "$work/bin/$name" ] && continue
    target=$work/target
    case $name in cross_crate*) target=$work/target-$name ;; esac
    (cd "$examples/$name" && LD_LIBRARY_PATH=$sysroot/lib CARGO_TARGET_DIR=$target \
        cargo build --release --target "$host" --message-format=json-render-diagnostics) \
        >"$work/log/$name.json" 2>"$work/log/$name.build" || true
    # The program of the example's name: benchmarks may lie beside it.
    executables=$(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$work/log/$name.json")
    executable=$(grep "/$name\$" <<<"$executables" || tail -1 <<<"$executables")
    [ -z "$executable" ] || cp "$executable" "$work/bin/$name"
done
python3 "$here/cuda_oxide_table.py" "$gpuprof" "$examples" "$work" "$@"
