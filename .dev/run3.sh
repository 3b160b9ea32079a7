cd .dev; xz -dkf device_rate.xz suite.xz; chmod +x device_rate suite
timeout 200 ./device_rate cuda "wide " 2>&1 | tee $OUT/wide.txt
for w in "wide nearest 10 d=64" "wide nearest 10 d=128" "wide nearest 10 d=256" "wide argmin" "wide join d=128" "wide join d=512"; do
TRACE_OUT=$OUT/t.json LD_PRELOAD=./trace.so timeout 60 ./device_rate cuda "$w" > /dev/null 2>&1; echo "$w"; grep -o '"kernels":.*"calls' $OUT/t.json | cut -c1-330; done
cat > /tmp/prof.sh <<'X'
ncu --target-processes all -k regex:zf_sweep -c 1 --section SpeedOfLight --section WarpStateStats --section SourceCounters --section InstructionStats --section LaunchStats --metrics smsp__inst_executed_pipe_tensor.sum,sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active,smsp__inst_executed.sum,smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio,smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio,smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio,smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio,smsp__average_warps_issue_stalled_wait_per_issue_active.ratio,smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio,smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio ./device_rate cuda "$1" 2>&1 | grep -E "Registers Per|Compute \(SM\)|Memory Throughput|Duration|stalled|tensor|Executed Instr|inst_executed|Warp Cycles Per Issued" | head -40
X
for w in "wide join d=128"; do echo "$w"; bash /tmp/prof.sh "$w"; done

ncu --target-processes all -k regex:zf_sweep -c 1 --set full --import-source no -o /tmp/p ./device_rate cuda "wide nearest 10 d=128" > /dev/null 2>&1
ncu -i /tmp/p.ncu-rep --page source --csv --print-source sass 2>/dev/null | cut -c1-200 > /tmp/sass.csv; wc -l /tmp/sass.csv; gzip -c /tmp/sass.csv > $OUT/sass.txt
ZIPFOLD_TEST_DEVICE=cuda timeout 330 ./suite gpu::products gpu::tiles::pred gpu::tiles::folds --ignored 2>&1 | tail -30
