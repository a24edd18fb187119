"""Makes requests by which ncu profiles what a run measured.

    ncu_requests.py RUN_FOLDER RUN.json > asked

RUN_FOLDER is a run of `--replay-mode none --isolate kernel`: it holds one request a kernel, with
all its configurations. RUN.json says which package a kernel is of. In the current folder, x/ is the
extracted archive. Writes ask-KERNEL.json and prints `KERNEL PACKAGE`, a line each. Each
configuration of a request launches ten times: the first, a window of eight for warm-up, one sample.
"""
import glob
import hashlib
import json
import os
import sys


def module(name):
    """The archive's PTX of a package, or the module of a declared kernel, which is named by a hash."""
    declared = 'x/kernels/*-%s.*' % hashlib.sha256(name.encode()).hexdigest()[:12]
    found = glob.glob('x/kernels/%s.ptx' % name) or glob.glob(declared)
    if len(found) != 1:
        sys.exit('ncu_requests.py: the archive has %d modules of %s' % (len(found), name))
    return os.path.abspath(found[0])


def main(folder, exported):
    packages = {s['id']['kernel']: s['id']['package'] for s in json.load(open(exported))['series']}
    found = sorted(glob.glob(os.path.join(folder, 'passes', '*pass-0-0.request.json')))
    if not found:
        sys.exit('ncu_requests.py: no requests in %s/passes' % folder)
    for path in found:
        request = json.load(open(path))
        request.update(waits=False, quiet=None, then=None)
        measured = request['body']['measure']
        for m in measured:
            m['verify'] = False
            # The run removed its own copies of the PTX, but not the archive's.
            m['modules'] = {p: module(p) for p in m['modules']}
            m['sampling'].update(min_warmup_ns=0, max_warmup_ns=0, min_samples=1, max_samples=1,
                                 copy_bandwidth=False)
        kernel = measured[0]['kernel']
        if kernel not in packages:
            sys.exit('ncu_requests.py: %s has no series of the kernel %s' % (exported, kernel))
        json.dump(request, open('ask-%s.json' % kernel, 'w'))
        print(kernel, packages[kernel])


main(*sys.argv[1:])
