cd .dev; xz -dkf suite.xz device_rate.xz; chmod +x suite device_rate
nvidia-smi --query-gpu=name,clocks.sm --format=csv,noheader
ZIPFOLD_TEST_DEVICE=cuda timeout 200 ./suite gpu::products --ignored 2>&1 | tail -40
timeout 120 ./device_rate cuda wide 2>&1 | tee $OUT/wide.txt
timeout 120 ./device_rate cuda wide +fold.tiles=dense 2>&1 | tee $OUT/dense.txt
