#!/usr/bin/env bash
# Compares counters of whole closures with those of Nsight Compute, for operations of 1 to 52
# launches (operations/): by cuBLAS, candle and CubeCL, from two threads, on other streams, a graph.
#   ranges-against-ncu.sh archive  # makes one-call and operations.tar.zst; needs the CUDA toolkit
#   ranges-against-ncu.sh          # ends with 1 if a count differs. 3 min, H200
#   ranges-against-ncu.sh modes    # which metrics have a value, by replay mode and extent. 1 min
# The last two need a GPU, the toolkit, python3, cargo-gpuprof and what `archive` made in the
# current folder, and ex.tar.zst for `modes`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = archive ]; then
    to=$PWD
    cd "$here/operations"
    cargo build --target-dir "$to/target" --bin one-call
    cp "$to/target/debug/one-call" "$to"
    exec cargo gpuprof archive --profile dev --target-dir "$to/target" \
        --archive-file "$to/operations.tar.zst"
fi
run=(./cargo-gpuprof gpuprof run -q --backend cuda --no-config --no-gate --repeat 1)
if [ "${1:-}" = modes ]; then
    metrics=$(python3 -B "$here/ranges_against_ncu.py" metrics)
    for mode in application range kernel; do
        one=("${run[@]}" --replay-mode "$mode" --metrics "$metrics")
        "${one[@]}" --archive-file ex.tar.zst saxpy/block=256 --export-json "$mode-launch.json" > modes.txt
        many=("${one[@]}" --archive-file operations.tar.zst)
        "${many[@]}" concurrent --range closure --export-json "$mode-closure.json" >> modes.txt
        "${many[@]}" graph --range closure --export-json "$mode-graph.json" >> modes.txt
        "${many[@]}" concurrent --range launch --export-json "$mode-launches.json" >> modes.txt
    done
    exec python3 -B "$here/ranges_against_ncu.py" modes
fi
metrics=smsp__inst_executed.sum,smsp__warps_launched.sum
metrics+=,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum,gpu__time_duration.sum
for name in concurrent graph threads own_stream cublas candle training cubecl; do
    "${run[@]}" --archive-file operations.tar.zst "$name" --app-replay-mode balanced \
        --metrics "duration,$metrics" --section PmSampling --export-json "ours-$name.json" > "ours-$name.txt"
    for mode in app-range range; do
        # `range` refuses graphs and the allocations of candle.
        ncu --csv --print-units base --clock-control none --replay-mode "$mode" \
            --metrics "$metrics" ./one-call "$name" > "$mode-$name.csv" 2>&1 || true
    done
done
exec python3 -B "$here/ranges_against_ncu.py"
