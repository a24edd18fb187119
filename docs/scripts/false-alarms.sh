#!/usr/bin/env bash
# The default gate against itself, $1 times, on a GPU machine: in a folder with cargo-gpuprof and ex.tar.zst.
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x --replay-mode none"
$G saxpy --metrics duration --save-baseline base > base.txt 2>&1; tail -4 base.txt
for i in $(seq 1 $1); do $G saxpy --metrics duration --baseline base --message-format json 2>/dev/null | grep threshold-judged >> aa.jsonl; done
python3 - <<'P'
import json,collections
c=collections.Counter(); alarms=collections.Counter(); n=0
for l in open('aa.jsonl'):
    j=json.loads(l)['judgement']; c[j['verdict']]+=1; n+=1
    if j['verdict']=='fail': alarms[j.get('configuration')]+=1; print(str(j)[:400])
print(n,c,alarms)
P
