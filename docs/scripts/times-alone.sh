#!/usr/bin/env bash
# Shows how times change when a process starts while the one before it still leaves the device (the
# default), and not only when that one is gone (--ahead 0). Each run has twelve processes; five runs
# with --isolate kernel and two without take turns. Prints medians in ns, and the mean change with its
# standard error.
# Needs a GPU, cargo-gpuprof and ex.tar.zst in the current folder.
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x saxpy --no-gate --metrics duration --replay-mode none --repeat 12"
$G --isolate kernel > /dev/null 2>&1
for i in 1 2 3 4 5; do
  $G --isolate kernel --ahead 0 --export-json kernel-alone-$i.json > /dev/null 2>&1
  $G --isolate kernel --export-json kernel-default-$i.json > /dev/null 2>&1
done
for i in 1 2; do
  $G --ahead 0 --export-json configuration-alone-$i.json > /dev/null 2>&1
  $G --export-json configuration-default-$i.json > /dev/null 2>&1
done
python3 - <<'P'
import json, glob, statistics as st
for iso in ('kernel', 'configuration'):
    med = {}
    for how in ('alone', 'default'):
        for f in sorted(glob.glob('%s-%s-*.json' % (iso, how))):
            for c in json.load(open(f))['series'][0]['configurations']:
                med.setdefault((dict(c['configuration'])['block'], how), []).append([p['median'] for p in c['metrics']['duration']['processes']])
    for b in ('64', '128', '256', '512', '1024'):
        a, d = med[b, 'alone'], med[b, 'default']
        fa, fd = sum(a, []), sum(d, [])
        se = 100 * (st.stdev(fa) ** 2 / len(fa) + st.stdev(fd) ** 2 / len(fd)) ** .5 / st.median(fa)
        print(iso, b, 'alone', [round(st.median(x)) for x in a], 'default', [round(st.median(x)) for x in d], 'means %+.2f%% ± %.2f' % (100 * (st.mean(fd) / st.mean(fa) - 1), se))
P
