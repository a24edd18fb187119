#!/usr/bin/env bash
# The f64 functions over N random inputs (10^9 if left out): whether the device's results are those
# of the crate libm bit for bit, and the largest error of these against the host's C library, in
# units in the last place. Wants cargo-gpuprof and ulp64.tar.zst in the current folder. Prints a
# line for each function, and ends with 1 if one is not verified: its bits differ, or its error is
# above the book's.
#   ulp64.sh [N]
set -uo pipefail
rm -f ulp64.txt
ULP64=$PWD/ulp64.txt ./cargo-gpuprof gpuprof run --archive-file ulp64.tar.zst --extract-to w-ulp64 \
    --no-config --no-gate --series "n=${1:-1000000000}" --repeat 1 --metrics registers \
    --message-format json >ulp64.jsonl 2>ulp64.stderr
echo "exit code $?"
python3 - <<'PYTHON'
import json, sys

lines = [json.loads(line) for line in open('ulp64.jsonl') if line.startswith('{')]
rows = [line for line in lines if line.get('reason') == 'configuration-finished']
verified = {row['series']['kernel'].rsplit('::', 1)[-1]: row['verified'] for row in rows}
told = {name: (error, at) for name, error, at in (line.split() for line in open('ulp64.txt'))}
print('| function | largest error [ulp] | at | |\n|---|---:|---:|---|')
for name, good in verified.items():
    error, at = told.get(name, ('-', '-'))
    print(f"| `{name.removesuffix('_of')}` | {error} | {at} | {'' if good else 'WRONG'} |")
sys.exit(0 if rows and all(verified.values()) else 1)
PYTHON
