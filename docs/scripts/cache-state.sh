#!/usr/bin/env bash
# Compares what the L2 and the instruction caches do in our counter passes and in ncu's, with and
# without --cache-control, for the kernels of docs/scripts/caches. Columns: ncu, ours, ours again.
# Needs a GPU, ncu, cargo-gpuprof and caches.tar.zst in the current folder.
G="./cargo-gpuprof gpuprof run -q --archive-file caches.tar.zst --extract-to x --repeat 1 --no-gate --isolate kernel"
PEAK=avg.pct_of_peak_sustained_elapsed
$G --replay-mode none --metrics duration > /dev/null || exit
python3 - "$(ls -d target/gpuprof/runs/* | tail -1)" <<'P'
import json, glob, os, sys
for f in sorted(glob.glob(sys.argv[1] + '/passes/*pass-0-0.request.json')):
    r = json.load(open(f)); r.update(waits=False, quiet=None, then=None)
    for m in r['body']['measure']:
        m['verify'] = False
        # The run removed its own copies of the PTX, but not the archive's.
        m['modules'] = {p: os.path.abspath('x/kernels/%s.ptx' % p) for p in m['modules']}
        m['sampling'].update(min_warmup_ns=0, max_warmup_ns=0, min_samples=1, max_samples=1, copy_bandwidth=False)
    json.dump(r, open('ask-%s.json' % r['body']['measure'][0]['kernel'], 'w'))
P
for cache in all none; do
  for f in ask-*.json; do
    # Each configuration launches ten times: the first, a window of eight for warm-up, and one sample.
    __GPUPROF_REQUEST=$PWD/$f ncu --csv --cache-control $cache --clock-control none --kernel-id '::regex:^(?!gpuprof_):^[0-9]*2$' \
      --metrics lts__throughput.$PEAK,breakdown:lts__throughput.$PEAK,lts__t_sectors.sum,gpu__time_duration.sum,sm__icc_requests.sum,smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio \
      x/harnesses/caches-* --bench > ncu-$cache-$f.csv 2>&1
  done
  names=$(grep -h -o '"[a-z0-9_]*__[a-z0-9_.]*"' ncu-$cache-*.csv | tr -d '"' | sort -u | paste -sd,)
  for i in 1 2; do $G --replay-mode range --cache-control $cache --metrics "$names" --export-json ours-$cache-$i.json > /dev/null; done
done
python3 - <<'P'
import json, csv, io
SCALE = {'us': 1e3, 'ms': 1e6}
def ncu(cache, kernel):
    text = open('ncu-%s-ask-%s.json.csv' % (cache, kernel)).read(); rows = {}
    for r in csv.DictReader(io.StringIO(text[text.find('"ID"'):])):
        try: rows.setdefault(int(r['ID']), {})[r['Metric Name']] = float(r['Metric Value'].replace(',', '')) * SCALE.get(r['Metric Unit'], 1)
        except ValueError: pass
    return [rows[i] for i in sorted(rows)]
for cache in ('all', 'none'):
    ours = [{s['id']['kernel']: {json.dumps(c['configuration']): c['metrics'] for c in s['configurations']} for s in json.load(open('ours-%s-%d.json' % (cache, i)))['series']} for i in (1, 2)]
    for kernel in ours[0]:
        asked = [json.dumps(m['configuration']) for m in json.load(open('ask-%s.json' % kernel))['body']['measure']]
        for key, row in sorted(zip(asked, ncu(cache, kernel))):
            print('--cache-control', cache, kernel, key)
            for name in sorted(row):
                print('  %-75s %12.5g %12.5g %12.5g' % (name, row[name], *(o[kernel][key][name].get('value', float('nan')) for o in ours)))
P
