#!/usr/bin/env bash
# Everything that the device half offers and the fixtures use, on a GPU: every configuration must
# leave what the host computes. Wants cargo-gpuprof and device.tar.zst in the current folder, and
# device-90.tar.zst, where the GPU has capability 9.0 and pairs of bf16 are added by an instruction.
# Ends with 1 if something differs.
set -uo pipefail
for archive in device device-90; do
    [ -e "$archive.tar.zst" ] || { echo "$archive.tar.zst is not here"; continue; }
    ./cargo-gpuprof gpuprof run --archive-file "$archive.tar.zst" --extract-to "w-$archive" \
        --no-config --no-gate --isolate kernel --repeat 1 --message-format json \
        --metrics duration,registers \
        >"$archive.jsonl" 2>"$archive.stderr"
    echo "$archive: exit code $?"
done
python3 - <<'PYTHON'
import json, os, sys

bad = 0
for archive in ['device', 'device-90']:
    if not os.path.exists(archive + '.jsonl'):
        continue
    lines = [json.loads(line) for line in open(archive + '.jsonl') if line.startswith('{')]
    rows = [line for line in lines if line.get('reason') == 'configuration-finished']
    wrong = [row for row in rows if not row['verified']]
    for row in wrong:
        print('WRONG', row['series']['kernel'], row['configuration'], row['status'], row['status_reason'])
    print(f'{archive}: {len(rows)} configurations, {len(wrong)} wrong')
    bad += len(wrong) + (len(rows) == 0)
sys.exit(1 if bad else 0)
PYTHON
