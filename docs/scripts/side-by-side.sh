#!/usr/bin/env bash
# Two revisions side by side: how --base ends for the same build and for a slower one.
#
#   side-by-side.sh archives TOOL    # in this repository: makes same.tar.zst and slower.tar.zst, of
#                                    # docs/scripts/caches with axpy doing 3.1 % more work in the
#                                    # latter with blocks of 256
#   side-by-side.sh [TIMES]          # on a GPU, with cargo-gpuprof, ex.tar.zst and these two: the
#                                    # examples against themselves, 19 times by default, and both
#   side-by-side.sh counters SECONDS # the examples against themselves with four exact counters, as
#                                    # often as ends within so many seconds; and two runs alone
set -euo pipefail
if [ "${1:-}" = archives ]; then
    caches=$(cd "$(dirname "$0")/caches" && pwd)
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    cp -r "$caches"/. "$folder"
    sed -i "s#\.\./\.\./\.\./runtime#$caches/../../../runtime#" "$folder/Cargo.toml"
    for build in 'same n/1_000_000' 'slower n/32'; do
        sed '/series(block = 64..1024, n = \[16M\])/,/^}/ {
                s#grid = n.div_ceil#grid = (n + n / 32).div_ceil#
                s#random(n), random(n)#random(n + n / 32), random(n + n / 32)#
                s#^    let i = thread::global_x();#&\n    let n = if block::dim_x() == 256 { n + '"${build#* }"' } else { n };#
            }' "$caches/src/lib.rs" > "$folder/src/lib.rs"
        "$2" gpuprof archive --manifest-path "$folder/Cargo.toml" --archive-file "${build% *}.tar.zst"
    done
    exit
fi
beside() {
    local code=0
    ./cargo-gpuprof gpuprof run --archive-file "$1" --base-archive "$2" "${@:3}" \
        --isolate kernel > out.txt 2> err.txt || code=$?
    echo "$1 beside $2: exit $code; $(tail -2 out.txt | tr '\n' ' ')"
    grep -E '^ (FAIL|INCONCLUSIVE)' out.txt || true
}
if [ "${1:-}" = counters ]; then
    exact=registers,global_sectors,load_sectors_per_request,shared_wavefronts,warp_efficiency
    one=$SECONDS
    for side in first second; do
        began=$SECONDS
        ./cargo-gpuprof gpuprof run --archive-file ex.tar.zst --metrics "duration,$exact" \
            --repeat 6 --isolate kernel --no-gate > out.txt 2> err.txt
        echo "the $side of two runs alone, six processes: $((SECONDS - began)) s"
    done
    # What is left fits as many runs as the longest so far.
    longest=$((SECONDS - one)) runs=0 zero=0
    while [ $((SECONDS + longest)) -le "$2" ]; do
        began=$SECONDS
        line=$(beside ex.tar.zst ex.tar.zst --metrics "duration,$exact" --strict)
        echo "$line; $((SECONDS - began)) s"
        longest=$((SECONDS - began > longest ? SECONDS - began : longest))
        runs=$((runs + 1))
        case $line in *'exit 0;'*) zero=$((zero + 1)) ;; esac
    done
    echo "$zero of $runs runs against themselves ended with 0"
    exit
fi
times=(--replay-mode none --metrics duration --no-strict)
for _ in $(seq "${1:-19}"); do beside ex.tar.zst ex.tar.zst "${times[@]}"; done
for _ in 1 2 3; do beside same.tar.zst same.tar.zst "${times[@]}"; done
beside slower.tar.zst same.tar.zst "${times[@]}"
