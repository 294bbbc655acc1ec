"""What a trial is made of: which generated cases, which faults, and which rules judge them. MIXES is the one list."""

import dataclasses

from comparison.low_precision_rules import LOW_PRECISION_RULES
from comparison.rules import RULES
from fusesmith.vocabulary import QUANTIZED


@dataclasses.dataclass(frozen=True)
class Mix:
    """`patterns`: whose faults are injected; none: all. `needs_exact`: a rule compares with the result in f64.
    `needs_equal`: a rule may fail equal and finite results."""

    name: str
    rules: tuple
    patterns: frozenset = frozenset()
    needs_exact: bool = True
    needs_equal: bool = False

    def selects(self, case):
        return not self.patterns or has_quantized(case)

    def has_fault(self, fault):
        return not self.patterns or fault["pattern"] in self.patterns

    @property
    def reads_numbers(self):
        """Codes as the numbers that they stand for; else as their bits, which have to be equal."""
        return bool(self.patterns)


def has_quantized(case):
    """Whether an input or a cast of the case has a quantized dtype."""
    graph = case["graph"]
    inputs = [*graph.get("inputs", []), *graph.get("states", [])]
    dtypes = [value["type"].partition("[")[0] for value in inputs]
    return not set(QUANTIZED).isdisjoint([*dtypes, *(node.get("dtype") for node in graph["nodes"])])


MIXES = {mix.name: mix for mix in (
    Mix("all", tuple(RULES)),
    Mix("low_precision", tuple(LOW_PRECISION_RULES), frozenset({"quantize", "scaled_product", "dequantized_product"}),
        needs_exact=False, needs_equal=True),
)}
