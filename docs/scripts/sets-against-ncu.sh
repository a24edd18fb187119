#!/usr/bin/env bash
# Compares the examples' metrics of a set with ncu's. $1 is the set: detailed (default), roofline,
# full; $2 is our replay mode: range (default). Both tools run twice, so the table shows the spread
# of each metric beside the difference, and for how many the difference is at most twice both
# spreads or 2 %; exact metrics must be equal.
# Needs a GPU, ncu, python3, cargo-gpuprof and ex.tar.zst in the current folder.
S=${1:-detailed}
HERE=$(cd "$(dirname "$0")" && pwd)
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x --repeat 1 --no-gate --isolate kernel"
s=$(date +%s.%N)
for i in 1 2; do $G --set $S --replay-mode ${2:-range} --export-json ours-$i.json > ours-$i.txt 2>&1; done
echo "ours twice: $(python3 -c "print(round($(date +%s.%N)-$s,1))") s"
PYTHONPATH=$HERE python3 -B - > names <<'P'
import re
from run_document import rows
names = set()
for _, row in rows('ours-1.json'):
    names |= {k for k, v in row['metrics'].items() if re.match(r'[a-z0-9]+__.+\.', k) and v['source'] == 'measured' and 'value' in v and not k.startswith(('ptx__', 'launch__', 'device__'))}
print(','.join(sorted(names)))
P
$G --replay-mode none --metrics duration > /dev/null
python3 "$HERE/ncu_requests.py" "$(ls -d target/gpuprof/runs/* | tail -1)" ours-1.json > asked
s=$(date +%s.%N)
while read -r kernel package; do
  # ncu profiles the second launch of each configuration.
  for i in 1 2; do __GPUPROF_REQUEST=$PWD/ask-$kernel.json ncu --csv --clock-control none --kernel-id '::regex:^(?!gpuprof_):^[0-9]*2$' \
    --metrics $(cat names) x/harnesses/$package-* --bench > ncu-$kernel-$i.csv 2>&1; done
done < asked
echo "ncu twice: $(python3 -c "print(round($(date +%s.%N)-$s,1))") s"
PYTHONPATH=$HERE python3 -B - $S <<'P'
import json, glob, statistics as st, sys
from ncu_values import launches
from run_document import by_configuration
def ncu(kernel, i):
    found, wrong = launches('ncu-%s-%d.csv' % (kernel, i))
    if wrong: print(kernel, wrong)
    return found
a, b = by_configuration('ours-1.json'), by_configuration('ours-2.json')
table = {}
for f in glob.glob('ask-*.json'):
    requests = json.load(open(f))['body']['measure']; kernel = requests[0]['kernel']
    n1, n2 = ncu(kernel, 1), ncu(kernel, 2)
    if len(n1) != len(requests) or len(n2) != len(requests): print(kernel, 'ncu saw', len(n1), len(n2), 'of', len(requests)); continue
    for r, x, y in zip(requests, n1, n2):
        key = (kernel, tuple(map(tuple, r['configuration'])))
        for name in x:
            p, q = a[key].get(name, {}), b[key].get(name, {})
            if p.get('value') is None or q.get('value') is None or name not in y: continue
            table.setdefault((p['class'], name), []).append((p['value'], q['value'], x[name], y[name]))
rel = lambda u, v: abs(u - v) / max(abs(u), abs(v)) if max(abs(u), abs(v)) > 0 else 0
print('set', sys.argv[1], '-', len(table), 'metrics,', sum(map(len, table.values())), 'values')
# ncu prints two decimals.
gap = lambda u, v: max(0, abs(u - v) - 5e-3) / max(abs(u), abs(v), 1e-9)
def agrees(kind, values):
    if kind == 'exact': return all(rel(p, x) < 5e-3 for p, _, x, _ in values)
    spreads = st.median(rel(p, q) for p, q, _, _ in values) + st.median(rel(x, y) for _, _, x, y in values)
    return st.median(gap(st.mean((p, q)), st.mean((x, y))) for p, q, x, y in values) <= max(2 * spreads, .02)
for kind in sorted({kind for kind, _ in table}):
    of_kind = {name: agrees(kind, values) for (k, name), values in table.items() if k == kind}
    print(kind, 'metrics that agree:', sum(of_kind.values()), 'of', len(of_kind), [name for name, good in of_kind.items() if not good])
print('%-86s %4s %6s %9s %9s %9s' % ('metric', 'n', 'equal', 'ours/ncu', 'ours±', 'ncu±'))
for (kind, name), v in sorted(table.items()):
    near = lambda p, x: rel(p, x) < 5e-3  # ncu prints a few digits
    equal = sum(near(p, x) for p, _, x, _ in v)
    print('%-86s %4d %6s %8.1f%% %8.1f%% %8.1f%% %s' % (name, len(v), equal, 100 * st.median(rel(st.mean((p, q)), st.mean((x, y))) for p, q, x, y in v), 100 * st.median(rel(p, q) for p, q, _, _ in v), 100 * st.median(rel(x, y) for _, _, x, y in v), kind))
P
