#!/usr/bin/env bash
# The largest error of every f32 function, in units in the last place: over all 2^32 inputs, or over
# every STEPth. Of the approximations some errors are absolute, in 2^-24: the book says which. Wants cargo-gpuprof and ulp.tar.zst in the current folder. Prints a line for each
# function, and ends with 1 if one is not verified: its error is above the book's.
#   ulp.sh [STEP]
set -uo pipefail
./cargo-gpuprof gpuprof run --archive-file ulp.tar.zst --extract-to w-ulp --no-config --no-gate \
    --series "step=${1:-1}" --isolate kernel --repeat 1 --metrics registers --message-format json >ulp.jsonl 2>ulp.stderr
echo "exit code $?"
python3 - <<'PYTHON'
import json, re, struct, sys

lines = [json.loads(line) for line in open('ulp.jsonl') if line.startswith('{')]
rows = [line for line in lines if line.get('reason') == 'configuration-finished']
verified = {row['series']['kernel'].rsplit('::', 1)[-1]: row['verified'] for row in rows}
print('| function | largest error [ulp] | at | |\n|---|---:|---:|---|')
told = {}
# What a kernel printed whose result is wrong is in its row.
printed = open('ulp.stderr').read() + open('ulp.jsonl').read()
for name, error, at in re.findall(r'ULP (\w+) (\S+) (0x[0-9a-f]+)', printed):
    told[name] = (error, struct.unpack('<f', struct.pack('<I', int(at, 16)))[0])
for name, good in verified.items():
    error, at = told.get(name, ('-', float('nan')))
    print(f"| `{name}` | {error} | {at:e} | {'' if good else 'WRONG'} |")
sys.exit(0 if rows and all(verified.values()) else 1)
PYTHON
