#!/usr/bin/env bash
# Simulates merges behind the gate of the book's page on CI. It makes a repository with two kernels,
# and commits four changes on a branch each: one that changes no count, one that makes a kernel read
# with a stride, one that removes a kernel, one that adds one. Each is measured beside `main`. It
# prints the gate's exit code for each, and fails if one is not as documented.
#
#   docs/scripts/simulate-merge.sh            # in a clone; CARGO_TARGET_DIR saves building twice
#   BACKEND=cuda docs/scripts/simulate-merge.sh         # with a GPU
set -euo pipefail
clone=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cargo build --quiet --manifest-path "$clone/Cargo.toml" --package cargo-gpuprof
tool=${CARGO_TARGET_DIR:-$clone/target}/debug/cargo-gpuprof
gpuprof() { "$tool" gpuprof "$@"; }

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
    series(block = [64, 128], n = [1K]),
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
wrong=0
# gate EXPECTED: what CI would do with the commit.
gate() {
    local code=0
    gpuprof -P ci --backend "${BACKEND:-emulator}" --quiet --export-markdown report.md > table.txt 2> log.txt || code=$?
    gpuprof report latest --format junit --output junit.xml
    printf '%-42s exit code %3d, as documented: %3d\n' "$(git log -1 --format=%s)" "$code" "$1"
    grep -hE '^ (FAIL|MISSING|missing|new) ' table.txt | sed 's/^/    /' || true
    [ "$code" = "$1" ] || { wrong=1; cat log.txt; }
}

git init --quiet --initial-branch main
commit 'main' scale=i add=i
merge same 'a change that costs nothing' scale='i + 0' add='0 + i'
gate 0
merge stride 'neighbours that lie 32 bytes apart' scale='i * 8' add=i
gate 100
merge removed 'a kernel is removed' scale=i
gate 106
merge added 'a kernel is added' scale=i add=i subtract=i
gate 0
exit $wrong
