#!/usr/bin/env bash
# Compares the examples' metrics of a set with ncu's. $1 is the set: detailed (default), roofline,
# full. Both tools run twice, so the table shows the spread of each metric beside the difference.
# Needs a GPU, ncu, cargo-gpuprof and ex.tar.zst in the current folder.
S=${1:-detailed}
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x --repeat 1 --no-gate --isolate kernel"
s=$(date +%s.%N)
for i in 1 2; do $G --set $S --replay-mode ${2:-range} --export-json ours-$i.json > ours-$i.txt 2>&1; done
echo "ours twice: $(python3 -c "print(round($(date +%s.%N)-$s,1))") s"
$G --replay-mode none --metrics duration > /dev/null
python3 - "$(ls -d target/gpuprof/runs/* | tail -1)" > asked <<'P'
import json, glob, os, re, sys
run, names = json.load(open('ours-1.json')), set()
for s in run['series']:
    for c in s['configurations']:
        names |= {k for k, v in c['metrics'].items() if re.match(r'[a-z0-9]+__.+\.', k) and v['source'] == 'measured' and 'value' in v and not k.startswith(('ptx__', 'launch__', 'device__'))}
open('names', 'w').write(','.join(sorted(names)))
for f in sorted(glob.glob(sys.argv[1] + '/passes/*pass-0-0.request.json')):
    r = json.load(open(f)); r.update(waits=False, quiet=None, then=None)
    for m in r['body']['measure']:
        m['verify'] = False
        # The run removed its own copies of the PTX, but not the archive's.
        m['modules'] = {p: os.path.abspath('x/kernels/%s.ptx' % p) for p in m['modules']}
        m['sampling'].update(min_warmup_ns=0, max_warmup_ns=0, min_samples=1, max_samples=1, copy_bandwidth=False)
    kernel = r['body']['measure'][0]['kernel']
    json.dump(r, open('ask-%s.json' % kernel, 'w'))
    package = [s['id']['package'] for s in run['series'] if s['id']['kernel'] == kernel][0]
    print(kernel, package)
P
s=$(date +%s.%N)
while read -r kernel package; do
  # Each configuration launches ten times: the first, a window of eight for warm-up, and one
  # sample. ncu profiles the second.
  for i in 1 2; do __GPUPROF_REQUEST=$PWD/ask-$kernel.json ncu --csv --clock-control none --kernel-id '::regex:^(?!gpuprof_):^[0-9]*2$' \
    --metrics $(cat names) x/harnesses/$package-* --bench > ncu-$kernel-$i.csv 2>&1; done
done < asked
echo "ncu twice: $(python3 -c "print(round($(date +%s.%N)-$s,1))") s"
python3 - $S <<'P'
import json, csv, io, glob, statistics as st, sys
SCALE = {'us': 1e3, 'ms': 1e6, 's': 1e9, 'Kbyte': 1e3, 'Mbyte': 1e6, 'Gbyte': 1e9, 'Kbyte/s': 1e3, 'Mbyte/s': 1e6, 'Gbyte/s': 1e9, 'Tbyte/s': 1e12, 'Khz': 1e3, 'Mhz': 1e6, 'Ghz': 1e9,
         'cycle/usecond': 1e6, 'cycle/nsecond': 1e9, 'Kbyte/block': 1e3}
def ncu(kernel, i):
    text = open('ncu-%s-%d.csv' % (kernel, i)).read(); at = text.find('"ID"')
    if at < 0: print(kernel, text[-300:]); return []
    rows = {}
    for r in csv.DictReader(io.StringIO(text[at:])):
        try: rows.setdefault(int(r['ID']), {})[r['Metric Name']] = float(r['Metric Value'].replace(',', '')) * SCALE.get(r['Metric Unit'], 1)
        except ValueError: pass
    return [rows[k] for k in sorted(rows)]
def ours(i):
    return {(s['id']['kernel'], tuple(map(tuple, c['configuration']))): (c['status'], c['metrics']) for s in json.load(open('ours-%d.json' % i))['series'] for c in s['configurations']}
a, b = ours(1), ours(2)
table = {}
for f in glob.glob('ask-*.json'):
    requests = json.load(open(f))['body']['measure']; kernel = requests[0]['kernel']
    n1, n2 = ncu(kernel, 1), ncu(kernel, 2)
    if len(n1) != len(requests) or len(n2) != len(requests): print(kernel, 'ncu saw', len(n1), len(n2), 'of', len(requests)); continue
    for r, x, y in zip(requests, n1, n2):
        key = (kernel, tuple(map(tuple, r['configuration'])))
        for name in x:
            p, q = a[key][1].get(name, {}), b[key][1].get(name, {})
            if p.get('value') is None or q.get('value') is None or name not in y: continue
            table.setdefault((p['class'], name), []).append((p['value'], q['value'], x[name], y[name]))
rel = lambda u, v: abs(u - v) / max(abs(u), abs(v)) if max(abs(u), abs(v)) > 0 else 0
print('set', sys.argv[1], '-', len(table), 'metrics,', sum(map(len, table.values())), 'values')
print('%-86s %4s %6s %9s %9s %9s' % ('metric', 'n', 'equal', 'ours/ncu', 'ours±', 'ncu±'))
for (kind, name), v in sorted(table.items()):
    near = lambda p, x: rel(p, x) < 5e-3  # ncu prints a few digits
    equal = sum(near(p, x) for p, _, x, _ in v)
    print('%-86s %4d %6s %8.1f%% %8.1f%% %8.1f%% %s' % (name, len(v), equal, 100 * st.median(rel(st.mean((p, q)), st.mean((x, y))) for p, q, x, y in v), 100 * st.median(rel(p, q) for p, q, _, _ in v), 100 * st.median(rel(x, y) for _, _, x, y in v), kind))
P
