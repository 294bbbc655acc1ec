"""Which products are added at once, which groups share an accumulator, and in which order accumulators are added.

Every probe is one row of A and one column of B. M = 2^16 is added before -M; what is added between them is lost.
"""

import numpy as np
from fp8.numbers import BIG, factors


class Rows:
    """Rows of A and of B; the products of a row are `unit` where nothing else is put."""

    def __init__(self, count, K, unit=0.0):
        a, b = factors(unit)
        self.A, self.B, self.K = np.full((count, K), float(a)), np.full((count, K), float(b) if unit else 0.0), K

    def put(self, row, k, value):
        self.A[row, k], self.B[row, k] = factors(value)

    def put_factors(self, row, k, a, b):
        self.A[row, k], self.B[row, k] = a, b


class Prober:
    def __init__(self, unit, report, mode, fast, shape=128):
        self.unit, self.report, self.mode, self.fast, self.shape = unit, report, mode, fast, shape
        self.pattern, self.cache = None, {}

    def ask(self, rows, shape=None):
        return self.unit.dots(rows.A, rows.B, rows.K, self.mode, self.fast, shape or self.shape)

    def countable_unit(self, K):
        for unit in (2.0 ** -18, 2.0 ** -12):
            if self.ask(Rows(1, K, unit))[0] == K * unit:
                return unit
        raise RuntimeError(f"{K} units do not sum to {K}: they cannot be counted")

    def find_groups(self, K):
        """The groups of products that are added at once, and the units that M at i and -M at j lose, for all pairs."""
        unit = self.countable_unit(K)
        i, j = np.triu_indices(K, 1)
        rows, n = Rows(len(i), K, unit), np.arange(len(i))
        rows.put(n, i, BIG)
        rows.put(n, j, -BIG)
        lost = np.zeros((K, K))
        lost[i, j] = lost[j, i] = K - self.ask(rows) / unit
        np.fill_diagonal(lost, 1e9)
        fewest = lost.min(1)
        left, found = list(range(K)), []
        while left:
            first = left[0]
            group = [first] + [k for k in left[1:] if lost[first, k] == fewest[first] == fewest[k]]
            found.append(np.array(group))
            left = [k for k in left if k not in set(group)]
        self.pattern = found
        return found, lost

    def groups(self, K):
        """The groups of K = 128, repeated; groups of 32 where they are unknown."""
        if self.pattern is None:
            return [np.arange(k, min(k + 32, K)) for k in range(0, K, 32)]
        period = sum(len(group) for group in self.pattern)
        shifted = ((group + start)[group + start < K] for start in range(0, K, period) for group in self.pattern)
        return [group for group in shifted if len(group)]

    def blocks(self, K, shape=None):
        """The groups of each accumulator, and the tree in which the sums of the accumulators are added."""
        if (K, shape) in self.cache:
            return self.cache[K, shape]
        groups, starts = self.groups(K), []
        if len(groups) > 1:
            rows, n = Rows(len(groups) - 1, K), np.arange(len(groups) - 1)
            rows.put(n, np.array([group[0] for group in groups[:-1]]), BIG)
            # 3/4 of a unit in the last place of f32: only an addition in f32 rounds it up.
            rows.put(n, np.array([group[0] for group in groups[1:]]), 1.5 * 2.0 ** -8)
            starts = [int(i) + 1 for i in np.flatnonzero(self.ask(rows, shape) != BIG)]
        edges = [0, *starts, len(groups)]
        blocks = [groups[a:b] for a, b in zip(edges, edges[1:], strict=False)]
        tree = self.tree(K, [int(block[0][0]) for block in blocks], shape)
        self.cache[K, shape] = blocks, tree
        return blocks, tree

    def tree(self, K, places, shape):
        """The order of additions of the sums whose first terms are at `places`, as nested pairs."""
        def lost(i, others):
            rows, n = Rows(len(others), K), np.arange(len(others))
            for k in places:
                rows.put(n, k, 2.0 ** -16)
            rows.put(n, places[i], BIG)
            rows.put(n, np.array([places[j] for j in others]), -BIG)
            return len(places) - self.ask(rows, shape) * 2.0 ** 16

        def build(members):
            tree = members[0]
            if len(members) > 1:
                counts = lost(members[0], members[1:])
                for count in sorted(set(counts)):
                    tree = (tree, build([j for j, c in zip(members[1:], counts, strict=True) if c == count]))
            return tree

        return build(list(range(len(places))))
