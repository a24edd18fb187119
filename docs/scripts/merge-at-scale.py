#!/usr/bin/env python3
"""What `merge` takes for many slices: seconds of processor time and wall, peak memory, bytes.

merge-at-scale.py CARGO-GPUPROF SLICE [CONFIGURATIONS [SLICES]]

SLICE is the folder of slice 1 of 1 of an emulated run (`run --partition slice:1/1`), whose
configurations are copied until there are as many as are asked for: 100000 in 1000 slices without
more. Copies have other values of the last axis and the same results. Needs 33 KB of disk for each.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import stored_slices

tool, source = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
wanted, slices = (int(n) for n in (sys.argv[3:] + ['100000', '1000'][len(sys.argv) - 3:]))
stored = stored_slices.Stored(source)
copies = -(-wanted // len(stored.all))
plan = stored.plan(slices, copies)
axis = stored.manifest['own'][0]['configurations'][0][-1][0]
everything = [(key, number) for number in range(copies) for key in stored.all]
start = stored.manifest['start']
with tempfile.TemporaryDirectory(dir=os.environ.get('TMPDIR', '/var/tmp')) as folder:
    size = 0
    for number in range(1, slices + 1):
        part = sorted(everything[number - 1::slices], key=lambda one: (one[0][0], one[1], one[0]))
        manifest, each = stored.slice(plan, number, part, axis)
        lines = [{'line': 'begin', **start}] + [
            {'by': start['id'], **line} for lines in each for line in lines
        ] + [{'by': start['id'], 'line': 'whole', 'at': start['at']}]
        text = stored.head + ''.join(stored_slices.compact(line) + '\n' for line in lines)
        stored_slices.write(f'{folder}/slices', manifest, text.encode())
        size += len(text)
    began = time.monotonic()
    done = subprocess.run([tool, 'merge', 'slices', '--no-gate', '--quiet', '--top', '1'],
                          cwd=folder, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    written = sum(path.stat().st_size for path in pathlib.Path(folder).glob('target/**/run.json'))
    print(f'{len(everything)} configurations in {slices} slices, {size / 1e6:.0f} MB of journals: '
          f'{used.ru_utime + used.ru_stime:.1f} s cpu {wall:.1f} s '
          f'{used.ru_maxrss / 1024:.0f} MiB, '
          f'{written / 1e6:.0f} MB written, exit {done.returncode}')
    sys.exit(done.returncode)
