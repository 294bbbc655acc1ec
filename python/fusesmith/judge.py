"""`judge`: one function against what floating point allows, on many cases."""

import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace

from . import replay
from .arguments import check_arguments
from .cases import check_dtypes, subject_of, write_cases
from .errors import Error, JudgedAtImport
from .graph import Graph, Type
from .kernel import Plugin, find_kernel
from .layouts import KINDS
from .program import binary, check_interpreter
from .refused import of_rank, outcomes, refused_alone, refused_kinds, without
from .result import make_result
from .shown import in_symbols

LAST = "last.json"  # of the case files; the others are numbers
MOST_ROUNDS = 5  # in which what a kernel does not take is found


def judge(fn, graph_or_case_or_op, dtypes=("f32", "f16", "bf16"), shapes="fuzz", runs=200, policy=None, seed=1, *,
          fills=None, inputs=None, rank=None, repeat=1000, batch_invariant=False, position_invariant=False,
          run_timeout=10, time_limit=600, keep=None, baseline="cpu", sample="auto", **attributes):
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
    repeat                how often a function is called again on the inputs of one case, after all cases, for two
                          seconds at most: each call has to give the same bits
    batch_invariant       a row has to have the same bits among fewer rows, as far as axes are independent; a function
                          that is not is a finding ("depends on the batch")
    position_invariant    a row has to have the same bits at another place among the others
    rank                  how many axes the first input of an op has (default: drawn; a number of axes for which `fn`
                          always raises is left out)
    run_timeout           seconds that one call of `fn` may take
    time_limit            seconds after which no further case is begun
    keep                  folder for the failing case (default: a new one for temporary files)
    baseline              the backend that the results are compared with, as of `fusesmith replay`
    sample                "auto": of large results, a sample of the elements is judged; "off": always all; a number of
                          indices along each axis
    """
    refuse_at_import()
    check_arguments(policy=policy, runs=runs, sample=sample, repeat=repeat, seed=seed, dtypes=dtypes, fills=fills,
                    inputs=inputs, rank=rank, batch_invariant=batch_invariant, position_invariant=position_invariant,
                    run_timeout=run_timeout, time_limit=time_limit, baseline=baseline, keep=keep)
    kernel, dtypes = find_kernel(fn), check_dtypes(dtypes)
    given = {"batch_invariant": batch_invariant, "position_invariant": position_invariant}
    required = tuple(name for name, is_given in given.items() if is_given)
    how = replay.How(kernel.candidate, baseline, policy, run_timeout, str(sample), kernel.identity,
                     folders=kernel.folders, required=required)
    binary()
    if not isinstance(kernel, Plugin):
        check_interpreter()
    subject = subject_of(graph_or_case_or_op, attributes, kernel, inputs)
    if isinstance(graph_or_case_or_op, Graph):
        how = replace(how, kept=tuple(sorted(graph_or_case_or_op.chosen_fills)))
    if rank is not None:
        subject = of_one_rank(subject, rank)
    drawn = Drawn(dtypes, shapes, runs, seed, fills, *((0, ()) if isinstance(kernel, Plugin) else (repeat, KINDS)))
    return judge_what_it_takes(kernel, subject, drawn, how, time_limit, keep)


def refuse_at_import():
    if os.environ.get("FUSESMITH_JUDGING"):
        raise JudgedAtImport('this process imports the kernel: call judge under if __name__ == "__main__"')


def judge_what_it_takes(kernel, subject, drawn, how, time_limit, keep):
    """Draws again, without the kinds of cases that the kernel refuses, until it refuses no more."""
    refused, reasons = {}, {}
    for last in (*(False,) * MOST_ROUNDS, True):
        taken = subject.with_graphs(without(subject.graphs, refused)) if refused else subject
        with tempfile.TemporaryDirectory(prefix=f"fusesmith-{kernel.name}-", ignore_cleanup_errors=True) as folder:
            cases, judged, missing, again = run_cases(folder, taken, drawn.without(refused), how, time_limit)
            check_declarations(judged)
            reasons |= outcomes(judged, cases)
            found = refused if last else refused_kinds(reasons, kernel)
            if set(found) == set(refused):
                alone = refused_alone(judged, cases, kernel, how)
                judged = [entry for entry in judged if entry["file"] not in alone]
                missing = missing[0], missing[1] + len(alone)
                if drawn.repeat and judged and not any(entry["finding"] for entry in judged):
                    judged, how = with_repeated(judged, again, replace(how, repeat=drawn.repeat))
                how = replace(how, keeps_sizes=depends_on_sizes(taken, cases, judged))
                result = make_result(kernel, getattr(subject, "name", subject), cases, judged, missing, keep, how)
                result.rule = in_symbols(result.rule, axis_symbols(taken))
                result.refused_alone = len(alone)
                result.refused = {str(kind): says for kind, says in (*refused.items(), *alone.values())}
                return result
        refused = found
    return None


def axis_symbols(subject):
    """(input, axis) -> the symbol that stands for its size, in the only graph that is judged."""
    graphs = [] if isinstance(subject, str) else subject.graphs
    return {} if len(graphs) != 1 else {
        (given["name"], axis): dim for given in graphs[0].inputs
        for axis, dim in enumerate(Type(given["type"]).dims) if str(dim).isidentifier()}


def depends_on_sizes(subject, cases, judged):
    """Whether that is so of the first case that fails, as of all others."""
    failed = {entry["file"] for entry in judged if entry["finding"]}
    first = next((case for case in cases if case.path in failed), None)
    return first is not None and not isinstance(subject, str) and subject.depends_on_sizes(first)


def check_declarations(judged):
    """What the function declares is no part of the cases: an unknown key is an error of the caller."""
    wrong = re.compile(r": plan: (contract\..*)")
    for entry in judged[:1]:
        if found := wrong.search(entry["reason"]):
            raise Error(f"what the kernel declares is wrong: {found[1].removeprefix('contract.')}")


@dataclass(frozen=True)
class Drawn:
    """How cases are drawn: arguments of `judge`."""

    dtypes: tuple
    shapes: object
    runs: int
    seed: int
    fills: object
    repeat: int
    memory: tuple  # how some inputs lie in memory, of layouts.KINDS
    refused: tuple = ()  # variants and Limits of which no case is drawn

    def without(self, refused):
        return replace(self, refused=tuple(refused),
                       dtypes=tuple(dtype for dtype in self.dtypes if f"inputs of {dtype}" not in refused))


def run_cases(folder, subject, drawn, how, time_limit):
    """The cases, what the program says of each, why it was not given for all and how many are no valid graphs, and what
    it says of one of them that is run again at the end, with many calls of the kernel in place of one."""
    policy = {"metamorphic": [replay.INVARIANCES[name] for name in how.required]} if how.required else None
    cases = write_cases(folder, subject, drawn.dtypes, drawn.shapes, drawn.runs, drawn.seed, policy, drawn.fills,
                        drawn.memory, drawn.refused)
    # Subsets are further graphs, after which the worker would not know the last case.
    repeats = drawn.repeat and "batch_invariant" not in how.required
    middle = sorted((case.elements, case.path) for case in cases)[len(cases) // 2][1] if repeats else None
    last = os.path.join(folder, LAST)
    if middle:
        shutil.copy(middle, last)
        how = replace(how, repeat=drawn.repeat, repeat_from=len(cases))
    judged, left, invalid = replay.run(folder, how, len(cases) + bool(middle), time_limit)
    again = [{**entry, "file": middle} for entry in judged if entry["file"] == last]
    if middle and invalid and not again:
        invalid -= 1  # that of the last one
    judged = [entry for entry in judged if entry["file"] != last]
    return cases, judged, (left, invalid), [] if invalid else again


def with_repeated(judged, again, how):
    """`judged` with what is said of a case with many calls. How is that of a failure, if there is one. Where the calls
    are missing, since some cases were not run, they are made now, in a process of their own."""
    if not again:
        middle = sorted((entry["output_elements"], entry["file"]) for entry in judged)[len(judged) // 2][1]
        folder = os.path.join(os.path.dirname(middle), "repeated")
        os.makedirs(folder)
        shutil.copy(middle, folder)
        again = [{**entry, "file": middle} for entry in replay.run(folder, how, 1, how.run_timeout)[0]]
    if not again or not again[0]["finding"]:
        return judged, replace(how, repeat=0)
    return [entry for entry in judged if entry["file"] != again[0]["file"]] + again, how


def of_one_rank(subject, rank):
    if not getattr(subject, "is_op", False):
        raise Error("rank is of an op that is given by its name")
    return subject.with_graphs(of_rank(subject.graphs, rank))
