#!/usr/bin/env bash
# Simulates merges behind the gate of the book's page on CI. It makes a repository with two kernels,
# and commits four changes on a branch each: one that changes no count, one that makes a kernel read
# with a stride, one that removes a kernel, one that adds one. Each is measured beside `main`. It
# prints the gate's exit code for each, and fails if one is not as documented.
#
#   docs/scripts/simulate-merge.sh            # in a clone; CARGO_TARGET_DIR saves building twice
#   BACKEND=cuda docs/scripts/simulate-merge.sh          # in a clone, on a machine with a GPU
#   docs/scripts/simulate-merge.sh archives FOLDER       # in a clone: an archive of each branch
#   ./simulate-merge.sh device                           # on a GPU, with these and cargo-gpuprof
set -euo pipefail
mode=${1:-run}
wrong=0
# summarise EXPECTED CODE MESSAGE: one line a merge, and what the table says about it.
summarise() {
    printf '%-42s exit code %3d, as documented: %3d\n' "$3" "$2" "$1"
    grep -hE '^ (FAIL|MISSING|missing|new) ' table.txt | sed 's/^/    /' || true
    [ "$2" = "$1" ] || { wrong=1; cat table.txt log.txt; }
}

# beside EXPECTED BRANCH MESSAGE: what CI would do with the archives of the branch and of `main`.
beside() {
    local code=0
    ./cargo-gpuprof gpuprof run --archive-file "merge-$2.tar.zst" --base-archive merge-main.tar.zst \
        --backend "${BACKEND:-cuda}" --strict --isolate kernel > table.txt 2> log.txt || code=$?
    summarise "$1" "$code" "$3"
    grep 'measured in rounds' log.txt | sed 's/^/    /' || true
}
if [ "$mode" = device ]; then
    beside 0 same 'a change that costs nothing'
    beside 100 stride 'neighbours that lie 32 bytes apart'
    beside 106 removed 'a kernel is removed'
    beside 0 added 'a kernel is added'
    exit $wrong
fi

clone=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cargo build --quiet --manifest-path "$clone/Cargo.toml" --package cargo-gpuprof
tool=${CARGO_TARGET_DIR:-$clone/target}/debug/cargo-gpuprof
gpuprof() { "$tool" gpuprof "$@"; }
elements=1K
if [ "$mode" = archives ]; then
    archives=$(realpath "$2")
    mkdir -p "$archives"
fi
# What a GPU does in less than a microsecond is below the steps of its timer.
if [ "$mode" = archives ] || [ "${BACKEND:-}" = cuda ]; then elements=4M; fi

cd "$folder"
mkdir -p src benches .config
cp "$clone/Cargo.lock" .
cat > Cargo.toml <<EOF
[package]
name = "shop"
version = "0.1.0"
edition = "2024"
[lib]
bench = false
[[bench]]
name = "kernels"
harness = false
[dependencies]
gpuprof = { path = "$clone/runtime" }
[workspace]
EOF
echo 'gpuprof::main!(shop);' > benches/kernels.rs
printf '[preset.ci]\nbase = "main"\nstrict = true\n' > .config/gpuprof.toml
printf 'target\n*.md\n*.xml\n*.txt\n*.json\n' > .gitignore

# kernel NAME INDEX: doubles the elements at INDEX.
kernel() {
    cat <<EOF
#[gpuprof::kernel(
    series(block = [64, 128], n = [$elements]),
    grid = n.div_ceil(block),
    args(n, random(8 * n)),
    metrics(duration, load_sectors_per_request),
)]
pub unsafe fn $1(n: u32, data: *mut f32) {
    let i = thread::global_x();
    if i < n {
        // SAFETY: the buffer holds 8 n elements, and no two threads have one in common.
        unsafe { *data.add(($2) as usize) *= 2.0 };
    }
}
EOF
}
# merge BRANCH MESSAGE KERNEL…: a branch off main with one commit.
merge() {
    git switch --quiet --create "$1" main
    shift
    commit "$@"
}
# commit MESSAGE KERNEL…: the library with these kernels, given as NAME=INDEX.
commit() {
    echo 'use gpuprof::prelude::*;' > src/lib.rs
    local message=$1 each
    shift
    for each in "$@"; do kernel "${each%%=*}" "${each#*=}" >> src/lib.rs; done
    # Cargo leaves out of the lock file what is not needed.
    cargo metadata --quiet --format-version 1 > metadata.json
    git add --all
    git -c user.name=gate -c user.email=gate@example.com commit --quiet --message "$message"
}
# gate EXPECTED: what CI would do with the commit; or the archive of it.
gate() {
    local code=0
    if [ "$mode" = archives ]; then
        gpuprof archive --archive-file "$archives/merge-$(git branch --show-current).tar.zst"
        return
    fi
    gpuprof -P ci --backend "${BACKEND:-emulator}" --quiet --export-markdown report.md \
        > table.txt 2> log.txt || code=$?
    gpuprof report latest --format junit --output junit.xml
    summarise "$1" "$code" "$(git log -1 --format=%s)"
}

git init --quiet --initial-branch main
commit 'main' scale=i add=i
if [ "$mode" = archives ]; then gate 0; fi
merge same 'a change that costs nothing' scale='i + 0' add='0 + i'
gate 0
merge stride 'neighbours that lie 32 bytes apart' scale='i * 8' add=i
gate 100
merge removed 'a kernel is removed' scale=i
gate 106
merge added 'a kernel is added' scale=i add=i subtract=i
gate 0
exit $wrong
