#!/usr/bin/env bash
# Compares --isolate auto, the default, with one process for each configuration: exact counters must
# be equal, and times must agree within the noise from process to process.
#
#   isolation.sh ARCHIVE PROCESSES [RUN-OPTION...]
#
# A run with processes for each configuration stands between two default runs; each has PROCESSES
# timed processes a configuration. Prints the differences of mean durations whose 95 % interval
# excludes 0, and the mean of all differences with its interval, for the two default runs and for
# both kinds. Ends with 1 if exact counters differ or the interval of the mean leaves ±1 %.
# Needs a GPU, and cargo-gpuprof in the current folder.
set -euo pipefail
archive=$1 processes=$2
shift 2
exact=smsp__inst_executed.sum,smsp__warps_launched.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
for name in auto configuration auto-again; do
    began=$SECONDS
    ./cargo-gpuprof gpuprof run -q --archive-file "$archive" --isolate "${name%-again}" --no-gate \
        --repeat "$processes" --metrics "duration,$exact" --export-json "$name.json" \
        "$@" > "$name.log" 2>&1 || tail -3 "$name.log"
    echo "$name: $((SECONDS - began)) s"
done
PYTHONPATH=$(dirname "$0") python3 -B - <<'P'
import math, statistics as st, sys
from run_document import rows

def quantile(freedom, z=1.959964):
    """Student's t at 97.5 %, by the expansion of Hill (1970)."""
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)

def interval(a, b):
    """Difference of means and half of its 95 % interval (Welch)."""
    va, vb = st.variance(a) / len(a), st.variance(b) / len(b)
    freedom = (va + vb)**2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)) if va + vb else 1
    return st.mean(a) - st.mean(b), quantile(freedom) * math.sqrt(va + vb)

times, counts = {}, {}
for run in ('auto', 'configuration', 'auto-again'):
    for series, row in rows(run + '.json'):
        key = series['id']['kernel'] + '/' + ','.join('%s=%s' % tuple(p) for p in row['configuration'])
        if row['status']['status'] != 'finished':
            print(run, key, str(row['status'])[:200])
            continue
        for name, metric in row['metrics'].items():
            if name == 'duration':
                logs = [100 * math.log(p['mean']) for p in metric['processes']]
                times.setdefault(key, {})[run] = logs
            elif '__' in name and metric['class'] == 'exact' and metric['source'] == 'measured':
                counts.setdefault((key, name), []).append(metric.get('value'))
# Kernels that wait in a loop execute another number of instructions in every run.
varying = {k for k, v in counts.items() if len(v) == 3 and v[0] != v[2]}
different = {k: v for k, v in counts.items() if k not in varying and (len(set(v)) > 1 or len(v) != 3)}
print(len(counts), 'exact counters, of which', len(varying), 'vary between runs of the default, by kernel:',
      sorted({key.split('/')[0] for key, _ in varying}) or 'none')
print('others that differ:', different or 'none')

def compare(title, left, right):
    """Prints the differences of two lists of runs; the bound of their mean, in percent."""
    means, outside = [], 0
    for key, t in sorted(times.items()):
        if len(t) < 3: continue
        difference, half = interval(sum((t[k] for k in left), []), sum((t[k] for k in right), []))
        means.append(difference)
        if abs(difference) > half:
            outside += 1
            print('  %s %+.2f ± %.2f %%' % (key, difference, half))
    half = quantile(len(means) - 1) * st.stdev(means) / math.sqrt(len(means))
    print('%s: %d configurations, on average %+.2f ± %.2f %%, largest %.2f %%; 0 is outside of %d intervals'
          % (title, len(means), st.mean(means), half, max(map(abs, means)), outside))
    return abs(st.mean(means)) + half

for run in ('auto', 'configuration'):
    spread = st.median(st.stdev(t[run]) for t in times.values() if run in t)
    print('%s: the median deviation between processes is %.2f %%' % (run, spread))
compare('auto against auto again', ['auto'], ['auto-again'])
bound = compare('auto against configuration', ['auto', 'auto-again'], ['configuration'])
sys.exit(bound > 1 or bool(different))
P
