#!/usr/bin/env bash
# Prints what rules of advice estimate of kernels with a flaw, beside what the remedy gained: for ten
# pairs of kernels (docs/scripts/remedies), and for the transposes of the examples, of which each
# takes the advice on the one before it. Then all advice on all of them.
# Needs a GPU, cargo-gpuprof, remedies.tar.zst and ex.tar.zst in the current folder.
set -u
run() { ./cargo-gpuprof gpuprof run --no-gate --repeat 3 --replay-mode range --advice "$@"; }
run --archive-file remedies.tar.zst --export-json remedies.json > remedies.txt
run --archive-file ex.tar.zst transpose saxpy --export-json examples.json > examples.txt
python3 - <<'P'
import json
# Rules that speak of the flaw, the one that is looked for first.
PAIRS = [
    ('uncoalesced', 'uncoalesced_remedied', ['uncoalesced-ld', 'cache-l1', 'cache-l2', 'cache-dram']),
    ('conflicts', 'conflicts_remedied', ['bank-conflicts-ld']),
    ('divergent', 'divergent_remedied', ['divergence']),
    ('small_grid', 'small_grid_remedied', ['small-grid']),
    ('doubles', 'doubles_remedied', ['fp64-busy', 'fp64-slow']),
    ('spilled', 'spilled_remedied', ['local-memory']),
    ('unfused', 'unfused_remedied', ['fma-fp32']),
    ('odd_block', 'odd_block_remedied', ['block-size']),
    ('crowded_out', 'crowded_out_remedied', ['occupancy-shared_memory']),
    ('unbalanced', 'unbalanced_remedied', ['imbalance-sm', 'imbalance-smsp']),
    ('transpose_naive', 'transpose_shared', ['uncoalesced-st', 'uncoalesced-ld']),
    ('transpose_shared', 'transpose_padded', ['bank-conflicts-ld', 'bank-conflicts-st']),
]
times, advice = {}, {}
runs = [json.load(open(f)) for f in ('remedies.json', 'examples.json')]
for run in runs:
    for s in run['series']:
        known = [c['metrics']['duration']['value'] for c in s['configurations'] if 'value' in c['metrics'].get('duration', {})]
        if known:
            times[s['id']['kernel']] = min(known)
    for a in run.get('advice', []):
        advice[a['series']['kernel']] = a['pieces']
def worth(gain):
    if not gain: return '-'
    if gain['kind'] == 'measured': return '%.2fx measured' % gain['factor']
    return '%.0f%% of %s' % (gain['percent'], gain['kind'])
print('%-17s %-24s %-12s %10s %10s %14s' % ('flaw', 'rule', 'estimate', 'flawed µs', 'remedied', 'gained of time'))
silent = 0
for flaw, remedied, rules in PAIRS:
    if flaw not in times or remedied not in times:
        print('%-17s no time' % flaw); silent += 1; continue
    before, after = times[flaw] / 1e3, times[remedied] / 1e3
    pieces = [p for r in rules for p in advice.get(flaw, []) if p['rule'] == r]
    silent += not pieces
    for piece in pieces or [{'rule': 'SILENT: ' + rules[0], 'gain': None}]:
        print('%-17s %-24s %-12s %10.1f %10.1f %13.0f%%' % (flaw, piece['rule'], worth(piece.get('gain')), before, after, 100 * (1 - after / before)))
    left = [p['rule'] for p in advice.get(remedied, []) if p['rule'] in rules]
    if left:
        print('%-17s still said of the remedied kernel: %s' % ('', ', '.join(left)))
print('\n%d of %d flaws are not spoken of' % (silent, len(PAIRS)))
for run in runs:
    for a in run.get('advice', []):
        print('\n' + a['series']['kernel'])
        for p in a['pieces']:
            print('  %-16s %-24s %s' % (worth(p.get('gain')), p['rule'], p['message']))
P
