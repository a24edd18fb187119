#!/usr/bin/env bash
# Compares every replay mode with ncu: wall times, and whether exact counters are equal.
# Needs a GPU, ncu, cargo-gpuprof and ex.tar.zst in the current folder.
M=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed,l1tex__t_sector_hit_rate.pct,lts__t_sector_hit_rate.pct,sm__warps_active.avg.pct_of_peak_sustained_active,sm__inst_executed.avg.per_cycle_active,smsp__inst_executed.sum,smsp__warps_launched.sum,dram__bytes.sum,dram__bytes_write.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,smsp__sass_data_bytes_mem_global_op_ld.sum
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x saxpy"
timed() { local name=$1 s; s=$(date +%s.%N); shift; "$@" > "log-$name" 2>&1; echo "$name: $(python3 -c "print(round($(date +%s.%N)-$s,2))") s (exit $?)"; }
$G --repeat 1 --replay-mode none --metrics duration > /dev/null
# What ncu profiles: the five requests of the timed passes with one launch instead of samples, each
# alone and all in one.
python3 - "$(ls -d target/gpuprof/runs/* | tail -1)" <<'P'
import json, glob, os, sys
# The run removed its own copies of the PTX, but not the archive's.
kernels = lambda m: {p: os.path.abspath('x/kernels/%s.ptx' % p) for p in m['modules']}
each = []
for f in sorted(glob.glob(sys.argv[1] + '/passes/*pass-0-0.request.json')):
    r = json.load(open(f)); r.update(waits=False, quiet=None, then=None)
    m = r['body']['measure'][0]; m['verify'] = False; m['modules'] = kernels(m); each.append(m)
    m['sampling'].update(min_warmup_ns=0, max_warmup_ns=0, min_samples=1, max_samples=1, copy_bandwidth=False)
    json.dump(r, open('one-%d.json' % len(each), 'w'))
r['body']['measure'] = each; json.dump(r, open('all.json', 'w'))
P
one() { for f in one-*.json; do __GPUPROF_REQUEST=$PWD/$f ncu --replay-mode $1 --clock-control none -k saxpy -s 1 -c 1 --metrics $M x/harnesses/saxpy-kernels --bench; done; }
# Each configuration launches ten times: the first, a window of eight for warm-up, and one sample.
all() { __GPUPROF_REQUEST=$PWD/all.json ncu --csv --replay-mode $1 --clock-control none --kernel-id '::saxpy:^(2|12|22|32|42)$' --metrics $M x/harnesses/saxpy-kernels --bench; }
timed ncu-application-five-invocations one application
timed ncu-application-one-invocation all application
timed ncu-kernel-five-invocations one kernel
timed ncu-kernel-one-invocation all kernel
ours() { local name=$1; shift; timed "gpuprof-$name" $G --repeat 1 --metrics $M --export-json "$name.json" "$@"; }
ours first-run-plans-the-counters
ours auto
ours auto-ahead-0 --ahead 0
ours configuration --isolate configuration
ours configuration-ahead-0 --isolate configuration --ahead 0
ours configuration-ahead-1 --isolate configuration --ahead 1
ours kernel --isolate kernel
ours kernel-ahead-0 --isolate kernel --ahead 0
ours auto-range --replay-mode range
ours configuration-range --isolate configuration --replay-mode range
ours kernel-range --replay-mode range --isolate kernel
ours kernel-range-ahead-0 --replay-mode range --isolate kernel --ahead 0
ours auto-kernel --replay-mode kernel
ours kernel-kernel --replay-mode kernel --isolate kernel
timed gpuprof-times-only $G --repeat 1 --metrics duration --replay-mode none
timed gpuprof-times-only-kernel $G --repeat 1 --metrics duration --replay-mode none --isolate kernel
timed gpuprof-seven-times $G --repeat 7 --metrics $M
timed gpuprof-seven-times-kernel $G --repeat 7 --metrics $M --isolate kernel
timed gpuprof-seven-times-only $G --repeat 7 --metrics duration --replay-mode none
python3 - <<'P'
import json, glob, csv, io
exact = ['smsp__inst_executed.sum', 'smsp__warps_launched.sum', 'l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum', 'l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum', 'smsp__sass_data_bytes_mem_global_op_ld.sum']
rates = ['gpu__time_duration.sum', 'dram__bytes_write.sum', 'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed', 'sm__throughput.avg.pct_of_peak_sustained_elapsed', 'sm__warps_active.avg.pct_of_peak_sustained_active', 'dram__bytes.sum', 'lts__t_sector_hit_rate.pct']
table = {}
for f in sorted(glob.glob('*.json')):
    if f.startswith(('one-', 'all')): continue
    for c in json.load(open(f))['series'][0]['configurations']:
        key = dict(c['configuration'])['block']
        table.setdefault(f[:-5], {})[key] = {k: v.get('value') for k, v in c['metrics'].items() if k in exact + rates}
for mode in ('application', 'kernel'):
    log = open('log-ncu-%s-one-invocation' % mode).read(); text = log[log.find('"ID"'):]
    for r in csv.DictReader(io.StringIO(text)):
        block = r['Block Size'].strip('()').split(',')[0]
        try: value = float(r['Metric Value'].replace(',', ''))
        except ValueError: continue
        scale = {'us': 1e3, 'ms': 1e6, 'Kbyte': 1e3, 'Mbyte': 1e6, 'Gbyte': 1e9}.get(r['Metric Unit'], 1)
        table.setdefault('ncu-' + mode, {}).setdefault(block, {})[r['Metric Name']] = value * scale
    if 'ncu-' + mode not in table: print('ncu --replay-mode %s gave no values:' % mode, log[-600:])
wrong = [(m, b, k, v[b].get(k), table['configuration'][b].get(k)) for m, v in table.items() for b in v for k in exact if v[b].get(k) != table['configuration'][b].get(k)]
print('exact counters that differ:', wrong[:10] or 'none, in %d modes' % len(table), len(wrong))
for k in rates:
    print(k)
    for m, v in table.items(): print('   %-30s' % m, *['%s: %.5g' % (b, v[b][k]) for b in sorted(v, key=int) if v[b].get(k) is not None])
P
