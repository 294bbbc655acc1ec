"""Judges tensors that exist: what a kernel received and returned, in this process (docs/tensors.md).

    verdict = fusesmith.check("softmax", [x], [y], axis=-1)
    fusesmith.assert_correct("softmax", [x], [y], axis=-1)

Nothing is run. The caller sees to it that the inputs are those that the kernel received.
"""

import math
from dataclasses import dataclass, field

from . import library
from .errors import Error
from .reference_graphs import Reference
from .shown import number


@dataclass
class Verdict:
    """`ok`: the result is right. `finding`: it is wrong. A result that is neither is inconclusive: its bound is too
    large to decide. The fields from `value` to `bound` are of the element that is farthest from what is allowed, or, of
    a right result, nearest to its bound."""

    ok: bool
    finding: bool
    verdict: str
    sentence: str
    value: str = ""  # the output
    index: tuple = ()
    got: float = math.nan
    exact: float = math.nan
    allowed: tuple = ()  # lowest and highest value that a correct execution may give
    bound: float = math.nan  # the largest error of a correct execution before it is rounded to the dtype
    worst_share: float = 0.0  # the largest error, as a share of its bound
    outside: int = 0  # elements that are wrong
    elements: int = 0  # that were judged
    all_elements: int = 0
    resolution: float | None = None  # which relative change would have been found, in half of the elements
    # What the kernel does beyond its contract where that is customary: (what it does, what would declare it).
    arithmetic: list = field(default_factory=list)
    json: dict = field(default_factory=dict, repr=False)  # docs/verdict.schema.json has its regions

    def __bool__(self):
        return self.ok

    def __str__(self):
        return f"{self.verdict}: {self.sentence}"


def verdict_of(result):
    made = Verdict(result["ok"], result["finding"], result["verdict"], result["sentence"], json=result)
    region = result["regions"][0]
    worst = region["worst"]
    made.value, made.index = worst["value"], tuple(worst.get("index", ()))
    made.got, made.exact, made.bound = (number(worst[key]) for key in ("got", "want", "bound"))
    made.allowed = number(worst["lo"]), number(worst["hi"])
    made.worst_share, made.outside = number(region["worst_share"]), region["outside"]
    made.elements, made.all_elements = region["elements"], region["all_elements"]
    made.resolution = number(region["resolution"]["median"]) if "resolution" in region else None
    made.arithmetic = [(one["says"], one["declaration"]) for one in region.get("arithmetic", ())]
    return made


def check(what, inputs, outputs, *, contract=None, elements="sample", explain=True, kernel="the kernel",
          **attributes):
    """The Verdict on `outputs` as the result of `what` for `inputs`.

    what: the name of an op, with its attributes as further arguments; a Graph, whose sizes may be names; a function of
    torch tensors, which is traced; or a Definition of FlashInfer-Bench or SOL-ExecBench, as a dict or the Path of its
    file, whose reference runs in this process to be traced.
    inputs: tensors of torch or numpy, or what numpy.asarray takes; a list, or a dict by name. One on a GPU is copied.
    outputs: a tensor, or a list of them.
    contract: what the kernel declares about its arithmetic, as contracts of workers do (docs/workers.md).
    explain: say of a wrong result which arithmetic would give it; this takes several times as long as the verdict.
    elements: "sample": of results whose exact values cost much, a sample of the elements is judged; "all".
    """
    return check_each(what, [(inputs, outputs)], contract=contract, elements=elements, explain=explain, kernel=kernel,
                      **attributes)[0]


def check_each(what, calls, *, contract=None, elements="sample", explain=True, kernel="the kernel", threads=0,
               **attributes):
    """A Verdict for each pair of inputs and outputs in `calls`. `threads`: how many are judged at a time; 0: as many as
    there are processors. Calls of the same types are judged fastest."""
    if elements not in ("sample", "all"):
        raise Error(f'elements is "sample" or "all", got {elements!r}')
    reference = Reference(what, attributes)
    options = {"elements": elements, "explain": bool(explain), "kernel": kernel, "threads": threads}
    if contract is not None:
        options["contract"] = contract
    groups = {}  # of calls whose tensors have the same types: their numbers and tensors
    for i, call in enumerate(calls):
        if not isinstance(call, (list, tuple)) or len(call) != 2:
            raise Error(f"call {i}: expected a pair of inputs and outputs")
        inputs, outputs = call
        inputs, outputs, scalars = reference.tensors(inputs, outputs)
        key = tuple(tensor.type for tensor in inputs), len(outputs), tuple(scalars.items())
        groups.setdefault(key, []).append((i, inputs, outputs))
    verdicts = {}
    for (_, _, scalars), members in groups.items():
        text = reference.case(*members[0][1:], dict(scalars))
        results = library.check(text, options, [(inputs, outputs) for _, inputs, outputs in members])
        for (i, _, _), result in zip(members, results, strict=True):
            if "error" in result:
                raise Error(result["error"] if len(verdicts) + len(members) == 1 else f"call {i}: {result['error']}")
            verdicts[i] = verdict_of(result)
    return [verdicts[i] for i in range(len(verdicts))]


def assert_correct(what, inputs, outputs, *, inconclusive=False, **arguments):
    """Raises AssertionError, which says what is wrong, unless `outputs` are right; with `inconclusive`, also results
    whose bounds are too large to decide pass. Arguments as those of `check`."""
    verdict = check(what, inputs, outputs, **arguments)
    if not verdict.ok and not (inconclusive and not verdict.finding):
        raise AssertionError(str(verdict))
