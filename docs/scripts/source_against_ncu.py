"""Compares counts by line with those of Nsight Compute's source page.

    source_against_ncu.py RUN.json

RUN.json is a run with `--section SourceCounters` and nvdisasm. In the current folder, ask-KERNEL.json
are the requests of ncu_requests.py, and ncu-KERNEL.csv is what `ncu --csv --page source --print-source
sass` printed of the same configurations. ncu counts by machine instruction; ours belong to lines of
PTX, so ncu's are added up by the line that the machine code names. Ends with 1 if a count differs.
"""
import collections
import csv
import glob
import io
import json
import math
import sys

COUNTS = {
    'instructions': 'Instructions Executed',
    'thread_instructions': 'Thread Instructions Executed',
    'thread_instructions_on': 'Predicated-On Thread Instructions Executed',
    'sectors': 'L2 Theoretical Sectors Global',
    'ideal_sectors': 'L2 Theoretical Sectors Global Ideal',
    'wavefronts': 'L1 Wavefronts Shared',
    'ideal_wavefronts': 'L1 Wavefronts Shared Ideal',
    'divergent_branches': 'Divergent Branches',
}
# ncu's column of the samples of each state of a warp. Without those that wait for an instruction:
# ncu samples one launch with a cold instruction cache, and ours has the one of timed launches.
STATES = {
    'barrier': 'barrier', 'branch_resolving': 'branch_resolving', 'dispatch_stall': 'dispatch',
    'drain': 'drain', 'imc_miss': 'imc', 'lg_throttle': 'lg', 'long_scoreboard': 'long_sb',
    'math_pipe_throttle': 'math', 'membar': 'membar', 'mio_throttle': 'mio', 'other_state': 'misc',
    'not_selected': 'not_selected', 'selected': 'selected',
    'short_scoreboard': 'short_sb', 'sleeping': 'sleep', 'tex_throttle': 'tex', 'wait': 'wait',
}


def unpacked(numbers):
    """A column of counts, from how many lines have each value."""
    return [value for times, value in zip(numbers[::2], numbers[1::2]) for _ in range(times)]


def launches(path):
    """The instructions of each launch that ncu printed, as dictionaries."""
    found = []
    for line in csv.reader(io.StringIO(open(path).read())):
        if line[:1] == ['Kernel Name']:
            found.append([])
        elif line[:1] == ['Address']:
            names = line
        elif found and len(line) > 2:
            found[-1].append(dict(zip(names, line)))
    return found


def number(instruction, name):
    """A count of ncu; 0 without such a column for the kernel."""
    return int(instruction.get(name) or 0)


def by_line(listing, instructions):
    """ncu's counts of each line of PTX, and the number of machine instructions that differ."""
    machine = {offset: (line, text) for offset, line, _, text in listing['machine']}
    first = int(instructions[0]['Address'], 16)
    sums, other = collections.Counter(), 0
    for instruction in instructions:
        offset = int(instruction['Address'], 16) - first
        line, text = machine.get(offset, (None, 'NOP'))  # ours ends before the padding
        other += text.split()[0] != instruction['Source'].split()[0]
        for counter, name in COUNTS.items():
            sums[line, counter] += number(instruction, name)
    return sums, other


def conflicts(instructions):
    """ncu's wavefronts of shared loads and stores beyond the ideal ones."""
    return sum(number(i, COUNTS['wavefronts']) - number(i, COUNTS['ideal_wavefronts'])
               for i in instructions if i.get('Access Operation') in ('Load', 'Store'))


def main(run):
    series = {s['id']['kernel']: s for s in json.load(open(run))['series']}
    total, shares = collections.Counter(), []
    for path in sorted(glob.glob('ask-*.json')):
        requests = json.load(open(path))['body']['measure']
        kernel = requests[0]['kernel']
        profiled = launches('ncu-%s.csv' % kernel)
        if len(profiled) != len(requests):
            sys.exit('%s: ncu profiled %d of %d launches' % (kernel, len(profiled), len(requests)))
        rows = {tuple(map(tuple, r['configuration'])): r for r in series[kernel]['configurations']}
        of_kernel = collections.Counter()
        for request, instructions in zip(requests, profiled):
            row = rows[tuple(map(tuple, request['configuration']))]
            code = row['code'][0]
            listing = series[kernel]['listings'][code['listing']]
            theirs, other = by_line(listing, instructions)
            ours = {name: unpacked(column) for name, column in code['counts'].items()}
            total['conflicts'] += row['metrics']['bank_conflicts']['value'] == conflicts(instructions)
            total['configurations'] += 1
            of_kernel['instructions'] += len(instructions)
            of_kernel['other instructions'] += other
            for at, line in enumerate(listing['lines']):
                for counter in COUNTS:
                    # A column ends after its last line that is not 0.
                    mine = (ours.get(counter, []) + [0] * len(listing['lines']))[at]
                    ncus = theirs.pop((line[0], counter), 0)
                    of_kernel['counts'] += mine > 0 or ncus > 0
                    of_kernel['equal'] += mine == ncus > 0
                    if mine != ncus:
                        print('  %s %s: %s of PTX line %d: %d, ncu %d' % (
                            kernel, request['configuration'], counter, line[0], mine, ncus))
            lost = {key: n for key, n in theirs.items() if n}
            if lost:
                print('  %s %s: of no line: %s' % (kernel, request['configuration'], lost))
            of_kernel['lost'] += len(lost)
            sampled = lambda name: sum(number(i, name) for i in instructions)
            of_ncu = {s: sampled('stall_' + name) for s, name in STATES.items()}
            of_us = {s: sum(ours.get(s, [])) for s in STATES}
            n, m = max(1, sum(of_ncu.values())), max(1, sum(of_us.values()))
            of_kernel['samples'] += m
            of_kernel['samples of ncu'] += n
            for state in STATES:
                p, q = of_us[state] / m, of_ncu[state] / n
                both = (of_us[state] + of_ncu[state]) / (n + m)
                error = math.sqrt(both * (1 - both) * (1 / n + 1 / m))
                if error > 0:
                    shares.append((abs(p - q) / error, abs(p - q), kernel, state, p, q))
        print('%-16s %3d configurations: %5d instructions (%d other), %5d of %5d counts equal, %7d samples (ncu %7d)' % (
            kernel, len(requests), of_kernel['instructions'], of_kernel['other instructions'],
            of_kernel['equal'], of_kernel['counts'], of_kernel['samples'], of_kernel['samples of ncu']))
        total += of_kernel
    print('%d of %d counts by line of PTX equal; %d machine instructions, %d other' % (
        total['equal'], total['counts'], total['instructions'], total['other instructions']))
    print('bank conflicts equal in %d of %d configurations' % (
        total['conflicts'], total['configurations']))
    within = lambda errors: sum(share[0] < errors for share in shares)
    print('%d shares of samples: %d differ by less than 2 standard errors, %d than 3, %d than 5' % (
        len(shares), within(2), within(3), within(5)))
    for errors, difference, kernel, state, p, q in sorted(shares, reverse=True)[:5]:
        print('  %s %s: %.1f %%, ncu %.1f %%: %.1f standard errors' % (kernel, state, 100 * p, 100 * q, errors))
    sys.exit(total['equal'] != total['counts'] or total['lost'] > 0
             or total['conflicts'] != total['configurations'])


main(*sys.argv[1:])
