"""`judge`: one function against what floating point allows, on many cases."""

import os
import shutil
import tempfile

from . import replay
from .cases import check_dtypes, subject_of, write_cases
from .errors import Error, JudgedAtImport
from .kernel import Plugin, find_kernel
from .ops import is_integer
from .program import binary, check_interpreter
from .result import make_result

POLICIES = (None, "lawful", "strict")


def judge(fn, graph_or_case_or_op, dtypes=("f32", "bf16"), shapes="fuzz", runs=200, policy=None, seed=1, *,
          fills=None, inputs=None, run_timeout=10, time_limit=600, keep=None, baseline="cpu", sample="auto",
          **attributes):
    """Judges `fn` in a child process; returns a Result, which is printed as a report.

    fn                    a function at the top level of a .py file, a text FILE.py:FUNCTION, or plugin:PATH.so, a
                          shared library with the C functions of fusesmith/plugin.h
    graph_or_case_or_op   what it has to compute: a Graph, the path of a case file, or an op, whose attributes are
                          further arguments: judge(f, "softmax", axis=0)
    dtypes                of the inputs whose dtype is not given: some of "f32", "f16", "bf16"
    shapes                "fuzz", a list of shapes of the first input, or sizes by symbol: {"D": [64, 128]}
    policy                "strict": a rounding that the function drops or moves is a finding
    fills                 kinds of data to draw, of fusesmith.sizes.FILLS (default: all)
    inputs                how many inputs an op with optional ones gets (default: what `fn` requires)
    run_timeout           seconds that one call of `fn` may take
    time_limit            seconds after which no further case is begun
    keep                  folder for the failing case (default: a new one for temporary files)
    baseline              the backend that the results are compared with, as of `fusesmith replay`
    sample                "auto": of large results, a sample of the elements is judged; "off": always all; a number of
                          indices along each axis
    """
    if os.environ.get("FUSESMITH_JUDGING"):
        raise JudgedAtImport('this process imports the kernel: call judge under if __name__ == "__main__"')
    if policy not in POLICIES:
        raise Error(f'policy is "lawful" or "strict", got {policy!r}')
    if not is_integer(runs) or not 1 <= runs <= 9999:
        raise Error(f"runs is an integer between 1 and 9999, got {runs!r}")
    if sample not in ("auto", "off") and not (is_integer(sample) and sample >= 1):
        raise Error(f'sample is "auto", "off" or a number of indices, got {sample!r}')
    kernel, dtypes = find_kernel(fn), check_dtypes(dtypes)
    how = replay.How(kernel.candidate, baseline, policy, run_timeout, str(sample), kernel.identity, kernel.folders)
    binary()
    if not isinstance(kernel, Plugin):
        check_interpreter()
    subject = subject_of(graph_or_case_or_op, attributes, kernel, inputs)
    folder = tempfile.mkdtemp(prefix=f"fusesmith-{kernel.name}-")
    try:
        cases = write_cases(folder, subject, dtypes, shapes, runs, seed, None, fills)
        judged, left, refused = replay.run(folder, how, len(cases), time_limit)
        return make_result(kernel, getattr(subject, "name", subject), cases, judged, (left, refused), keep,
                           lambda path: replay.sentence(path, how), how.arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
