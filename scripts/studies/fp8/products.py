"""Random products, compared with their emulation bit for bit."""

import collections
import time

import numpy as np
from fp8 import alternatives, emulation, scales
from fp8.numbers import round_e4m3

KINDS = ("normal", "mean 1", "wide")
TURNS = ("normal", "mean 1", "wide", "normal", "mean 1")


def random_codes(rng, kind, rows, K):
    x = rng.standard_normal((rows, K))
    if kind == "mean 1":
        x = x + 1
    if kind == "wide":  # many of them subnormal
        x = x * np.exp2(rng.uniform(-8, 6, (rows, K)))
    return round_e4m3(x)


def round_to_bf16(arrays, x):
    bits = np.ascontiguousarray(arrays.numpy(x)).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) << 16
    return arrays.f32(rounded.astype(np.uint32).view(np.float32))


class Product:
    """A random product, its scales, and what the unit returned."""

    def __init__(self, prober, arrays, rng, kind, n, K, scaled):
        self.arrays, self.mode, self.kind, self.n, self.K = arrays, prober.mode, kind, n, K
        self.f32 = prober.unit.f32
        A, B = random_codes(rng, kind, n, K), random_codes(rng, kind, n, K).T
        if scaled:
            sa, sb = (np.exp2(rng.uniform(-4, 4, s)).astype(np.float32) for s in scales.shapes(self.mode, n, n, K))
        else:
            sa, sb = (np.ones(s, np.float32) for s in scales.shapes(self.mode, n, n, K))
        self.returned = arrays.f32(prober.unit.product(A, B, sa, sb, self.mode, prober.fast))
        if scales.is_blockwise(self.mode):
            sa, sb = scales.expanded(n, n, sa, sb)
            self.orders = scales.OF_BLOCKS
        else:
            self.orders = scales.OF_SUMS if scaled else {"ab": scales.OF_SUMS["ab"]}
        self.sa, self.sb = arrays.f32(sa), arrays.f32(sb)
        self.operands = emulation.Operands(arrays, A, B)

    def __str__(self):
        return f"{self.n}x{self.n}x{self.K}"

    def emulated(self, blocks, tree, spec):
        """The results for each order of the scales."""
        sums = [emulation.run_block(self.operands, block, spec) for block in blocks]
        if not scales.is_blockwise(self.mode):
            total = emulation.add_tree(tree, sums)
            results = scales.apply_to_sum(self.arrays, total, self.sa, self.sb)
            return {order: results[order] for order in self.orders}

        def scaled(order):
            def add(main, leaf):
                k = int(blocks[leaf][0][0]) // 128
                sa, sb = self.sa[:, k:k + 1], self.sb[k:k + 1, :]
                return scales.apply_to_block(self.arrays, order, main, sums[leaf], sa, sb)
            return emulation.walk(tree, lambda leaf: add(None, leaf), add)

        return {order: scaled(order) for order in self.orders}

    def equal(self, blocks, tree, spec):
        """How many elements equal the returned ones, for each order of the scales. Zeros of both signs are equal."""
        return {order: int(((result if self.f32 else round_to_bf16(self.arrays, result)) == self.returned).sum())
                for order, result in self.emulated(blocks, tree, spec).items()}


class Tally:
    def __init__(self):
        self.done = self.elements = self.simple = 0
        self.products, self.equal = collections.Counter(), collections.Counter()  # by order of the scales
        self.of_kind, self.equal_of_kind = collections.Counter(), collections.Counter()
        self.unequal = []

    def add(self, product, counts, simple):
        full = product.n * product.n
        self.done += 1
        self.elements += full
        self.simple += simple
        for order, count in counts.items():
            self.equal[order] += count
            self.products[order] += count == full
        self.of_kind[product.kind] += 1
        self.equal_of_kind[product.kind] += max(counts.values()) == full
        if max(counts.values()) < full:
            self.unequal.append((product, max(counts.values())))
            del self.unequal[4:]

    def best(self):
        return max(self.products, key=lambda order: (self.products[order], self.equal[order]))


def is_simple(prober, found, blocks, tree, K):
    """Whether "a new accumulator every P, added as one chain" is this order."""
    every, starts = found["P"] or K + 1, {}
    for group in prober.groups(K):
        starts.setdefault(int(group[0]) // every, int(group[0]))
    return list(starts.values()) == [int(block[0][0]) for block in blocks] and tree == emulation.chain(len(starts))


def compare(prober, found, arrays, label, count, sizes, lengths, scaled, deadline, seed):
    """Prints how many of `count` random products are equal; True if all are, None if there was no time for any."""
    spec, rng, tally, say = emulation.spec_of(found), np.random.default_rng(seed), Tally(), prober.report.say
    with_rule = found.get("P") is not None and not scales.is_blockwise(prober.mode)
    for turn in range(count):
        if time.time() > deadline:
            say(f"    (stopped after {turn} of {count}: time)")
            break
        n, K = int(rng.choice(sizes)), int(rng.choice(lengths))
        product = Product(prober, arrays, rng, TURNS[turn % len(TURNS)], n, K, scaled)
        blocks, tree = prober.blocks(K, n)
        counts = product.equal(blocks, tree, spec)
        tally.add(product, counts, with_rule and is_simple(prober, found, blocks, tree, K))
    if not tally.done:
        return None
    describe(prober, found, label, tally, product.orders, with_rule)
    if tally.unequal:
        alternatives.search(prober, spec, tally.unequal[:2], min(deadline, time.time() + 8))
    return not tally.unequal


def describe(prober, found, label, tally, orders, with_rule):
    say, best = prober.report.say, tally.best()
    rule = f"; rule P = {found['P'] or 'none'} alone fits {tally.simple}" if with_rule else ""
    say(f"  {label}: {tally.products[best]} of {tally.done} products equal, {tally.equal[best]} of {tally.elements} "
        f"elements ({100 * tally.equal[best] / tally.elements:.4f} %){rule}")
    if len(orders) > 1:
        shown = [order for order in orders if tally.products[order] or order == best]
        shown.sort(key=lambda order: (-tally.products[order], -tally.equal[order]))
        say("    scales: " + "; ".join(f"{orders[order]}: {tally.products[order]}" for order in shown) +
            f"; in the other {len(orders) - len(shown)} orders tried: 0")
    if tally.unequal:
        kinds = ", ".join(f"{kind} {tally.equal_of_kind[kind]} of {tally.of_kind[kind]}"
                          for kind in KINDS if tally.of_kind[kind])
        examples = ", ".join(f"{product} {product.kind} ({count} of {product.n ** 2})"
                             for product, count in tally.unequal[:3])
        prober.report.fail(f"    by data: {kinds}; unequal e.g. {examples}")
