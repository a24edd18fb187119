#!/usr/bin/env bash
# Records tests/golden/h200-counters.json. $1 is the list of counters, separated by commas.
# Needs a GPU, cargo-gpuprof and ex.tar.zst in the current folder.
./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --replay-mode range --repeat 1 --metrics "$1" --export-json range.json
python3 - "$1" <<'P'
import json, sys
names, out = sys.argv[1].split(','), {}
for s in json.load(open('range.json'))['series']:
    for c in s['configurations']:
        key = s['id']['kernel'] + '/' + ','.join('='.join(p) for p in c['configuration'])
        out[key] = {k: v['value'] for k, v in c['metrics'].items() if k in names and 'value' in v}
json.dump(out, open('h200-counters.json', 'w'), indent=1, sort_keys=True)
P
