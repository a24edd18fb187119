#!/usr/bin/env bash
# Checks slices on two GPUs of one model: eight series in two slices at once, one GPU each, merged.
# The merged run has the exact counters of an undivided run, its times are those of an undivided run
# on the same GPUs, and a slice that was killed goes on on the other GPU. Ends with 1 if a check
# fails. Needs two GPUs, cargo-gpuprof and ex.tar.zst in the current folder, where it leaves
# `slices-*` and `target`.
SERIES=${SERIES:-csr histogram layer-norm reduce saxpy softmax transpose_naive transpose_padded}
METRICS=${METRICS:-smsp__inst_executed.sum,smsp__warps_launched.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,smsp__sass_data_bytes_mem_global_op_ld.sum,dram__bytes.sum,gpu__time_duration.sum}
read -ra more <<< "${MORE:-}"
read -ra series <<< "$SERIES"
bad=0
check() { if [ "$2" = "$3" ]; then echo "ok: $1: $2"; else echo "NOT AS IT SHOULD BE: $1: $2, not $3"; bad=1; fi; }
elapsed() { python3 -c "print(round($(date +%s.%N) - $1, 1))"; }
# `measure NAME OPTION…`: a run of the series; what it says is in slices-NAME.log.
measure() {
    local name=$1
    shift
    ./cargo-gpuprof run "${series[@]}" --quiet --no-config --archive-file ex.tar.zst --no-gate \
        --metrics "$METRICS" "${more[@]}" "$@" > "slices-$name.log" 2>&1
}
rm -rf slices-*

# The first run asks CUPTI for the plan of each device. It names the GPUs in the order in which
# slices and --devices deal series out.
measure plans --devices all --repeat 1 --export-json slices-plans.json
check 'exit code of the run on both GPUs' $? 0
mapfile -t gpus < <(python3 -c "
import json
for device in json.load(open('slices-plans.json'))['provenance']['devices']: print(device['uuid'])")
check 'GPUs that took part' "${#gpus[@]}" 2
[ "${#gpus[@]}" = 2 ] || exit 1

begun=$(date +%s.%N)
measure one --devices "${gpus[0]}" --export-json slices-one.json
check 'exit code of the undivided run on one GPU' $? 0
echo "   $(elapsed "$begun") s"
begun=$(date +%s.%N)
measure both --devices all --export-json slices-both.json
check 'exit code of the undivided run on both GPUs' $? 0
echo "   $(elapsed "$begun") s"

begun=$(date +%s.%N)
slice() { measure "$1" --devices "${gpus[$1 - 1]}" --partition "slice:$1/2" --slices slices-folder --resume=auto; }
slice 1 & first=$!
slice 2 & second=$!
wait $first; check 'exit code of slice 1' $? 0
wait $second; check 'exit code of slice 2' $? 0
echo "   $(elapsed "$begun") s"
./cargo-gpuprof merge slices-folder --no-config --no-gate --quiet \
    --export-json slices-merged.json --export-csv slices-merged.csv > slices-merge.log 2>&1
check 'exit code of the merge' $? 0

python3 -B "$(dirname "$0")/slices_on_two_gpus.py" "$METRICS" || bad=1

# A slice of two series, one after the other, that is ended by a signal when one is done, and goes on
# on the other GPU: the series that is done stays, the other one is measured again from its start.
series=("${series[@]:3:2}")
moves() { measure "$1" --devices "${gpus[$2]}" --interleave none --slices slices-moved --resume=auto; }
moves begun 0 & task=$!
while kill -0 "$task" && ! grep -qs '"line":"done"' slices-moved/*/*/journal.jsonl; do sleep 0.1; done
sleep "${SETTLE:-0.2}"
pkill -TERM -P "$task" # the tool, whose parent is this shell's child
wait $task; check 'exit code of the slice that was ended' $? 143
moves moved 1; check 'exit code of the slice on the other GPU' $? 0
./cargo-gpuprof merge slices-moved --no-config --no-gate --quiet --export-json slices-moved.json > slices-moved-merge.log 2>&1
check 'exit code of its merge' $? 0
python3 -B "$(dirname "$0")/slices_on_two_gpus.py" moved || bad=1
exit $bad
