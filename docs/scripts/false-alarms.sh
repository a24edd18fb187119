#!/usr/bin/env bash
# Runs the default gate $1 times on one build against itself; every `fail` is a false alarm.
# Arguments after $1 go to both sides, such as --isolate kernel. LIMIT is the time limit in seconds.
# Needs a GPU, cargo-gpuprof and ex.tar.zst in the current folder.
N=$1; shift
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x saxpy --replay-mode none --metrics duration --message-format json $*"
$G --save-baseline base > base.jsonl 2>&1
: > aa.jsonl
for i in $(seq 1 $N); do [ $SECONDS -gt ${LIMIT:-100000} ] && break; $G --baseline base 2>/dev/null | grep threshold-judged | grep baseline >> aa.jsonl; done
python3 - <<'P'
import json, collections
c, n = collections.Counter(), 0
for line in open('aa.jsonl'):
    j = json.loads(line)['judgement']; c[j['verdict']] += 1; n += 1
    if j['verdict'] == 'fail': print(str(j)[:400])
print(n, 'judgements:', dict(c))
P
