#!/usr/bin/env bash
# Two revisions side by side: how --base ends for the same build and for a slower one.
#
#   side-by-side.sh archives TOOL    # in this repository: makes same.tar.zst and slower.tar.zst, of
#                                    # docs/scripts/caches with axpy doing 3.1 % more work in the
#                                    # latter with blocks of 256; and ten-same.tar.zst and
#                                    # ten-slower.tar.zst, of docs/scripts/ten-kernels
#   side-by-side.sh [TIMES]          # on a GPU, with cargo-gpuprof, ex.tar.zst and these two: the
#                                    # examples against themselves, 19 times by default, and both
#   side-by-side.sh counters SECONDS # the examples against themselves with exact counters, on every
#                                    # GPU at once, as often as ends within so many seconds;
#                                    # counters.txt gets a line a run, and later calls add to it
#   side-by-side.sh alone            # one run beside itself and two runs alone: what each takes
#   side-by-side.sh ten              # ten kernels in 13 block sizes, of which 256 is slower
#   side-by-side.sh slower           # the slower build beside the other one, and that beside itself
set -euo pipefail
if [ "${1:-}" = archives ]; then
    caches=$(cd "$(dirname "$0")/caches" && pwd)
    here=$PWD
    tool=$(realpath "$2")
    (
        cd "$caches/../ten-kernels"
        "$tool" gpuprof archive --archive-file "$here/ten-same.tar.zst"
        "$tool" gpuprof archive --features slower --archive-file "$here/ten-slower.tar.zst"
    )
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    cp -r "$caches"/. "$caches/../../../Cargo.lock" "$folder"
    sed -i "s#\.\./\.\./\.\./runtime#$caches/../../../runtime#" "$folder/Cargo.toml"
    # Both compute the bound in the same way: n is 2^24.
    for build in 'same 25' 'slower 5'; do
        sed '/series(block = 64..=1024, n = \[16M\])/,/^}/ {
                s#grid = n.div_ceil#grid = (n + n / 32).div_ceil#
                s#random(n), random(n)#random(n + n / 32), random(n + n / 32)#
                s#^    let i = thread::global_x();#&\n    let n = if block::dim_x() == 256 { n + (n >> '"${build#* }"') } else { n };#
            }' "$caches/src/lib.rs" > "$folder/src/lib.rs"
        "$2" gpuprof archive --manifest-path "$folder/Cargo.toml" --archive-file "${build% *}.tar.zst"
    done
    exit
fi
here=$PWD
exact=registers,global_sectors,load_sectors_per_request,shared_wavefronts,bank_conflicts
# Times and exact counters, which one process a kernel and side collects. Not strict: one threshold
# of the examples is on a counter that only the emulator has.
counters=(--metrics "duration,$exact" --replay-mode range --no-strict)
# beside HEAD BASE OPTION…: one run, in a line; and its time in `took`.
beside() {
    local code=0 began=$SECONDS
    "$here/cargo-gpuprof" gpuprof run --archive-file "$here/$1" --base-archive "$here/$2" "${@:3}" \
        --isolate kernel > out.txt 2> err.txt || code=$?
    took=$((SECONDS - began))
    echo "$1 beside $2: exit $code; $took s; $(tail -2 out.txt | tr '\n' ' ')"
    grep -E '^ (FAIL|INCONCLUSIVE|MISSING|UNAVAILABLE|INCOMPARABLE)' out.txt || true
    # Nothing was judged: say why.
    case $code in 0 | 100 | 106) ;; *) tail -5 err.txt ;; esac
}
# stream GPU SECONDS: the examples against themselves, while another run as long as the longest so
# far would end in time.
stream() {
    local longest=0 line
    mkdir -p "gpu-$1"
    cd "gpu-$1"
    while [ $((SECONDS + longest)) -le "$2" ]; do
        beside ex.tar.zst ex.tar.zst "${counters[@]}" --devices "$1" > line.txt
        line="GPU $1: $(cat line.txt)"
        echo "$line"
        echo "$line" >> "$here/counters.txt"
        longest=$((took > longest ? took : longest))
    done
}
case ${1:-} in
alone)
    beside ex.tar.zst ex.tar.zst "${counters[@]}"
    for side in first second; do
        began=$SECONDS
        ./cargo-gpuprof gpuprof run --archive-file ex.tar.zst "${counters[@]:0:4}" --repeat 6 \
            --isolate kernel --no-gate > out.txt 2> err.txt
        echo "the $side of two runs alone, six processes: $((SECONDS - began)) s"
    done
    exit
    ;;
counters)
    gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}
    for gpu in $(seq 0 $((gpus - 1))); do stream "$gpu" "$2" & done
    wait
    runs=$(grep -c '^GPU' counters.txt || true)
    zero=$(grep -c '^GPU.*: exit 0;' counters.txt || true)
    echo "$zero of $runs runs against themselves ended with 0"
    [ "$runs" = "$zero" ]
    exit
    ;;
ten)
    # Times are decided in rounds until the last configuration is, or ten minutes are over.
    ./cargo-gpuprof gpuprof run --archive-file ten-slower.tar.zst --base-archive ten-same.tar.zst \
        --series 'block=64..832 step 64' --replay-mode none --metrics duration --time-budget 10min
    exit
    ;;
slower)
    beside same.tar.zst same.tar.zst "${counters[@]}"
    beside slower.tar.zst same.tar.zst "${counters[@]}"
    exit
    ;;
esac
times=(--replay-mode none --metrics duration --no-strict)
for _ in $(seq "${1:-19}"); do beside ex.tar.zst ex.tar.zst "${times[@]}"; done
for _ in 1 2 3; do beside same.tar.zst same.tar.zst "${times[@]}"; done
beside slower.tar.zst same.tar.zst "${times[@]}"
