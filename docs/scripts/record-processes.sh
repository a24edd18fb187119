#!/usr/bin/env bash
# Writes the golden recordings in cargo-gpuprof/tests/golden from two runs on a GPU machine:
#   cargo-gpuprof run --archive-file ex.tar.zst saxpy --repeat 60 --replay-mode none \
#       --export-json saxpy.json
#   cargo-gpuprof run --archive-file ex.tar.zst reduce transpose_padded --repeat 20 \
#       --replay-mode none --export-json others.json
#   docs/scripts/record-processes.sh saxpy.json cargo-gpuprof/tests/golden/h200-saxpy-60.json
# It keeps only what a comparison needs: duration and SM cycles, one record per process.
python3 - "$1" "$2" <<'P'
import json, sys
run = json.load(open(sys.argv[1]))
run['provenance'].get('device', {}).pop('attributes', None)
for series in run['series']:
    series.update(judgements=[], columns=['duration'])
    series.pop('sections', None)
    for row in series['configurations']:
        kept = {name: row['metrics'][name] for name in ('duration', 'sm_cycles')}
        for metric in kept.values():
            metric.pop('statistics', None)
            for process in metric['processes']:
                process.update({name: round(value, 1) for name, value in process.items()})
        row.update(timings=[], launches=[], metrics=kept)
text = json.dumps(run, separators=(',', ':')).replace('{"configuration"', '\n{"configuration"')
open(sys.argv[2], 'w').write(text + '\n')
P
