cd .dev; xz -dkf device_rate.xz; chmod +x device_rate
timeout 200 ./device_rate cuda "wide " 2>&1 | tee $OUT/wide.txt
for w in "wide nearest 10 d=128" "wide argmin" "wide join d=128"; do
TRACE_OUT=$OUT/t.json LD_PRELOAD=./trace.so timeout 60 ./device_rate cuda "$w" > /dev/null 2>&1; head -c 1500 $OUT/t.json; echo; done
cat > /tmp/prof.sh <<'X'
ncu --target-processes all -k regex:zf_sweep -c 1 --section SpeedOfLight --section WarpStateStats --section LaunchStats --section Occupancy ./device_rate cuda "$1" 2>&1 | grep -E "Registers Per|Shared Mem|Theoretical Occ|Achieved Occ|Compute \(SM\)|Memory Throughput|Duration|Stall|No Eligible|Issued Warp|Dynamic|Warp Cycles" | head -40
X
bash /tmp/prof.sh "wide join d=128"
bash /tmp/prof.sh "wide nearest 10 d=128"
