set -x
mkdir -p /usr/include/dlpack && cp .dev/dlpack.h /usr/include/dlpack/
(cmake --preset cuda_test -DCMAKE_CUDA_ARCHITECTURES=90 && cmake --build build/cuda_test -j16 --target fusesmith backends_test oracle_test graph_test) > $OUT/build.log 2>&1 || { grep -E "error|FAILED" -A5 $OUT/build.log | head -60; }
set +x
date
build/cuda_test/graph_test --gtest_filter='Gradient*' 2>&1 | tail -30
build/cuda_test/oracle_test --gtest_filter='*Lowering*' 2>&1 | tail -15
(timeout 200 build/cuda_test/backends_test --gtest_filter='*attention_backward*:*CudaLawful*:*Cuda*sdpa*:PlantedFault*:Sdpa*:*PatternLaws*' > $OUT/backends.log 2>&1; grep -E "FAILED|PASSED|Failure" -A6 $OUT/backends.log | head -150)
date
F=build/cuda_test/fusesmith
for pair in cpu cuda; do
 $F fuzz --baseline=$pair --candidate=${pair}_fused --runs=20000 --jobs=16 --seed=51 --engine=random --workdir=/tmp/w_$pair --minimize=0 2>&1 | tail -6
done
for f in $($F list faults --json | python3 -c "import json,sys; d=json.load(sys.stdin); l=d.get('faults',d); print(' '.join(x['name'] for x in l if x['pattern']=='attention_backward'))"); do
 for pair in cpu cuda; do
  $F fuzz --baseline=$pair --candidate=${pair}_fused --faults=$f --runs=4000 --jobs=16 --seed=1 --max_findings=1 --minimize=0 --workdir=/tmp/f_$pair$f --json > /tmp/o.json 2>/dev/null
  echo $f $pair $? $(python3 -c "
import json; d=json.load(open('/tmp/o.json')); print(d.get('cases'), [ (x.get('signature'),x.get('verdict')) for x in d.get('findings',[])][:1])" 2>&1 | tail -1)
 done
done
date
