#!/usr/bin/env bash
# Checks the counters of a series function whose later launches do less work than its first, in every
# replay mode. `keeps` holds its kernel in a static, so a process that takes times first has loaded
# the kernel before CUPTI, which must patch it all the same. Therefore there are as many timed passes
# as counter passes. Ends with 1 if a check fails.
# Needs a GPU, cargo-gpuprof and workshop.tar.zst in the current folder: the archive of package
# `settles` of tests/fixtures/workshop.
M=l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,smsp__warps_launched.sum,smsp__sass_data_bytes_mem_global_op_ld.sum
G="./cargo-gpuprof gpuprof run -q --archive-file workshop.tar.zst --extract-to w --repeat 4 --no-gate --metrics $M"
bad=0
for function in spends keeps; do
for isolate in configuration kernel; do
  for mode in application range kernel; do
    $G $function --isolate $isolate --replay-mode $mode --export-json $function-$isolate-$mode.json > $function-$isolate-$mode.log 2>&1
    code=$?
    python3 - $code "$M" $function-$isolate-$mode.json <<'P' || { bad=1; tail -5 $function-$isolate-$mode.log; }
import json, sys
code, names, file = int(sys.argv[1]), sys.argv[2].split(','), sys.argv[3]
# A first launch makes two loads in each of 1024 threads; a later one loads half as much.
expected, ok = [64, 256, 32, 8192], code == 0
for c in json.load(open(file))['series'][0]['configurations']:
    found = [c['metrics'].get(n, {}).get('value') for n in names]
    ok = ok and found == expected
    print('ok:' if found == expected else 'NOT AS IT SHOULD BE:', file, dict(c['configuration']), found)
sys.exit(not ok)
P
  done
done
done
exit $bad
