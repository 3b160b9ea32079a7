cd .dev; xz -dkf device_rate.xz; chmod +x device_rate
kernel() { TRACE_OUT=/tmp/t.json LD_PRELOAD=./trace.so timeout 60 ./device_rate cuda "$@" > /tmp/line.txt 2>&1; python3 - "$@" <<'P'
import json,sys
t=json.load(open('/tmp/t.json')); line=[l for l in open('/tmp/line.txt') if l.startswith('{')]
k=[k for k in t['kernels'] if k['name']=='zf_sweep']
runs=6
r=json.loads(line[0]) if line else {}
r['kernel_seconds']=round(sum(x['median_ms']*x['launches'] for x in k)/runs/1e3,5)
r['tera_operations']=round(2*r['n']*r['m']*r['d']/r['kernel_seconds']/1e12,1)
print(json.dumps(r))
P
}
nvidia-smi --query-gpu=name --format=csv,noheader
for w in "wide nearest 10 d=32" "wide nearest 10 d=64" "wide nearest 10 d=128" "wide nearest 10 d=256" "wide nearest 10 cosine" "wide argmin" "wide join d=64" "wide join d=128" "wide join d=256" "wide join d=512" "wide count"; do kernel "$w" | tee -a $OUT/kernels.txt;  kernel "$w" +fold.tiles=dense | tee -a $OUT/kernels.txt; done
for w in "million nearest 10 d=64" "million nearest 10 d=128" "million nearest 10 d=256"; do kernel "$w" | tee -a $OUT/kernels.txt; done
timeout 120 python3 neighbours_torch.py | tee $OUT/torch.txt
