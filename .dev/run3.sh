mkdir -p /usr/include/dlpack && cp .dev/dlpack.h /usr/include/dlpack/
(cmake --preset cuda_test -DCMAKE_CUDA_ARCHITECTURES=90 && cmake --build build/cuda_test -j16 --target fusesmith) > $OUT/build.log 2>&1 || { grep -E "error|FAILED" -A5 $OUT/build.log | head -60; exit 1; }
date
F=build/cuda_test/fusesmith
timeout 330 $F fuzz --baseline=cpu --candidate=cpu_fused --runs=1000000 --jobs=16 --seed=71 --workdir=/tmp/c1 --minimize=0 > $OUT/cpu.txt 2>&1; grep -A12 "cases in" $OUT/cpu.txt; cp /tmp/c1/stats.json $OUT/cpu_stats.json
$F fuzz --baseline=cuda --candidate=cuda_fused --runs=100000 --jobs=16 --seed=72 --workdir=/tmp/c2 --minimize=0 > $OUT/cuda.txt 2>&1; grep -A12 "cases in" $OUT/cuda.txt; cp /tmp/c2/stats.json $OUT/cuda_stats.json
cp -r /tmp/c1/findings $OUT/f1 2>/dev/null; cp -r /tmp/c2/findings $OUT/f2 2>/dev/null
date
