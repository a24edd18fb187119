#!/usr/bin/env bash
# A kernel that never ends, one that writes where nothing is, and a runner that is killed meanwhile, on a GPU machine: in a folder with
# cargo-gpuprof and trouble.tar.zst, the archive of tests/fixtures/trouble. Says what each came to; ends with 1 where one is not as it should be.
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

# The runner is killed while the kernel hangs: its processes go with it, and the run goes on without what was done.
$G hangs --timeout 60 > log-killed 2>&1 &
runner=$!
# The first configuration is done and the second one hangs, where the newest journal holds a pass and a process runs for seconds.
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
exit $bad
