#!/usr/bin/env bash
# Replay modes against ncu, on a GPU machine: in a folder with cargo-gpuprof and ex.tar.zst (cargo gpuprof archive).
M=gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed,l1tex__t_sector_hit_rate.pct,lts__t_sector_hit_rate.pct,sm__warps_active.avg.pct_of_peak_sustained_active,sm__inst_executed.avg.per_cycle_active,smsp__inst_executed.sum,smsp__warps_launched.sum,dram__bytes.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum,smsp__sass_data_bytes_mem_global_op_ld.sum
echo $M > metrics
G="./cargo-gpuprof gpuprof run -q --archive-file ex.tar.zst --extract-to x"
$G saxpy --repeat 1 --replay-mode none --metrics duration > /dev/null
D=$(ls -d target/gpuprof/runs/* | tail -1)
python3 - "$D" <<'P'
import json,glob,sys
for f in glob.glob(sys.argv[1]+'/passes/*request.json'):
    r=json.load(open(f))
    if 'measure' not in r['body']: continue
    s=r['body']['measure']['sampling']; s['min_warmup_ns']=0; s['max_warmup_ns']=0; s['min_samples']=1; s['max_samples']=1; s['copy_bandwidth']=False
    r['body']['measure']['verify']=False
    json.dump(r,open('q-'+f.split('/')[-1],'w'))
P
ls q-* | head
s=$(date +%s.%N); for f in q-*pass-0-0.request.json; do __GPUPROF_REQUEST=$PWD/$f ncu --replay-mode application --clock-control none -k saxpy -s 1 -c 1 --metrics $M x/harnesses/saxpy-kernels --bench > ncu.log 2>&1; done; e=$(date +%s.%N); echo "ncu application, five invocations: $(python3 -c "print($e-$s)") s"; tail -20 ncu.log | head -24
s=$(date +%s.%N); for f in q-*pass-0-0.request.json; do __GPUPROF_REQUEST=$PWD/$f ncu --replay-mode kernel --clock-control none -k saxpy -s 1 -c 1 --metrics $M x/harnesses/saxpy-kernels --bench > ncu2.log 2>&1; done; e=$(date +%s.%N); echo "ncu kernel, five invocations: $(python3 -c "print($e-$s)") s"
for mode in application range kernel; do s=$(date +%s.%N); $G saxpy --repeat 1 --replay-mode $mode --metrics $M > g-$mode.txt 2>&1; e=$(date +%s.%N); echo "gpuprof $mode (with one timed pass each): $(python3 -c "print($e-$s)") s"; done
s=$(date +%s.%N); $G saxpy --repeat 1 --replay-mode none --metrics duration > /dev/null 2>&1; e=$(date +%s.%N); echo "gpuprof none, one timed pass each: $(python3 -c "print($e-$s)") s"
