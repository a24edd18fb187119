#!/usr/bin/env bash
# The memory chart and tables of the examples against ncu's group:memory__*, on one GPU.
# Needs cargo-gpuprof and ex.tar.zst in the current folder, python3 and ncu. Writes to $OUT.
set -u
OUT=${OUT:-$PWD/out}; mkdir -p "$OUT"
command -v ncu > /dev/null || PATH=$PATH:/usr/local/cuda-13.0/bin:/usr/local/cuda/bin
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x --repeat 1 --no-gate --isolate kernel"
for i in 1 2; do
  timeout 100 $G --set full --replay-mode range --export-json "$OUT/ours-$i.json" --export-html "$OUT/ours-$i.html" > "$OUT/ours-$i.txt" 2>&1
done
$G --replay-mode none --metrics duration > "$OUT/times.txt" 2>&1
cd "$PWD" && python3 - "$(ls -d target/gpuprof/runs/* | tail -1)" "$OUT" > asked <<'P'
import json, glob, os, sys
out = sys.argv[2]
run = json.load(open(out + '/ours-1.json'))
for f in sorted(glob.glob(sys.argv[1] + '/passes/*pass-0-0.request.json')):
    r = json.load(open(f)); r.update(waits=False, quiet=None, then=None)
    for m in r['body']['measure']:
        m['verify'] = False
        m['modules'] = {p: os.path.abspath('x/kernels/%s.ptx' % p) for p in m['modules']}
        m['sampling'].update(min_warmup_ns=0, max_warmup_ns=0, min_samples=1, max_samples=1, copy_bandwidth=False)
    kernel = r['body']['measure'][0]['kernel']
    json.dump(r, open('ask-%s.json' % kernel, 'w'))
    package = [s['id']['package'] for s in run['series'] if s['id']['kernel'] == kernel]
    if package: print(kernel, package[0])
P
GROUPS_OF=group:memory__chart,group:memory__shared_table,group:memory__first_level_cache_table,group:memory__l2_cache_table,group:memory__l2_cache_evict_policy_table,group:memory__dram_table
cp asked ask-*.json "$OUT/" 2> /dev/null
while read -r kernel package; do
  # Each configuration launches ten times: the first, a window of eight for warm-up, and one sample.
  # ncu profiles the second.
  __GPUPROF_REQUEST=$PWD/ask-$kernel.json timeout 60 ncu --csv --clock-control none \
    --kernel-id '::regex:^(?!gpuprof_):^[0-9]*2$' --metrics $GROUPS_OF x/harnesses/$package-* --bench > "$OUT/groups-$kernel.csv" 2>&1
done < asked
# Which metrics each group has.
first=$(head -1 asked); kernel=${first% *}; package=${first#* }
for group in chart shared_table first_level_cache_table l2_cache_table l2_cache_evict_policy_table dram_table; do
  echo "group:memory__$group"
  __GPUPROF_REQUEST=$PWD/ask-$kernel.json timeout 60 ncu --csv --clock-control none --kernel-id '::regex:^(?!gpuprof_):^2$' \
    --metrics group:memory__$group x/harnesses/$package-* --bench 2> /dev/null | python3 -c "
import csv, io, sys
text = sys.stdin.read(); at = text.find('\"ID\"')
names = sorted({r['Metric Name'] for r in csv.DictReader(io.StringIO(text[at:]))}) if at >= 0 else [text[-300:]]
print('\n'.join('  ' + n for n in names))"
done > "$OUT/groups.txt"
python3 - "$OUT" > "$OUT/compared.txt" <<'P'
import json, csv, io, glob, os, sys, statistics as st
out = sys.argv[1]
SCALE = {'us': 1e3, 'ms': 1e6, 's': 1e9, 'Kbyte': 1e3, 'Mbyte': 1e6, 'Gbyte': 1e9, 'Kbyte/s': 1e3, 'Mbyte/s': 1e6,
         'Gbyte/s': 1e9, 'Tbyte/s': 1e12}
ours = [{(s['id']['kernel'], json.dumps(c['configuration'])): c['metrics'] for s in json.load(open('%s/ours-%d.json' % (out, i)))['series']
         for c in s['configurations']} for i in (1, 2)]
table, only = {}, set()
for f in sorted(glob.glob('ask-*.json')):
    requests = json.load(open(f))['body']['measure']; kernel = requests[0]['kernel']
    path = '%s/groups-%s.csv' % (out, kernel)
    if not os.path.exists(path): continue
    text = open(path).read(); at = text.find('"ID"')
    if at < 0: print(kernel, text[-300:]); continue
    rows = {}
    for r in csv.DictReader(io.StringIO(text[at:])):
        try: rows.setdefault(int(r['ID']), {})[r['Metric Name']] = float(r['Metric Value'].replace(',', '')) * SCALE.get(r['Metric Unit'], 1)
        except ValueError: pass
    theirs = [rows[k] for k in sorted(rows)]
    if len(theirs) != len(requests): print(kernel, 'ncu saw', len(theirs), 'of', len(requests)); continue
    for request, x in zip(requests, theirs):
        key = (kernel, json.dumps(request['configuration']))
        for name, value in x.items():
            a, b = (o.get(key, {}).get(name, {}).get('value') for o in ours)
            if a is None or b is None: only.add(name); continue
            table.setdefault(name, []).append((a, b, value))
rel = lambda u, v: abs(u - v) / max(abs(u), abs(v)) if max(abs(u), abs(v)) > 0 else 0
print('%-90s %4s %6s %9s %9s' % ('metric', 'n', 'equal', 'ours/ncu', 'ours±'))
for name, v in sorted(table.items()):
    print('%-90s %4d %6d %8.1f%% %8.1f%%' % (name, len(v), sum(rel(a, x) < 5e-3 for a, _, x in v),
          100 * st.median(rel((a + b) / 2, x) for a, b, x in v), 100 * st.median(rel(a, b) for a, b, _ in v)))
print('in ncu and not in ours:'); print('\n'.join('  ' + n for n in sorted(only)))
P
tail -60 "$OUT/compared.txt"
