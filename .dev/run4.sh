export FUSESMITH_BINARY=$PWD/build/cuda_test/fusesmith PYTHONPATH=$PWD/python FUSESMITH_PYTHON=/opt/torch/.venv/bin/python3 FUSESMITH_WORKERS=$PWD/python/workers
P=$FUSESMITH_PYTHON; F=$FUSESMITH_BINARY
date
(cd .dev; timeout 150 $P judge_mix.py --large > $OUT/mix.txt 2>&1; head -c 6000 $OUT/mix.txt; cp -r /tmp/mo_keep_* $OUT/ 2>/dev/null; find $OUT -size +4M -delete) &
timeout 200 $F fuzz --baseline=cpu --candidate=torch:inductor+cuda --runs=400 --jobs=12 --seed=31 --engine=random --known=python/workers/known.json --workdir=/tmp/ind --minimize=0 --compile_timeout=120 --max_total_time=170 > $OUT/inductor.txt 2>&1
tail -45 $OUT/inductor.txt; cp /tmp/ind/stats.json $OUT/ind_stats.json; mkdir -p $OUT/ind; for d in /tmp/ind/findings/*/; do cp -r $d $OUT/ind/; done 2>/dev/null
wait; date
cp docs/results/tightness.md $OUT/; $P scripts/studies/tightness --binary=$F --backend=cuda --cases=1200 --jobs=14 --page=$OUT/tightness.md > $OUT/tight.txt 2>&1; tail -3 $OUT/tight.txt; date
