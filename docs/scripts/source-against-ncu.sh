#!/usr/bin/env bash
# Compares counts and samples by line with those of Nsight Compute, for the kernels that judge the
# model of estimated times (estimate/judged).
#   source-against-ncu.sh           # ends with 1 if a count differs. 4 min, H200
#   source-against-ncu.sh overhead  # what counting and sampling cost, in times of the kernel. 1 min
# Needs a GPU, ncu, nvdisasm, python3, cargo-gpuprof and judged.tar.zst (estimate/judged.sh archive)
# in the current folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
run=(./cargo-gpuprof gpuprof run -q --archive-file judged.tar.zst --extract-to x --backend cuda
    --no-config --no-gate --isolate kernel)
# profile FILTER OPTION…: what ncu finds in the second launch of each selected configuration, in
# ncu-KERNEL.csv.
profile() {
    rm -f ask-*.json ncu-*.csv
    "${run[@]}" --repeat 1 -E "$1" --replay-mode none --metrics duration > /dev/null
    python3 "$here/ncu_requests.py" "$(ls -d target/gpuprof/runs/* | tail -1)" ours.json > asked
    while read -r kernel package; do
        __GPUPROF_REQUEST=$PWD/ask-$kernel.json ncu --csv --clock-control none \
            --kernel-id '::regex:^(?!gpuprof_):^[0-9]*2$' "${@:2}" \
            "x/harnesses/$package-kernels" --bench > "ncu-$kernel.csv" 2>&1
    done < asked
}
# The stores of `compact` and the waits of `sums_in_a_chain` depend on which block is first.
long='series(options) | series(gelu) | series(scatter_rows) | series(permute) | series(monte_carlo)
    | series(sip) | series(cheapest) | series(distance) | series(rows) | series(tensor_product)
    | series(sparse_rows) | series(attend) | series(bodies) | series(squares)
    | series(sums_of_blocks) | series(count_in_blocks) | series(normalize) | series(quantize)'
wide='series(copy_strided) | series(gather) | series(count_values) | series(sort_blocks)
    | series(transform)'
planes='series(fractal) | series(laplace) | series(box) | series(advect) | series(life)'
filter="($long) & axis(block == 256) | ($wide) & axis(block == 512)
    | ($planes) & axis(block.x == 32) | series(product) | series(decompose)"
if [ "${1:-}" != overhead ]; then
    began=$SECONDS
    "${run[@]}" --repeat 1 -E "$filter" --section SourceCounters --export-json ours.json > ours.txt
    echo "ours: $((SECONDS - began)) s"
    began=$SECONDS
    profile "$filter" --section SourceCounters --page source --print-source sass
    echo "ncu: $((SECONDS - began)) s"
    exec python3 -B "$here/source_against_ncu.py" ours.json
fi
# took COMMAND…: its seconds.
took() {
    local began=$EPOCHREALTIME
    "$@" > out.txt 2>&1 || { cat out.txt >&2 && exit 1; }
    python3 -c "print(round($EPOCHREALTIME - $began, 3))"
}
# slopes KERNEL AXIS SHORT LONG: what each tool adds to a kernel, in times of the kernel. It is the
# slope between two lengths of the kernel, so what a process costs by itself does not count.
slopes() {
    local kernel=$1 axis=$2 length times=() one plain sections bare ncu
    for length in "$3" "$4"; do
        one=(--repeat 1 -E "series($kernel)" --series block=256 --series "$axis=$length")
        sections=$(took "${run[@]}" "${one[@]}" --section SourceCounters --export-json ours.json)
        plain=$(took "${run[@]}" "${one[@]}" --replay-mode none --metrics duration)
        python3 "$here/ncu_requests.py" "$(ls -d target/gpuprof/runs/* | tail -1)" ours.json > asked
        export __GPUPROF_REQUEST=$PWD/ask-$kernel.json
        bare=$(took x/harnesses/judged-kernels --bench)
        ncu=$(took ncu --clock-control none --kernel-id '::regex:^(?!gpuprof_):^[0-9]*2$' \
            --section SourceCounters x/harnesses/judged-kernels --bench)
        unset __GPUPROF_REQUEST
        times+=("$(duration ours.json),$plain,$sections,$bare,$ncu")
        echo "$kernel $axis=$length: kernel, run, with source counters, bare, with ncu [s]: ${times[-1]}"
    done
    python3 - "$kernel" "${times[@]}" <<'P'
import sys
short, long = (list(map(float, text.split(','))) for text in sys.argv[2:])
kernel, plain, sections, bare, ncu = (b - a for a, b in zip(short, long))
print('%s: source counters add %.1f times the kernel, ncu %.1f' % (
    sys.argv[1], (sections - plain) / kernel, (ncu - bare) / kernel))
P
}
# duration RUN.json: how long the kernel of its one configuration takes, in seconds.
duration() {
    python3 -c "
import json, sys
[series] = json.load(open(sys.argv[1]))['series']
print(series['configurations'][0]['metrics']['duration']['value'] / 1e9)" "$1"
}
slopes monte_carlo steps 50000 200000
slopes sip rounds 160000 640000
slopes bodies n 131072 262144
