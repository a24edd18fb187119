#!/usr/bin/env bash
# Checks what becomes of a kernel that never ends, of one that writes outside its buffer, and of a run
# whose runner is killed meanwhile or while it collects counters. Ends with 1 if a check fails.
# Needs a GPU, and in the current folder cargo-gpuprof, ex.tar.zst and trouble.tar.zst, the archive of
# tests/fixtures/trouble.
G="./cargo-gpuprof gpuprof run -q --archive-file trouble.tar.zst --extract-to t --repeat 1 --replay-mode none --metrics duration --interleave none"
bad=0
check() { if [ "$2" = "$3" ]; then echo "ok: $1: $2"; else echo "NOT AS IT SHOULD BE: $1: $2, not $3"; bad=1; fi; }
statuses() { python3 -c "
import json
rows = [(s['id']['kernel'], dict(c['configuration'])['block'], c['status']['status']) for s in json.load(open('$1'))['series'] for c in s['configurations']]
print(' '.join('%s/%s=%s' % (k, b.get('int', b) if isinstance(b, dict) else b, s) for k, b, s in rows))"; }
all="hangs/32=finished hangs/64=timeout hangs/128=finished strays/32=finished strays/64=failed strays/128=finished"
left() { pgrep -fc 't/harnesses/trouble' ; }

$G --timeout 8 --export-json all.json > log-all 2>&1
check "exit code" $? 105
check "configurations" "$(statuses all.json)" "$all"
grep -E 'CUDA_ERROR|out of bounds|outside' log-all | head -3
check "processes left" "$(left)" 0

# The runner is killed while the kernel hangs: its processes end with it, and the resumed run repeats
# no finished pass.
$G hangs --timeout 60 > log-killed 2>&1 &
runner=$!
# The first configuration is done and the second one hangs once the newest journal holds a pass and a
# process has run for seconds.
for i in $(seq 300); do grep -qs '"line":"pass"' "$(ls -t target/gpuprof/runs/*/journal.jsonl | head -1)" && break; sleep 0.1; done
sleep 3
kill -KILL $runner; wait $runner 2> /dev/null
for i in $(seq 100); do [ "$(left)" = 0 ] && break; sleep 0.1; done
echo "the last process was gone $((i * 100 - 100)) to $((i * 100)) ms after the runner"
check "processes left by a killed runner" "$(left)" 0
$G hangs --timeout 8 --no-wait --resume --export-json resumed.json > log-resumed 2>&1
check "exit code of the resumed run" $? 105
check "its configurations" "$(statuses resumed.json)" "hangs/32=finished hangs/64=timeout hangs/128=finished"
grep resuming log-resumed

# The runner is killed in a counter pass: the resumed run repeats no finished pass, and its counters
# are those of an undisturbed run.
E=smsp__inst_executed.sum,smsp__warps_launched.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,smsp__sass_data_bytes_mem_global_op_ld.sum
for isolate in auto kernel configuration; do
  C="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x saxpy --repeat 2 --no-gate --isolate $isolate --metrics $E,sm__throughput.avg.pct_of_peak_sustained_elapsed"
  newest() { ls -t target/gpuprof/runs 2> /dev/null | head -1; }
  before=$(newest)
  $C > log-counting 2>&1 &
  runner=$!
  for i in $(seq 3000); do
    run=$(newest)
    [ "$run" != "$before" ] && [ "$(cat target/gpuprof/runs/$run/journal.jsonl 2> /dev/null | grep -c '"line":"counter-step"')" -ge 12 ] && break
    sleep 0.01
  done
  sleep 0.2
  kill -KILL $runner; wait $runner 2> /dev/null
  cp target/gpuprof/runs/$run/journal.jsonl killed.jsonl
  $C --no-wait --resume $run --export-json counted.json > log-counted 2>&1
  check "exit code of counters that were resumed, --isolate $isolate" $? 0
  python3 - killed.jsonl target/gpuprof/runs/$run/journal.jsonl counted.json $E <<'P' || bad=1
import collections, json, sys
lines = lambda f: [json.loads(l) for l in open(f) if l.endswith('\n')]
before, after = lines(sys.argv[1]), lines(sys.argv[2])
steps = lambda all: sum(l['line'] in ('counter-step', 'counters') for l in all)
timed = collections.Counter((l['configuration'], l['repeat']) for l in after if l['line'] == 'pass')
counted = collections.Counter((l['configuration'], l['collected']['steps']) for l in after if l['line'] == 'counter-step')
once = after[:len(before)] == before and set(timed.values()) == {1} and set(counted.values()) == {1}
values = [tuple(c['metrics'][m].get('value') for m in sys.argv[4].split(',')) for c in json.load(open(sys.argv[3]))['series'][0]['configurations']]
# 32768 warps: each loads 32 floats of two arrays by two requests.
right = len(values) == 5 and all(v[1:] == (32768, 65536, 8388608) and v[0] for v in values)
print('ok:' if once and right else 'NOT AS IT SHOULD BE:', 'killed with %d steps of the counters in the journal, %d at the end, each once; values' % (steps(before), steps(after)), sorted(set(values)))
sys.exit(not (once and right))
P
done
exit $bad
