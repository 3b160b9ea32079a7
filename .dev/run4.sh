cd .dev; xz -dkf device_rate.xz; chmod +x device_rate
timeout 200 ./device_rate cuda "wide " 2>&1 | tee $OUT/wide.txt
timeout 60 ./device_rate cuda "f16" 2>&1 | tee $OUT/f16.txt
for w in "wide nearest 10 d=64" "wide nearest 10 d=128" "wide nearest 10 d=256" "wide argmin" "wide join d=128" "wide join d=512"; do
TRACE_OUT=$OUT/t.json LD_PRELOAD=./trace.so timeout 60 ./device_rate cuda "$w" > /dev/null 2>&1; echo "$w"; grep -o '"kernels":.*"calls' $OUT/t.json | cut -c1-230; done
for w in "wide nearest 10 d=128"; do
ncu --target-processes all -k regex:zf_sweep -c 1 --set full --import-source no -o /tmp/p ./device_rate cuda "$w" > /dev/null 2>&1
ncu -i /tmp/p.ncu-rep --page source --csv --print-source sass 2>/dev/null | cut -c1-160 > /tmp/sass.csv; gzip -c /tmp/sass.csv > $OUT/sass.txt
ncu -i /tmp/p.ncu-rep --page raw --csv 2>/dev/null > /tmp/raw.csv; gzip -c /tmp/raw.csv > $OUT/raw.txt; done
