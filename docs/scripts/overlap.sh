#!/usr/bin/env bash
# What --ahead 1 changes, on a GPU machine: in a folder with cargo-gpuprof and ex.tar.zst (cargo gpuprof archive). For each level of --isolate, with and
# without overlap: times of 12 processes, counters of $1 runs (5), and the wall times of both. The runs take turns, so that a machine that
# drifts does so for all of them; with $1 = 0 times only. $2 is the series (saxpy). Ten minutes are enough on an H200; $OUT, where it is set, gets what the runs wrote.
RUNS=${1:-5} SERIES=${2:-saxpy} OUT=${OUT:-.}
E=smsp__inst_executed.sum,smsp__warps_launched.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,smsp__sass_data_bytes_mem_global_op_ld.sum
N=dram__bytes.sum,lts__t_sectors.sum,lts__t_sector_hit_rate.pct,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,sm__warps_active.avg.pct_of_peak_sustained_active,gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed
M=${METRICS:-$E,$N}
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x $SERIES --no-gate --metrics"
mkdir -p "$OUT"; : > "$OUT/walls"
run() { # what isolate ahead number, then arguments
  local name="$OUT/overlap-$1-$2-$3-$4" what=$1 isolate=$2 ahead=$3 s; s=$(date +%s.%N); shift 4
  $G "$@" --isolate "$isolate" --ahead "$ahead" --export-json "$name.json" > "$name.log" 2>&1
  echo "$what $isolate $ahead $(python3 -c "print(round($(date +%s.%N)-$s,2))") $?" >> "$OUT/walls"
}
# The first run asks CUPTI for the plan; the others find it.
$G "$M" --repeat 1 > "$OUT/plan.log" 2>&1 || tail -5 "$OUT/plan.log"
for isolate in configuration kernel; do
  for ahead in 0 1; do run times $isolate $ahead 1 duration --repeat 12 --replay-mode none; done
done
for i in $(seq 1 "$RUNS"); do
  for isolate in configuration kernel; do
    for ahead in 0 1; do run counters $isolate $ahead "$i" "$M" --repeat 1; done
  done
done
python3 - "$OUT" <<'P'
import glob, json, statistics as st, sys
out = sys.argv[1]
CELLS = [(isolate, ahead) for isolate in ('configuration', 'kernel') for ahead in ('0', '1')]
def load(what, cell):
    runs = []
    for f in sorted(glob.glob('%s/overlap-%s-%s-%s-*.json' % (out, what, *cell))):
        runs.append({s['id']['kernel'] + '/' + ','.join('%s=%s' % tuple(p) for p in c['configuration']): c
                     for s in json.load(open(f))['series'] for c in s['configurations']})
    return runs
spread = lambda v: 100 * (max(v) - min(v)) / st.median(v) if st.median(v) else 0
def changed(a, b):
    a, b = st.median(a), st.median(b)
    return '%+8.2f%%' % (100 * (b / a - 1)) if a else '%9s' % ('0' if a == b else 'from 0')
table, kinds, failed = {}, {}, []
for cell in CELLS:
    for what in ('times', 'counters'):
        for run in load(what, cell):
            for key, c in run.items():
                if c['status']['status'] != 'finished': failed.append((what, *cell, key, str(c['status'])[:200]))
                for name, m in c['metrics'].items():
                    wanted = name == 'duration' if what == 'times' else '__' in name
                    if not wanted or m['source'] != 'measured' or m.get('value') is None: continue
                    kinds[name] = m['class']
                    # A time has a median a process, a counter one value a run.
                    values = [p['median'] for p in m.get('processes', [])] if what == 'times' else []
                    table.setdefault((name, key), {}).setdefault(cell, []).extend(values or [m['value']])
print('not finished:', failed or 'none')
print('\nwall times in s, median of the runs')
walls = {}
for line in open(out + '/walls'):
    what, isolate, ahead, seconds, code = line.split()
    walls.setdefault((what, isolate, ahead), []).append(float(seconds))
    if code != '0': print('   exit code', code, 'of', what, isolate, ahead)
for what in ('times', 'counters'):
    print('   %-9s' % what, *['%s ahead %s: %.1f   ' % (i, a, st.median(walls[what, i, a])) for i, a in CELLS if (what, i, a) in walls])
exact = [k for k in table if kinds[k[0]] == 'exact']
differ = [(k, table[k]) for k in exact if len({v for values in table[k].values() for v in values}) > 1]
print('\nexact counters: %d of %d values equal in all runs' % (len(exact) - len(differ), len(exact)))
for k, values in differ: print('   ', *k, {'%s %s' % c: sorted(set(v)) for c, v in values.items()})
print('\nnoisy: median without overlap, what overlap changes, and the spread (greatest less least over median) without and with it')
print('%-62s %-28s' % ('', '') + ''.join('| %-45s' % ('--isolate ' + i) for i in ('configuration', 'kernel')))
for name, key in sorted((k for k in table if kinds[k[0]] != 'exact'), key=lambda k: k[0]):
    row, cells = '', table[name, key]
    for isolate in ('configuration', 'kernel'):
        a, b = cells.get((isolate, '0')), cells.get((isolate, '1'))
        row += '| %12.6g %s  spread %6.2f%% %6.2f%% ' % (st.median(a), changed(a, b), spread(a), spread(b)) if a and b else '| %-45s' % 'missing'
    print('%-62s %-28s' % (name, key) + row)
P
