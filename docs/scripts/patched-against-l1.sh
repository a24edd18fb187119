#!/usr/bin/env bash
# Compares the counts of patched instructions with those of L1. It collects few counters in one
# process, so that L1's are right. The odd n leaves whole warps without work, which shows whether an
# instruction counts that is predicated off.
# Needs a GPU, cargo-gpuprof and ex.tar.zst in the current folder.
names=
for op in ld st red atom; do
  names+=smsp__sass_inst_executed_op_global_$op.sum,l1tex__t_requests_pipe_lsu_mem_global_op_$op.sum,
  names+=smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_$op.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_$op.sum,
done
run() { ./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --replay-mode range --repeat 1 --no-gate --metrics "${names%,}" "$@"; }
run --export-json examples.json
run --series n=900 --series block=1024 saxpy --export-json odd.json
python3 - <<'P'
import json
for file in ('examples.json', 'odd.json'):
    equal = differ = 0
    for s in json.load(open(file))['series']:
        for c in s['configurations']:
            m = {k: v.get('value') for k, v in c['metrics'].items()}
            for op in ('ld', 'st', 'red', 'atom'):
                for a, b in (('smsp__sass_inst_executed_op_global_%s.sum', 'l1tex__t_requests_pipe_lsu_mem_global_op_%s.sum'),
                             ('smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_%s.sum', 'l1tex__t_sectors_pipe_lsu_mem_global_op_%s.sum')):
                    x, y = m.get(a % op), m.get(b % op)
                    if x == y:
                        equal += 1
                    else:
                        differ += 1
                        print(file, s['id']['kernel'], c['configuration'], a % op, x, y)
    print(file, equal, 'equal', differ, 'differ')
P
