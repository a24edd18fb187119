"""Holds the runs of slices-on-two-gpus.sh against each other. Ends with 1 if a check fails."""
import collections
import glob
import json
import statistics
import sys

from run_document import rows

# Processes of one configuration on one GPU differ between runs by less than this.
TOLERANCE = 0.02

bad = False


def check(what, found, wanted):
    global bad
    bad |= found != wanted
    told = found[:5] + [f'and {len(found) - 5} more'] if isinstance(found, list) and found[5:] else found
    print('ok:' if found == wanted else 'NOT AS IT SHOULD BE:', what, told)


def read(path):
    return {(series['id']['kernel'], str(row['configuration'])): row for series, row in rows(path)}


def exact(row):
    of = row['metrics'].items()
    return {k: m['value'] for k, m in of if m['class'] == 'exact' and m.get('value') is not None}


def differing(one, two):
    """What both have and has another value. A slice collects what its own series ask for alone."""
    return [(key, name, value, exact(two[key])[name]) for key in one
            for name, value in exact(one[key]).items() if exact(two[key]).get(name, value) != value]


def lacking(runs, names):
    """What of `names` a row of `runs` lacks."""
    all_rows = [(key, row) for run in runs for key, row in run.items()]
    return [(key, name) for key, row in all_rows for name in names
            if row['metrics'].get(name, {}).get('value') is None]


def processes(row):
    """The median time of each process."""
    return [statistics.median(timing['samples_ns']) for timing in row['timings']]


def gap(one, two):
    """How far the ranges of two runs' processes are apart, as a part; 0 where they overlap."""
    one, two = processes(one), processes(two)
    low, high = sorted([one, two], key=min)
    return max(0.0, min(high) / max(low) - 1)


def moved():
    """The slice that went on on another GPU."""
    lines = [json.loads(line) for path in glob.glob('slices-moved/*/*/journal.jsonl')
             for line in open(path)]
    starts = [line for line in lines if line['line'] == 'begin']
    check('GPUs of the two starts', len({gpu for start in starts for gpu in start['devices']}), 2)
    first, second = (start['id'] for start in starts)
    done = {line['series'] for line in lines if line['line'] == 'done' and line['by'] == first}
    of_start = lambda kind, start: collections.Counter(
        (line['series'], line['configuration'], line.get('repeat')) for line in lines
        if line['line'] == kind and line['by'] == start)
    again = of_start('pass', second)
    print('   before it moved:', len(done), 'series done,', sum(of_start('row', first).values()),
          'configurations ended; after it:', sum(again.values()), 'passes')
    check('series that were done and are measured again', sorted({at[0] for at in again} & done), [])
    check('passes that a start made twice', [at for at, n in again.items() if n > 1], [])
    unfinished = {at[0] for at in of_start('pass', first)} - done
    check('series that were not done and are measured again', {at[0] for at in again} >= unfinished, True)
    all_rows = list(rows('slices-moved.json'))
    check('configurations that did not finish',
          [str(row['configuration']) for _, row in all_rows if row['status']['status'] != 'finished'], [])
    devices = collections.defaultdict(set)
    for series, row in all_rows:
        devices[series['id']['kernel']].add(row.get('device'))
    check('series with rows of two GPUs', [k for k, found in devices.items() if len(found) > 1], [])


def merged():
    one, both, slices = map(read, ['slices-one.json', 'slices-both.json', 'slices-merged.json'])
    check('configurations of the undivided run and of the merged one that only one has',
          sorted(set(one) ^ set(slices)), [])
    check('configurations that ended otherwise',
          [k for k in one if one[k]['status'] != slices[k]['status']], [])
    check('counters that a row lacks', lacking([one, both, slices], sys.argv[1].split(',')), [])
    common = [set(exact(one[key])) & set(exact(slices[key])) for key in one]
    check('exact counters of every row', min(map(len, common)) > 2, True)
    check('exact counters that differ from the undivided run on one GPU', differing(one, slices), [])
    check('exact counters that differ from the undivided run on both GPUs', differing(both, slices), [])
    check('configurations on another GPU than in the undivided run on both',
          [k for k in both if both[k].get('device') != slices[k].get('device')], [])
    series = collections.defaultdict(set)
    for (kernel, _), row in slices.items():
        series[row.get('device')].add(kernel)
    print('   series of each GPU:', {device: len(kernels) for device, kernels in series.items()})
    check('GPUs with series', len(series), 2)
    timed = [k for k in both if both[k].get('timings') and slices[k].get('timings')]
    gaps = {k: gap(both[k], slices[k]) for k in timed}
    apart = [k for k in timed if gaps[k] > 0]
    print(f'   times: the processes of {len(timed) - len(apart)} of {len(timed)} configurations overlap')
    for key in sorted(apart, key=gaps.get)[-5:]:
        print(f'   {key[0]} {key[1]}: {100 * gaps[key]:.2f} % apart')
    check('configurations that were timed', len(timed) > 0, True)
    check(f'times more than {TOLERANCE:.0%} apart', [k for k in timed if gaps[k] > TOLERANCE], [])


if sys.argv[1] == 'moved':
    moved()
else:
    merged()
sys.exit(bad)
