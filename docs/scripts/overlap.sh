#!/usr/bin/env bash
# Shows how times and counters change when processes prepare while another one measures, and when a
# process goes on to count after its times. For each level of --isolate it takes the times of 12
# processes and the counters of $1 runs (default 5) in three ways: alone (--ahead 0; times in
# processes that count nothing), by default, and with --ahead 1. It prints the wall times as well.
# The runs take turns, so that a drift of the machine affects all of them.
# $2 is the series (default saxpy). OUT is the folder for what the runs write.
# Needs a GPU, cargo-gpuprof and ex.tar.zst in the current folder.
RUNS=${1:-5} SERIES=${2:-saxpy} OUT=${OUT:-.}
E=smsp__inst_executed.sum,smsp__warps_launched.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,smsp__sass_data_bytes_mem_global_op_ld.sum
N=dram__bytes.sum,lts__t_sectors.sum,lts__t_sector_hit_rate.pct,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,sm__warps_active.avg.pct_of_peak_sustained_active,gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed
M=${METRICS:-$E,$N} T=sm__throughput.avg.pct_of_peak_sustained_elapsed
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x $SERIES --no-gate --metrics"
mkdir -p "$OUT"; : > "$OUT/walls"
run() { # what isolate how number, then arguments
  local name="$OUT/overlap-$1-$2-$3-$4" what=$1 isolate=$2 how=$3 s; s=$(date +%s.%N); shift 4
  local ahead; case $how in alone) ahead="--ahead 0";; ahead) ahead="--ahead 1";; default) ahead=;; esac
  $G "$@" --isolate "$isolate" $ahead --export-json "$name.json" > "$name.log" 2>&1
  echo "$what $isolate $how $(python3 -c "print(round($(date +%s.%N)-$s,2))") $?" >> "$OUT/walls"
}
# The first run asks CUPTI for the plan; the later ones reuse it.
$G "$M" --repeat 1 > "$OUT/plan.log" 2>&1 || tail -5 "$OUT/plan.log"
for isolate in configuration kernel; do
  run times $isolate alone 1 duration --repeat 12 --replay-mode none
  # The last of the twelve goes on to count, so the next configuration follows a process that
  # counted.
  run times $isolate default 1 "$M,$T" --repeat 12
  run times $isolate ahead 1 duration --repeat 12 --replay-mode none
done
for i in $(seq 1 "$RUNS"); do
  for isolate in configuration kernel; do
    for how in alone default; do run counters $isolate $how "$i" "$M" --repeat 1; done
  done
done
PYTHONPATH=$(dirname "$0") python3 -B - "$OUT" <<'P'
import glob, statistics as st, sys
from run_document import rows
out = sys.argv[1]
HOW = ('alone', 'default', 'ahead')
CELLS = [(isolate, how) for isolate in ('configuration', 'kernel') for how in HOW]
def load(what, cell):
    runs = []
    for f in sorted(glob.glob('%s/overlap-%s-%s-%s-*.json' % (out, what, *cell))):
        runs.append({s['id']['kernel'] + '/' + ','.join('%s=%s' % tuple(p) for p in c['configuration']): c
                     for s, c in rows(f)})
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
                    # A time has a median per process, a counter one value per run.
                    values = [p['median'] for p in m.get('processes', [])] if what == 'times' else []
                    table.setdefault((name, key), {}).setdefault(cell, []).extend(values or [m['value']])
print('not finished:', failed or 'none')
print('\nwall times in s, median of the runs')
walls = {}
for line in open(out + '/walls'):
    what, isolate, how, seconds, code = line.split()
    walls.setdefault((what, isolate, how), []).append(float(seconds))
    if code != '0': print('   exit code', code, 'of', what, isolate, how)
for what in ('times', 'counters'):
    print('   %-9s' % what, *['%s %s: %.1f   ' % (i, h, st.median(walls[what, i, h])) for i, h in CELLS if (what, i, h) in walls])
exact = [k for k in table if kinds[k[0]] == 'exact']
differ = [(k, table[k]) for k in exact if len({v for values in table[k].values() for v in values}) > 1]
print('\nexact counters: %d of %d values equal in all runs' % (len(exact) - len(differ), len(exact)))
for k, values in differ: print('   ', *k, {'%s %s' % c: sorted(set(v)) for c, v in values.items()})
print('\nnoisy: median alone, what the others change, and the spread of each (greatest less least over median)')
for name, key in sorted((k for k in table if kinds[k[0]] != 'exact'), key=lambda k: k[0]):
    row, cells = '', table[name, key]
    for isolate in ('configuration', 'kernel'):
        alone = cells.get((isolate, 'alone'))
        if not alone: continue
        row += '| %s: %.6g ±%.2f%%' % (isolate, st.median(alone), spread(alone))
        for how in HOW[1:]:
            other = cells.get((isolate, how))
            if other: row += ', %s %s ±%.2f%%' % (how, changed(alone, other).strip(), spread(other))
    print('%-62s %-24s' % (name, key) + row)
P
