"""Several simulated units: the probes must reveal the parameters of each, and the emulation must give its bits."""

import argparse

from fp8.arrays import NumpyArrays
from fp8.measure import Measurement
from fp8.report import Report
from fp8.unit import SimulatedUnit

UNITS = [
    {"F": 13, "g": 32, "Fo": 13, "promote": 128},
    {"F": 25, "g": 16, "Fo": 23, "promote": 0},
    {"F": 13, "g": 16, "Fo": 13, "promote": 64, "promote_fast": 128, "order": "a_b", "blk": "mul_ab"},
    {"F": 25, "g": 32, "Fo": 23, "promote": 128, "split": 2, "pexp": "norm", "order": "b_a", "blk": "fma_a_b"},
    {"F": 13, "g": 32, "Fo": 13, "promote": 0, "split": 3, "sub": "norm"},
    {"F": 12, "g": 32, "Fo": 14, "promote": 256, "term": "rne", "out": "rne"},
    {"F": 13, "g": 32, "Fo": 23, "promote": 128, "term": "floor", "out": "rz"},
    {"F": 13, "g": 16, "Fo": 13, "promote": 128, "interleave": True},
    {"F": 13, "g": 32, "Fo": 13, "promote": 32, "promote_fast": 512}]


def mistakes(unit, measurement, report):
    """What the report says of `unit` and is wrong."""
    found = []
    hidden = unit.Fo > unit.F + 3  # no sum of a group has so many bits
    for fast, values in measurement.found.items():
        expected = {"F": unit.F, "g": unit.g, "term": unit.term, "Fo": 23 if hidden else unit.Fo}
        if not hidden:
            expected["out"] = unit.out
        if "sub" in values:  # not visible if F is large
            expected["sub"] = unit.sub
        if unit.split == 1:  # in parts of K, intervals start anew
            expected["P"] = unit.promote_fast if fast else unit.promote
        expected["pexp"] = unit.pexp if "pexp" in values else None
        found += [f"fast {fast}: {key} is {values.get(key)}, not {value}" for key, value in expected.items()
                  if values.get(key) != value]
    found += [f"{label.strip()}, fast {fast}: not equal" for (label, fast), equal in measurement.equal.items()
              if equal is not True]
    return found + [line for line in report.lines if "FAILED" in line or "NO FIT" in line][:3]


def run():
    """Prints a line for each unit; the number of units that were not revealed."""
    flags = argparse.Namespace(products=10, size=16, kmax=768, budget=1e9, simulate=True)
    wrong = 0
    for parameters in UNITS:
        unit, report = SimulatedUnit(**parameters), Report(quiet=True)
        measurement = Measurement(unit, NumpyArrays, report, flags)
        measurement.run()
        found = mistakes(unit, measurement, report)
        wrong += bool(found)
        words = " ".join(f"{key}={value}" for key, value in parameters.items())
        print("WRONG" if found else "ok   ", words, f"{report.seconds():.0f} s", "; ".join(found), flush=True)
    return wrong
