#!/usr/bin/env bash
# The memory chart and tables of the examples against ncu's group:memory__*, on one GPU.
# Needs cargo-gpuprof and ex.tar.zst in the current folder, python3 and ncu. Writes to $OUT:
#   compared.txt      each metric, ours beside ncu's
#   h200-memory.json  both tools' values, which `cargo test` compares with what the page shows
#   raw.tar.gz        what both tools printed, and our page
# After $LIMIT seconds (170) it starts no further step; compared.txt says what is missing.
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
OUT=${OUT:-$PWD/out}; LIMIT=${LIMIT:-170}; mkdir -p "$OUT" raw
begun=$SECONDS
die() { echo "memory-against-ncu.sh: $*" >&2; exit 1; }
left() { echo $((LIMIT - SECONDS + begun)); }
told() { echo "$((SECONDS - begun)) s: $*"; }
command -v ncu > /dev/null || PATH=$PATH:/usr/local/cuda-13.0/bin:/usr/local/cuda/bin
command -v ncu > /dev/null || die "ncu is not in PATH, nor in /usr/local/cuda/bin"
for file in cargo-gpuprof ex.tar.zst; do [ -e "$file" ] || die "$file is not in $PWD"; done
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x --repeat 1 --no-gate --isolate kernel"
trap 'tar czf "$OUT/raw.tar.gz" raw; told "raw.tar.gz is written"' EXIT

# Ours, twice: the spread beside the difference. The first run has the page of everything.
timeout 60 $G --set full --replay-mode range --export-json raw/ours-1.json --export-html raw/ours.html > raw/ours-1.txt 2>&1
told "ours, --set full: exit code $?"
timeout 40 $G --section MemoryChart --section FullMemoryTables --replay-mode range --export-json raw/ours-2.json > raw/ours-2.txt 2>&1
told "ours, the memory sections: exit code $?"
[ -s raw/ours-1.json ] && [ -s raw/ours-2.json ] || { tail -n 5 raw/ours-*.txt; die "a run of ours wrote no JSON"; }
timeout 40 $G --replay-mode none --metrics duration > raw/times.txt 2>&1
python3 "$HERE/ncu_requests.py" "$(ls -d target/gpuprof/runs/* | tail -1)" raw/ours-1.json > raw/asked || die "there is nothing to ask ncu"

# Our own counters of the chart and the tables, so that each has ncu's value of the same name.
PYTHONPATH=$HERE python3 -B - > raw/names <<'P'
import re
from run_document import rows
names = set()
for _, row in rows('raw/ours-2.json'):
    names |= {k for k, v in row['metrics'].items() if re.match(r'[a-z0-9]+__.+\.', k) and 'value' in v
              and v['source'] == 'measured' and not k.startswith(('ptx__', 'launch__', 'device__'))}
print(','.join(sorted(names)))
P
groups="chart shared_table first_level_cache_table l2_cache_table l2_cache_evict_policy_table dram_table"

# ncu LIMIT INVOCATION KERNEL PACKAGE METRICS: profiles those launches of a kernel.
profile() {
  __GPUPROF_REQUEST=$PWD/ask-$3.json timeout "$1" ncu --csv --clock-control none \
    --kernel-id "::regex:^(?!gpuprof_):$2" --metrics "$5" x/harnesses/"$4"-* --bench
}
# Which metrics each group has, by one launch. ncu refuses a whole call for one metric that the
# device cannot collect (ctc__*, NVLink C2C, on an H200), so groups are asked for one by one, and
# what they have by its names.
read -r kernel package < raw/asked
for group in $groups; do
  if [ "$(left)" -lt 5 ]; then told "no time is left for the names of $group"; continue; fi
  profile 15 '^2$' "$kernel" "$package" "group:memory__$group" > "raw/group-$group.csv" 2>&1 < /dev/null
  told "ncu, the names of $group: exit code $?"
done
PYTHONPATH=$HERE python3 -B - > raw/all <<'P'
import glob, re
from ncu_values import launches
names, refused = set(open('raw/names').read().strip().split(',')), set()
for path in glob.glob('raw/group-*.csv'):
    found = re.search(r'Unable to access the following \d+ metrics: (.*)', open(path).read())
    if found: refused |= set(found[1].strip().rstrip('.').split(', '))
    for launch in launches(path)[0]: names |= {n for n in launch if '__' in n}
print(','.join(sorted(n for n in names - refused if not n.startswith('ctc__'))))
P
while read -r kernel package; do
  if [ "$(left)" -lt 15 ]; then told "no time is left for $kernel"; continue; fi
  # The second launch of each configuration.
  profile "$(left)" '^[0-9]*2$' "$kernel" "$package" "$(cat raw/all)" > "raw/ncu-$kernel.csv" 2>&1 < /dev/null
  told "ncu, $kernel: exit code $?"
done < raw/asked

PYTHONPATH=$HERE python3 -B - "$OUT" > "$OUT/compared.txt" <<'P'
import glob, json, os, statistics as st, sys
from ncu_values import launches
from run_document import by_configuration
out = sys.argv[1]
ours = [by_configuration('raw/ours-%d.json' % i) for i in (1, 2)]
table, only, golden = {}, {}, {}
for line in open('raw/asked'):
    kernel = line.split()[0]
    requests = json.load(open('ask-%s.json' % kernel))['body']['measure']
    path = 'raw/ncu-%s.csv' % kernel
    theirs, wrong = launches(path) if os.path.exists(path) else ([], 'not profiled')
    if len(theirs) != len(requests):
        print('MISSING: %s: ncu saw %d of %d launches: %s' % (kernel, len(theirs), len(requests), wrong)); continue
    for request, x in zip(requests, theirs):
        key = (kernel, tuple(map(tuple, request['configuration'])))
        mine = {k: v['value'] for k, v in ours[1].get(key, {}).items() if 'value' in v}
        if not mine: print('MISSING: ours of', key); continue
        text = '%s/%s' % (kernel, ','.join('='.join(pair) for pair in key[1]))
        golden[text] = {'ours': mine, 'ncu': x}
        for name, value in x.items():
            a, b = (o.get(key, {}).get(name, {}).get('value') for o in ours)
            if a is None or b is None: only.setdefault(name, []).append(value); continue
            table.setdefault(name, []).append((a, b, value))
rel = lambda u, v: abs(u - v) / max(abs(u), abs(v)) if max(abs(u), abs(v)) > 0 else 0
print(len(golden), 'configurations,', len(table), 'metrics that both have')
print('%-90s %4s %6s %9s %9s' % ('metric', 'n', 'equal', 'ours/ncu', 'ours±'))
for name, v in sorted(table.items()):
    print('%-90s %4d %6d %8.1f%% %8.1f%%' % (name, len(v), sum(rel(b, x) < 5e-3 for _, b, x in v),
          100 * st.median(rel((a + b) / 2, x) for a, b, x in v), 100 * st.median(rel(a, b) for a, b, _ in v)))
print('in ncu and not in ours:')
for name, v in sorted(only.items()): print('  %-90s median %g' % (name, st.median(v)))
for path in sorted(glob.glob('raw/group-*.csv')):
    theirs, wrong = launches(path)
    print('group:memory__%s:' % os.path.basename(path)[6:-4], wrong)
    for name in sorted(theirs[0]) if theirs else []: print('  ' + name)
json.dump(golden, open(out + '/h200-memory.json', 'w'), indent=1, sort_keys=True)
sys.exit(0 if golden else 1)
P
code=$?
cat "$OUT/compared.txt"
told "ends with $code"
exit $code
