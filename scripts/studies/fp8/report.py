"""What is printed: lines, sections, and the words for groups, orders and roundings."""

import time
import traceback

import numpy as np
from fp8.numbers import MODE_NAMES


class Report:
    def __init__(self, quiet=False):
        self.quiet, self.lines, self.failed = quiet, [], False
        self.start = time.time()

    def say(self, *words):
        line = " ".join(map(str, words))
        self.lines.append(line)
        if not self.quiet:
            print(line, flush=True)

    def fail(self, *words):
        self.failed = True
        self.say(*words)

    def seconds(self):
        return time.time() - self.start

    def section(self, name, measure, *arguments):
        self.say(f"\n== {name}  [{self.seconds():.0f} s]")
        return self.attempt("", measure, *arguments)

    def attempt(self, name, measure, *arguments):
        """A call that a device refuses is reported; what can be measured without it still is."""
        try:
            return measure(*arguments)
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            message = (str(error).splitlines() or [""])[0][:220]
            self.fail(f"  {name}FAILED: {type(error).__name__} {message} ({at.filename}:{at.lineno})")
            return None


def ranges(x):
    """0-31, "0-62 step 2", or the numbers."""
    x = [int(v) for v in x]
    if len(x) == 1:
        return str(x[0])
    steps = set(np.diff(x))
    if len(steps) == 1:
        step = steps.pop()
        return f"{x[0]}-{x[-1]}" + ("" if step == 1 else f" step {step}")
    return ",".join(map(str, x[:12])) + ("..." if len(x) > 12 else "")


def operands(tree):
    """The operands of the chain that ends in the root of `tree`."""
    found = []
    while isinstance(tree, tuple):
        found.append(tree[1])
        tree = tree[0]
    return [tree, *found[::-1]]


def tree_text(tree):
    """A tree of additions as "chain of 4" or "(chain of 2 + chain of 2)"."""
    chain = operands(tree)
    inner = [i for i, x in enumerate(chain) if isinstance(x, tuple)]
    if not inner:
        return f"chain of {len(chain)}" if len(chain) > 1 else "1"
    first = f"chain of {inner[0]}" if inner[0] > 1 else "1"
    rest = [tree_text(x) if isinstance(x, tuple) else "1" for x in chain[inner[0]:]]
    return f"({' + '.join([first, *rest])})"


def accumulators_text(blocks, tree):
    starts = [int(block[0][0]) for block in blocks]
    steps = sorted(set(np.diff(starts)))
    if len(starts) == 1:
        return "one accumulator for all of K"
    if len(steps) == 1:
        text = f"a new accumulator every {steps[0]} ({len(starts)} of them)"
    else:
        text = "accumulators start at " + " ".join(map(str, starts[:14])) + (" ..." if len(starts) > 14 else "")
    return f"{text}; added in f32 as {tree_text(tree)}"


def cut_text(fits):
    """Words for the first pair (F, rounding) that explains all results of a probe."""
    if not fits:
        return "no fit"
    bits, mode = fits[0]
    if mode == "exact":
        return f"nothing lost up to j = {bits}"
    return f"kept up to j = {bits}, gone at j = {bits + 1}; {MODE_NAMES[mode]}"
