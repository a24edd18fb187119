#!/usr/bin/env bash
# Shows what restoring inputs changes for a kernel that changes what it reads: a step of a bitonic sort,
# timed with `reset = once` (each sample finds sorted pairs) and with the default, `reset = each` (each
# finds the first keys). Also prints wall times, which include the restoring.
# Ends with 1 if a run fails, or if a table does not say which of the two it is.
# Needs a GPU, cargo-gpuprof and in-place.tar.zst in the current folder: the archive of package
# `in-place` of tests/fixtures/workshop.
G="./cargo-gpuprof gpuprof run -q --archive-file in-place.tar.zst --extract-to w --no-gate --no-config"
G="$G --replay-mode none --repeat 3 --series block=128 --series n=4K,1M,16M,64M"
bad=0
for cache in all none; do
  for kernel in bitonic_once bitonic_step scan; do
    begin=$SECONDS
    $G $kernel --cache-control $cache --export-json $kernel-$cache.json > $kernel-$cache.log 2>&1 ||
      { bad=1; tail -5 $kernel-$cache.log; }
    echo "$kernel --cache-control $cache: $((SECONDS - begin)) s, $(grep -c '^ reset ' $kernel-$cache.log) note"
    grep -q '^ reset ' $kernel-$cache.log || { bad=1; echo "NOT AS IT SHOULD BE: no note"; }
  done
  python3 - $cache <<'P' || bad=1
import json, sys
def times(kernel):
    rows = json.load(open(f'{kernel}-{sys.argv[1]}.json'))['series'][0]['configurations']
    samples = lambda row: [len(timing['samples_ns']) for timing in row['timings']]
    return {dict(r['configuration'])['n']: (r['metrics']['duration']['value'], samples(r)) for r in rows}
once, each = times('bitonic_once'), times('bitonic_step')
print(f'{"n":>10} {"once [us]":>10} {"each [us]":>10} {"ratio":>6}  samples of once, of each')
for n, (before, taken) in once.items():
    after, retaken = each[n]
    print(f'{str(n):>10} {before / 1e3:10.2f} {after / 1e3:10.2f} {after / before:6.2f}  {taken} {retaken}')
P
done
exit $bad
