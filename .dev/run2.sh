mkdir -p /usr/include/dlpack && cp .dev/dlpack.h /usr/include/dlpack/
B="cmake --build build/cuda_test -j16 --target fusesmith"
(cmake --preset cuda_test -DCMAKE_CUDA_ARCHITECTURES=90 && $B) > $OUT/build.log 2>&1 || { grep -E "error|FAILED" -A5 $OUT/build.log | head -60; exit 1; }
date
F=build/cuda_test/fusesmith
$F fuzz --baseline=cpu --candidate=cpu_fused --runs=400000 --jobs=16 --seed=61 --engine=random --workdir=/tmp/w400 --minimize=0 > $OUT/random.txt 2>&1; tail -12 $OUT/random.txt; cp /tmp/w400/stats.json $OUT/
FUSESMITH=$PWD/$F scripts/studies/focus_gaps /tmp/w400 > $OUT/focus_gaps.h && cp $OUT/focus_gaps.h fuzz/generate/focus_gaps.h
$B > $OUT/build2.log 2>&1; tail -1 $OUT/build2.log; date
cp docs/results/faults.md $OUT/faults.md
for pair in cpu cuda; do
 j=5; [ $pair = cpu ] && j=8
 scripts/studies/fault_sweep --binary=$F --pair=$pair --runs=5000 --seed=1 --jobs=$j --table=$OUT/faults.md > $OUT/sweep_$pair.txt 2>&1; echo rc $?; tail -4 $OUT/sweep_$pair.txt; date
done
