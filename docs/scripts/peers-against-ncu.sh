#!/usr/bin/env bash
# Compares the bytes of NVLink, PCIe and managed memory with those that operations on two GPUs move
# (peers/), and NVLink's with Nsight Compute's.
#   peers-against-ncu.sh archive  # makes one-call and peers.tar.zst
#   peers-against-ncu.sh          # ends with 1 if a count is wrong. 1 min, two H200
# The second needs two GPUs with peer access, ncu, python3, cargo-gpuprof and what `archive` made in
# the current folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = archive ]; then
    to=$PWD
    cd "$here/peers"
    cargo build --target-dir "$to/target" --bin one-call
    cp "$to/target/debug/one-call" "$to"
    exec cargo gpuprof archive --profile dev --target-dir "$to/target" \
        --archive-file "$to/peers.tar.zst"
fi
run() {
    local name=$1
    shift
    ./cargo-gpuprof gpuprof run -v --backend cuda --no-config --no-gate --repeat 1 \
        --archive-file peers.tar.zst "$@" --export-json "ours-$name.json" > "ours-$name.txt" 2> "ours-$name.err" || true
}
for mode in application range kernel; do
    for name in own read write copy; do
        run "$mode-$name" "$name" --replay-mode "$mode" --section Nvlink
    done
done
for name in upload pinned; do run "$name" "$name" --section Pcie; done
run managed managed --section UnifiedMemory
for name in pooled elsewhere; do run "$name" "$name"; done
run counted elsewhere --metrics smsp__warps_launched.sum
run unjoined unjoined
run topology own --section Nvlink_Topology
run alone own --section Nvlink_Topology --devices 0
metrics=$(python3 -B "$here/peers_against_ncu.py" metrics)
for name in own read write copy; do
    ncu --csv --print-units base --clock-control none --replay-mode app-range \
        --metrics "$metrics" ./one-call "$name" > "ncu-$name.csv" 2>&1 || true
done
exec python3 -B "$here/peers_against_ncu.py"
