#!/usr/bin/env bash
# Slices, vectors, half precision and launch bounds on a GPU: every kernel of the fixture `data`
# must leave what the host computes, bit for bit for halves, and a kernel that panics must be told
# with its message, place, block and thread.
#
# Wants cargo-gpuprof and data.tar.zst in the current folder. Ends with 1 if something differs.
set -uo pipefail

run() {
    ./cargo-gpuprof gpuprof run --archive-file data.tar.zst --extract-to w --no-config --no-gate \
        --isolate kernel --repeat 1 --message-format json "$@" 2>data.stderr
}

run slices::saxpy number backwards scale copy_ through_shared f16_ bf16_ halves::saxpy words clocks \
    double bounded --metrics duration,registers >computed.jsonl
echo "computed: exit code $?"
run reads_at ends --metrics registers >panics.jsonl
echo "panics: exit code $?"

python3 - <<'PYTHON'
import json, sys

def rows(path):
    lines = [json.loads(line) for line in open(path) if line.startswith('{')]
    return [line for line in lines if line.get('reason') == 'configuration-finished']

bad = 0
computed = rows('computed.jsonl')
for row in computed:
    name = f"{row['series']['kernel']}/{row['configuration']}"
    unverifiable = row['series']['kernel'] == 'bounded'
    beyond = row['status'] == 'invalid' and 'max_block' in str(row['status_reason'])
    if not (row['verified'] or beyond or (unverifiable and row['status'] == 'finished')):
        print('WRONG', name, row['status'], row['status_reason'])
        bad += 1
print(len(computed), 'configurations computed')
bad += len(computed) != 57

expected = {
    'how=1': 'the limit is _, which is too low',
    'how=2': 'assertion failed: limit > 31',
    'how=3': 'no way to continue',
    'how=4': 'called `Option::unwrap()` on a `None` value',
    'how=5': '_: _',
    'how=6': 'attempt to divide by zero',
    'at=100': 'index out of bounds: the len is _ but the index is _',
}
for row in rows('panics.jsonl'):
    told = expected.get(row['configuration'])
    reason = str(row['status_reason'])
    thread = 'thread (8,0,0)' if 'at=' in row['configuration'] else 'thread (31,0,0)'
    if told is None:
        good = row['status'] == 'finished'
    else:
        good = row['status'] == 'failed' and told in reason and 'block (1,0,0)' in reason and thread in reason
    print('as expected' if good else 'WRONG', row['configuration'], reason)
    bad += not good
sys.exit(1 if bad else 0)
PYTHON
