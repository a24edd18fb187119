"""Compares the counters that have a hardware name in two exported runs of one archive.

    emulated_against_gpu.py GPU.json EMULATED.json

Prints a line for each counter that both have: how many configurations are equal, of how many, and
the first that is not. Ends with 1 if one differs.
"""
import collections
import sys

from run_document import by_configuration


def main(on_gpu, emulated):
    gpu, here = by_configuration(on_gpu), by_configuration(emulated)
    equal, different = collections.Counter(), collections.defaultdict(list)
    for key in gpu.keys() & here.keys():
        for name, counted in here[key].items():
            if '__' not in name or name.startswith(('ptx__', 'launch__')):
                continue
            values = gpu[key].get(name, {}).get('value'), counted.get('value')
            if None in values:
                continue
            if values[0] == values[1]:
                equal[name] += 1
            else:
                different[name].append((key, *values))
    for name in sorted(equal.keys() | different.keys()):
        wrong = different[name]
        print(name, equal[name], 'of', equal[name] + len(wrong), wrong[0] if wrong else '')
    sys.exit(any(different.values()))


main(*sys.argv[1:])
