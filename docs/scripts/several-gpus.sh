#!/usr/bin/env bash
# Checks --devices on two GPUs of one model: both work at once, exact counters are equal on both, and
# wrong device lists are refused. Ends with 1 if a check fails.
# Needs two GPUs, cargo-gpuprof and ex.tar.zst in the current folder.
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x ${MORE:-}"
METRICS=${METRICS:-smsp__inst_executed.sum,smsp__warps_launched.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,smsp__sass_data_bytes_mem_global_op_ld.sum,dram__bytes.sum,gpu__time_duration.sum}
bad=0
check() { if [ "$2" = "$3" ]; then echo "ok: $1: $2"; else echo "NOT AS IT SHOULD BE: $1: $2, not $3"; bad=1; fi; }
timed() { local name=$1 s; s=$(date +%s.%N); shift; "$@" > "log-$name" 2>&1; code=$?; echo "$name: $(python3 -c "print(round($(date +%s.%N)-$s,2))") s (exit $code)"; }
$G saxpy --devices all --dry-run | tail -8
# The first run asks CUPTI for the plan of each device; the later ones reuse it.
timed plans $G saxpy --devices all --repeat 1 --no-gate --metrics $METRICS
timed one $G saxpy --devices 0 --no-gate --metrics $METRICS --export-json one.json; check "exit code of one" $code 0
timed two $G saxpy --devices all --no-gate --metrics $METRICS --export-json two.json --export-csv two.csv; check "exit code of two" $code 0
timed two-ahead-1 $G saxpy --devices all --ahead 1 --no-gate --metrics $METRICS; check "exit code with --ahead 1" $code 0
timed two-series $G saxpy reduce --devices 0,1 --isolate kernel --no-gate --metrics $METRICS --export-json series.json; check "exit code of two series" $code 0
PYTHONPATH=$(dirname "$0") python3 -B - <<'P' || bad=1
import sys
from run_document import rows
def read(file): return {(s['id']['kernel'], str(c['configuration'])): c for s, c in rows(file)}
one, two, series = read('one.json'), read('two.json'), read('series.json')
exact = lambda c: {k: v['value'] for k, v in c['metrics'].items() if v['class'] == 'exact' and v.get('value') is not None}
differ = [(k, n) for k in one for n, v in exact(one[k]).items() if exact(two[k]).get(n) != v]
devices = sorted({c.get('device') for c in two.values()})
whole = {k: {c.get('device') for (kernel, _), c in series.items() if kernel == k} for k in {k for k, _ in series}}
checks = [('exact counters that differ between one GPU and two', differ, []), ('devices that took part', len(devices), 2),
          ('devices of each of two series', sorted(map(len, whole.values())), [1, 1])]
for what, found, wanted in checks: print('ok:' if found == wanted else 'NOT AS IT SHOULD BE:', what, found)
for k in sorted(two, key=str): print('  ', k[1], two[k].get('device'), *('%s %.5g | %.5g' % (n, one[k]['metrics'][n]['value'], two[k]['metrics'][n]['value']) for n in ('duration',)))
sys.exit(any(found != wanted for _, found, wanted in checks))
P
$G saxpy --devices 7 > log-unknown 2>&1; check "exit code of an unknown device" $? 2; tail -4 log-unknown
$G saxpy --devices 0,0 > log-twice 2>&1; check "exit code of a device named twice" $? 2
CUDA_VISIBLE_DEVICES=1 $G saxpy --devices 0 --no-gate --repeat 1 --replay-mode none --metrics duration > log-visible 2>&1; check "exit code within CUDA_VISIBLE_DEVICES" $? 0
# A second run on one of the devices learns who holds it.
$G saxpy --devices all --no-gate --metrics $METRICS > log-first 2>&1 & first=$!
sleep ${SETTLE:-8}
$G saxpy --devices 1 --no-wait --repeat 1 --replay-mode none --metrics duration > log-second 2>&1; check "exit code of a second run" $? 107; tail -2 log-second
# One harness is killed: its configuration fails or is retried in isolation; all others finish.
victim=$(pgrep -f 'copies/saxpy' | head -1); [ -n "$victim" ] && kill -KILL "$victim"
wait $first; check "exit code after a killed harness" $? 105
grep -E 'SIGKILL' log-first | head -2
exit $bad
