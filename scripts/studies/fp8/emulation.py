"""The emulation of the unit in f64: exact, since the terms of a step are multiples of one unit and few."""

import collections

from fp8.numbers import NO_EXPONENT

# As in unit.SimulatedUnit; Fa: fraction bits, below the largest exponent, to which the accumulator is cut on entry.
Spec = collections.namedtuple("Spec", "F Fo term out pexp sub Fa")


def spec_of(found):
    """The arithmetic that the probes found. What none of them shows, or what is not emulated, has its usual value."""
    usual = {"term": "rz", "out": "rz", "pexp": "sum", "sub": "raw"}
    read = {key: found.get(key, value) for key, value in usual.items()}
    read = {key: usual[key] if value in ("?", "rna", "ceil") else value for key, value in read.items()}
    F = found.get("F", 13)
    return Spec(F=F, Fo=found.get("Fo", 13), Fa=found.get("Fa", F), **read)


class Operands:
    """A [M, K] and B [K, N], and their exponents, normalised ("norm") or not below -6 ("raw")."""

    def __init__(self, arrays, A, B):
        self.arrays, self.A, self.B = arrays, arrays.array(A), arrays.array(B.T)
        normalised = arrays.exponent(self.A), arrays.exponent(self.B)
        raw = tuple(e + (e > NO_EXPONENT) * ((-6 - e) * (e < -6)) for e in normalised)
        self.exponents = {"norm": normalised, "raw": raw}

    def products(self, k, spec):
        """The products [M, N, group] of the terms `k`, and the exponents that count for their alignment."""
        k = self.arrays.index(k)
        products = self.A[:, k][:, None, :] * self.B[:, k][None, :, :]
        if spec.pexp == "norm":
            return products, self.arrays.exponent(products)
        of_a, of_b = self.exponents[spec.sub]
        return products, of_a[:, k][:, None, :] + of_b[:, k][None, :, :]


def cut(arrays, x, mode):
    return {"rz": arrays.trunc, "floor": arrays.floor, "rne": arrays.rint}[mode](x)


def defined(exponent):
    """0 in place of the exponents of zero: then every term is zero, and any exponent will do."""
    return exponent * (exponent > NO_EXPONENT // 20)


def run_block(operands, groups, spec):
    """The accumulator after these groups, in f32."""
    arrays, acc = operands.arrays, None
    for group in groups:
        products, exponents = operands.products(group, spec)
        largest = arrays.largest(exponents)
        if acc is not None:
            largest = arrays.maximum(largest, arrays.exponent(acc))
        largest = defined(largest)
        inverse = arrays.power_of_two(spec.F - largest)
        total = cut(arrays, products * inverse[..., None], spec.term).sum(-1)
        if acc is not None and spec.Fa == spec.F:
            total = total + cut(arrays, acc * inverse, spec.term)
        elif acc is not None:
            entering = cut(arrays, acc * arrays.power_of_two(spec.Fa - largest), spec.term)
            total = total + entering * 2.0 ** (spec.F - spec.Fa)
        total = total * arrays.power_of_two(largest - spec.F)
        own = defined(arrays.exponent(total))
        acc = cut(arrays, total * arrays.power_of_two(spec.Fo - own), spec.out) * arrays.power_of_two(own - spec.Fo)
    return arrays.f32(acc)


def walk(tree, start, add):
    """The value of `tree`: `start(leaf)` of its first leaf, then `add(sum, leaf)` for each leaf, and f32 additions of
    the values of inner trees. Long chains need no recursion."""
    later = []
    while isinstance(tree, tuple):
        later.append(tree[1])
        tree = tree[0]
    total = start(tree)
    for operand in reversed(later):
        total = total + walk(operand, start, add) if isinstance(operand, tuple) else add(total, operand)
    return total


def add_tree(tree, values):
    return walk(tree, values.__getitem__, lambda total, leaf: total + values[leaf])


def chain(n):
    """The tree ((0 + 1) + 2) + ..."""
    tree = 0
    for i in range(1, n):
        tree = (tree, i)
    return tree
