#!/usr/bin/env python3
"""Simulates a cluster whose tasks are killed, and checks that the merge is the undivided run.

simulate-cluster.py CARGO-GPUPROF SLICE [TIMES [SLICES [NODES]]]

SLICE is the folder of slice 1 of 1 of an emulated run, which is the undivided one. It is dealt out
to 200 slices, 100 times, without more arguments. Each start of a task is killed with 5 %, at any
byte of what it would write; it comes back up to three times, on another node, behind the last whole
line. Half of those that come back were only cut off, and the lost process goes on writing behind
the new one's first line. One killed task in five is cancelled and does not come back. What is not
whole then must be what `merge --missing` prints, and is submitted again. The results and the
verdict must be those of the undivided run. No process measures anything: journals are cut and
continued as the subcommand does it.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import uuid

import stored_slices

tool, source = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
times, count, nodes = (int(n) for n in (sys.argv[3:] + ['100', '200', '200'][len(sys.argv) - 3:]))
stored = stored_slices.Stored(source)
if len(stored.all) < count:
    sys.exit(f'{source} has {len(stored.all)} configurations, fewer than {count} slices')
plan = stored.plan(count, 1)
KILLED, CANCELLED, REQUEUES = 0.05, 0.2, 3


def merge(folder, *more):
    return subprocess.run([tool, 'merge', 'slices', '--quiet', *more], cwd=folder,
                          capture_output=True, text=True)


def judged(folder):
    """The exit code of a merge in `folder`, and its verdict without the run's name."""
    done = merge(folder, '--export-json', 'merged.json')
    verdict = json.loads(pathlib.Path(folder, 'target/gpuprof/verdict.json').read_text())
    del verdict['run']
    return done, verdict


def essence(path):
    run = json.loads(pathlib.Path(path).read_text())
    run['id'] = ''
    for name in ['started', 'slices', 'spans']:
        run['provenance'].pop(name, None)
    run.pop('conclusion', None)  # a slice draws none
    for series in run['series']:
        series.pop('thresholds', None)
    return json.dumps(run, sort_keys=True)


def attempt(chance, journal, each, node, lost):
    """One start on a journal; whether it came to its end, and what a lost one still writes."""
    journal = journal[:journal.rfind(b'\n') + 1]
    have, last = set(), None
    for line in map(json.loads, journal.splitlines()):
        last = line['id'] if line['line'] == 'begin' else last
        if line['line'] == 'row' and line['by'] == last:  # those of a lost process do not count
            have.add((line['series'], line['configuration']))
    start = {**stored.manifest['start'], 'host': f'n{node}',
             'id': str(uuid.UUID(int=chance.getrandbits(128)))}
    begin = (stored_slices.compact({'line': 'begin', **start}) + '\n').encode()
    todo = [line for lines in each if (lines[0]['series'], lines[0]['configuration']) not in have
            for line in lines]
    todo.append({'line': 'whole', 'at': start['at']})
    text = b''.join((stored_slices.compact({'by': start['id'], **line}) + '\n').encode()
                    for line in todo)
    if chance.random() >= KILLED:
        return journal + begin + lost + text, True, b''
    at = chance.randrange(len(text))
    rest = text[text.find(b'\n', at) + 1:]
    return journal + begin + lost + text[:at], False, rest if chance.random() < 0.5 else b''


def submit(chance, each, journal):
    """A task and its requeues: its journal, whether that is whole, and how often it was killed."""
    lost = b''
    for kills in range(REQUEUES + 1):
        node = chance.randrange(nodes)
        journal, whole, lost = attempt(chance, journal, each, node, lost)
        if whole:
            return journal, True, kills
        if chance.random() < CANCELLED:
            return journal, False, kills + 1
    return journal, False, REQUEUES + 1


def once(chance, expected):
    """One array and its merge: how many kills, how many lines of lost tasks, how many arrays."""
    with tempfile.TemporaryDirectory() as folder:
        kept, kills, rounds, again = {}, 0, 0, list(range(1, count + 1))
        parts = chance.sample(stored.all, len(stored.all))
        while again:
            rounds += 1
            left = []
            for number in again:
                part = [(key, 0) for key in sorted(parts[number - 1::count])]
                manifest, each = stored.slice(plan, number, part, None)
                journal = kept.get(number, stored.head.encode())
                kept[number], whole, more = submit(chance, each, journal)
                kills += more
                left += [] if whole else [number]
                path = pathlib.Path(folder, 'slices', plan[1][:12], f'slice-{number}-of-{count}')
                if path.exists():
                    (path / 'journal.jsonl').write_bytes(kept[number])
                else:
                    stored_slices.write(f'{folder}/slices', manifest, kept[number])
            told = merge(folder, '--missing')
            assert told.returncode == 0, told.stderr
            again = [int(number) for number in told.stdout.strip().split(',') if number]
            assert again == left, f'{again} are missing, and {left} are not whole'
        done, verdict = judged(folder)
        assert done.returncode == code, done.stderr
        assert verdict == undivided, 'the verdict is another one'
        assert essence(f'{folder}/merged.json') == expected, 'the merge is another run'
        return kills, done.stderr.count('two processes measured'), rounds


expected = essence(source / 'run.json')
with tempfile.TemporaryDirectory() as alone:
    pathlib.Path(alone, 'slices').symlink_to(source)
    done, undivided = judged(alone)
    code = done.returncode
sums = [0, 0, 0]
for seed in range(times):
    sums = [a + b for a, b in zip(sums, once(random.Random(seed), expected))]
print(f'{times} times {count} slices on {nodes} nodes, {len(stored.all)} configurations: '
      f'{sums[0]} kills, {sums[1]} slices with a lost writer, {sums[2]} arrays; each merge equals '
      f'the undivided run, with the verdict {undivided["exit_code"]}')
