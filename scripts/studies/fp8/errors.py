"""Errors of the emulated unit beside the bound of an f32 accumulator, and beside a bound for this unit.

The bound for the unit follows its steps. With M = 2^(largest exponent of a step), each term of which bits are cut off
loses less than M 2^-13, and the sum of a step loses at most 2^-13 of itself.
"""

import numpy as np
from fp8 import emulation
from fp8.arrays import NumpyArrays
from fp8.products import KINDS, random_codes

SPEC = emulation.Spec(F=13, Fo=13, term="rz", out="rz", pexp="sum", sub="raw", Fa=13)
GROUP, PROMOTE, ROWS = 32, 128, 64
CUT, UNIT_ROUNDOFF = 2.0 ** -13, 2.0 ** -24


def after_step(operands, group, exact, error):
    """The exact sum and the bound after one group of products; the accumulator had `exact`, off by at most `error`."""
    products, exponents = operands.products(group, SPEC)
    entering = np.abs(exact) + error
    largest = emulation.defined(np.maximum(exponents.max(-1), NumpyArrays.exponent(entering)))
    unit = NumpyArrays.power_of_two(largest - SPEC.F)
    # A product has 6 fraction bits, so that 7 lower exponents lose nothing.
    cut = (products != 0) & (exponents < largest[..., None] - 7)
    error = error + np.where(cut, np.minimum(np.abs(products), unit[..., None]), 0).sum(-1)
    error = error + np.minimum(entering, unit)
    exact = exact + products.sum(-1)
    return exact, error + CUT * (np.abs(exact) + error)


def bound_of_unit(operands, K, promoted):
    """A bound that needs the operands alone, for each element."""
    exact = error = zero = np.zeros((ROWS, ROWS))
    total, total_error = zero, zero
    for k in range(0, K, GROUP):
        exact, error = after_step(operands, np.arange(k, min(k + GROUP, K)), exact, error)
        last = k + GROUP >= K
        if last or (promoted and (k + GROUP) % PROMOTE == 0):
            first = k + GROUP <= PROMOTE or not promoted
            total, total_error = total + exact, total_error + error
            if not first:
                total_error = total_error + UNIT_ROUNDOFF * (np.abs(total) + total_error)
            exact = error = zero
    return total_error


def row(K, promoted, kind, rng):
    """A row of the table, and whether an error exceeds its bound."""
    A, B = random_codes(rng, kind, ROWS, K), random_codes(rng, kind, ROWS, K).T
    operands = emulation.Operands(NumpyArrays, A, B)
    groups = [np.arange(k, min(k + GROUP, K)) for k in range(0, K, GROUP)]
    size = PROMOTE // GROUP if promoted else len(groups)
    blocks = [groups[i:i + size] for i in range(0, len(groups), size)]
    sums = [emulation.run_block(operands, block, SPEC) for block in blocks]
    result = emulation.add_tree(emulation.chain(len(blocks)), sums).astype(np.float64)
    error, magnitudes = np.abs(result - A @ B), np.abs(A) @ np.abs(B)  # both products are exact in f64
    beyond = (error > (K + 2) * UNIT_ROUNDOFF * magnitudes).mean()
    bound = bound_of_unit(operands, K, promoted)
    simple = (GROUP + 1) * max(map(len, blocks)) * CUT + (len(blocks) - 1) * UNIT_ROUNDOFF
    cells = [K, "every 128" if promoted else "never", kind, f"{100 * beyond:.1f} %",
             f"{np.median(error / magnitudes):.1e}", f"{(error / magnitudes).max():.1e}",
             f"{np.median(bound / magnitudes):.1e}", f"{simple:.1e}"]
    return cells, bool((error > bound).any())


def run():
    """Prints the table; the number of its rows with an error beyond the bound for the unit."""
    print("| K | promotion | data | beyond the bound of f32 | error / s, median | error / s, largest | "
          "bound from the operands / s, median | bound from K / s |")
    print("|---:|---|---|---:|---:|---:|---:|---:|")
    rng, wrong = np.random.default_rng(5), 0
    for K in (128, 1024, 4096):
        for promoted in (True, False) if K > PROMOTE else (True,):
            for kind in KINDS:
                cells, exceeded = row(K, promoted, kind, rng)
                wrong += exceeded
                print("| " + " | ".join(map(str, cells)) + " |" + (" EXCEEDED" if exceeded else ""), flush=True)
    return wrong
