"""Sections of the report: groups, where terms are cut, fraction bits of the accumulator, and promotion.

They write what they found into a dictionary: g, F, term, Fa (fraction bits of the accumulator on entry), pexp, sub, Fo,
out and P (terms between promotions), named as in unit.SimulatedUnit.
"""

import collections

import numpy as np
from fp8 import report as texts
from fp8.numbers import BIG, MODE_NAMES, MODES, cut_to_bits, cut_to_unit
from fp8.partition import Rows

FACTORS = (1.0, 1.5, -1.0, -1.5)
SMALL_TERMS = [(j, c) for j in range(1, 31) for c in FACTORS]  # the terms c 2^(e - j)
K = 128  # the length of the probes of one accumulator


def fits(observed, predicted, most=30):
    """The pairs (bits, rounding) that predict every observation, and the pair that predicts most."""
    grid = [(bits, mode) for bits in range(1, most + 1) for mode in MODES]
    hits = [int((predicted(*pair) == observed).sum()) for pair in grid]
    best = max(range(len(grid)), key=hits.__getitem__)
    all_of_them = [pair for pair, count in zip(grid, hits, strict=True) if count == len(observed)]
    return all_of_them, f"best {grid[best]} gives {hits[best]} of {len(observed)}"


def small_probe(prober, what, place, exponent=16, most=30, predicted=None):
    """The pairs (F, rounding) that explain what is left of small terms c 2^(exponent - j). `place(rows, n)` puts the
    large terms and returns where the small ones stand."""
    pairs = [pair for pair in SMALL_TERMS if pair[0] <= most]
    j, c = (np.array(x) for x in zip(*pairs, strict=True))
    rows, n = Rows(len(pairs), K), np.arange(len(pairs))
    values = c * np.ldexp(1.0, exponent - j)
    rows.put(n, place(rows, n), values)
    observed = prober.ask(rows)

    def at_unit(F, mode):
        return cut_to_unit(values, 2.0 ** (exponent - F), mode)

    found, best = fits(observed, (lambda F, mode: predicted(values, F, mode)) if predicted else at_unit)
    if not found:
        prober.report.fail(f"  {what}: NO FIT ({best})")
        for factor in FACTORS:
            seen = zip(j[c == factor], observed[c == factor], strict=True)
            prober.report.say(f"    c = {factor:4}: " + " ".join(f"{a}:{b:g}" for a, b in seen)[:210])
    return [(most, "exact")] if (observed == values).all() else found


def visible(found):
    return bool(found) and found[0][1] != "exact"


def measure_groups(prober, found):
    groups, lost = prober.find_groups(K)
    sizes = collections.Counter(map(len, groups))
    found["g"] = sizes.most_common(1)[0][0]
    say = prober.report.say
    say(f"  groups of products added as one sum, K = 128: {len(groups)}, of " +
        ", ".join(f"{size} products x {count}" for size, count in sizes.items()))
    say("    " + "; ".join(texts.ranges(x) for x in groups[:8]) + (" ..." if len(groups) > 8 else ""))
    second = [x[1 if x[0] == 0 and len(x) > 1 else 0] for x in groups[:12]]
    say("    lost units of +M at k = 0, -M at each group's first k: " + " ".join(str(int(lost[0, k])) for k in second))


def measure_cuts(prober, found):
    group = prober.groups(K)[0]
    cut_in_group(prober, found, group)
    same = prober.blocks(K)[0][0]
    if len(same) > 2:
        cut_with_accumulator(prober, found, same)
    else:
        prober.report.say("  accumulator probes need 3 groups in a block: block has", len(same))
    cut_one_by_one(prober, found, group)
    exponent_of_product(prober, found, group)
    exponent_of_subnormal(prober, found, group)
    zeros(prober, group)


def cut_in_group(prober, found, group):
    def place(rows, n):
        rows.put(n, group[0], BIG)
        rows.put(n, group[1], -BIG)
        return group[2]

    pairs = small_probe(prober, "in a group", place)
    prober.report.say(f"  small product beside +2^16, -2^16 in its group:     {texts.cut_text(pairs)}")
    if visible(pairs):
        found["F"], found["term"] = pairs[0]


def cut_with_accumulator(prober, found, groups):
    """The first three groups of one accumulator: M, or the small term, is in the accumulator."""
    first, second, third = groups[0][0], groups[1], groups[2][0]
    unit, term = 2.0 ** (16 - found.get("F", 30)), found.get("term", "rz")

    def putting(at, minus, small):
        def place(rows, n):
            rows.put(n, at, BIG)
            rows.put(n, minus, -BIG)
            return small
        return place

    pairs = small_probe(prober, "acc large", putting(first, second[0], second[1]))
    prober.report.say(f"  small product, +2^16 in the accumulator, -2^16 here: {texts.cut_text(pairs)}")

    pairs = small_probe(prober, "acc small", putting(second[0], second[1], first))
    prober.report.say(f"  small accumulator, +2^16, -2^16 in the next group:   {texts.cut_text(pairs)}")
    if visible(pairs):
        found["Fa"] = pairs[0][0]

    def through(values, bits, mode):
        return cut_to_unit(cut_to_bits(BIG + cut_to_unit(values, unit, term), bits, mode) - BIG, unit, term)

    pairs = small_probe(prober, "acc alone", putting(first, third, second[0]), predicted=through)
    text = "no fit"
    if pairs:
        alike = [bits for bits, mode in pairs if mode == pairs[0][1]]
        more = " or more" if len(alike) > 1 else ""
        text = f"sum keeps {alike[0]}{more} fraction bits; {MODE_NAMES.get(pairs[0][1], 'exact')}"
    prober.report.say(f"  only the accumulator is 2^16, -2^16 one group later: {text}")


def cut_one_by_one(prober, found, group):
    F, count = found.get("F", 30), min(8, len(group) - 2)
    rows = Rows(1, K)
    rows.put(0, group[0], BIG)
    rows.put(0, group[1], -BIG)
    for k in group[2:2 + count]:
        rows.put(0, k, 2.0 ** (16 - F - 1) if F < 30 else 2.0 ** -14)
    total = prober.ask(rows)[0]
    text = "each term is cut by itself" if total == 0 else "added before the cut"
    prober.report.say(f"  {count} terms of half a cut each: sum {total:g} ({text})")


def exponent_of_product(prober, found, group):
    F = found.get("F", 30)

    def place(rows, n):
        rows.put_factors(n, group[0], 192.0, 192.0)
        rows.put_factors(n, group[1], -192.0, 192.0)
        return group[2]

    pairs = small_probe(prober, "1.5 x 1.5", place, exponent=14)
    if visible(pairs):
        found["pexp"] = {F: "sum", F - 1: "norm"}.get(pairs[0][0], "?")
    text = {"sum": "the sum of its factors' (14)", "norm": "its own (15)"}.get(found.get("pexp"), "?")
    cut = pairs[0][0] if pairs else "?"
    prober.report.say(f"  1.5 2^7 x 1.5 2^7: cut at 2^(14 - {cut}): exponent of a product is {text}")


def exponent_of_subnormal(prober, found, group):
    F = found.get("F", 30)

    def place(rows, n):
        rows.put_factors(n, group[0], 2.0 ** -9, 256.0)
        rows.put_factors(n, group[1], -2.0 ** -9, 256.0)
        return group[2]

    pairs = small_probe(prober, "subnormal", place, exponent=-1, most=16)
    if not visible(pairs):
        prober.report.say("  2^-9 x 2^8: the cut lies below 2^-17, so the exponent of subnormal factors is not visible")
        return
    found["sub"] = {F: "norm", F - 3: "raw"}.get(pairs[0][0], "?")
    text = {"raw": "-6 (not normalised)", "norm": "-9 (normalised)"}.get(found["sub"], "?")
    prober.report.say(f"  2^-9 x 2^8, 2^-9 subnormal: cut at 2^(-1 - {pairs[0][0]}): exponent of a subnormal factor is "
                      f"{text}")


def zeros(prober, group):
    rows = Rows(2, K)
    rows.put(np.arange(2), group[0], 2.0 ** -18)
    rows.put_factors(0, group[1], 0.0, 448.0)
    rows.put_factors(1, group[1], 448.0, 0.0)
    total = prober.ask(rows)
    text = "do not count" if (total == 2.0 ** -18).all() else f"COUNT as large: {total}"
    prober.report.say(f"  0 x 448 and 448 x 0 beside 2^-18: {text} (not visible if F > 19)")


def measure_accumulator(prober, found):
    if not prober.unit.f32:
        prober.report.say("  results are bf16: not visible")
        return
    groups = prober.groups(K)
    accumulator_bits(prober, found, "last group of the tile ", groups[-1], 0)
    accumulator_bits(prober, found, "first group, then empty", groups[0], len(groups) - 1)


def accumulator_bits(prober, found, where, group, empty):
    """`count` products of M and one small term in `group`, which `empty` groups of zeros follow."""
    say, F, term = prober.report.say, found.get("F", 13), found.get("term", "rz")
    count = min(8, 1 << ((len(group) - 1).bit_length() - 1))
    more = count.bit_length() - 1
    cases = [(t, c, sign) for t in range(more, F + more + 1) for c in FACTORS for sign in (1, -1)]
    t, c, sign = (np.array(x) for x in zip(*cases, strict=True))
    rows, n = Rows(len(cases), K), np.arange(len(cases))
    held = 16 + more - t >= -17  # smaller terms are no products of e4m3
    values = c * np.ldexp(1.0, 16 + more - t)
    for k in group[:count]:
        rows.put(n, k, BIG * sign)
    rows.put(n[held], group[count], values[held])
    observed = prober.ask(rows)
    exact = BIG * count * sign + cut_to_unit(np.where(held, values, 0), 2.0 ** (16 - F), term)
    again = cut_to_bits(cut_to_bits(exact, found.get("Fo", 23), found.get("out", "rz")), F, term)
    pairs, best = fits(observed, lambda bits, mode: cut_to_bits(exact, bits, mode), most=29)
    if empty and (observed == again).all():
        say(f"  {where}: as expected, cut to {found.get('Fo')} bits, then again to F = {F} bits in the next step")
    elif not pairs:
        prober.report.fail(f"  {where}: NO FIT, {best}")
    elif (observed == exact).all():
        say(f"  {where}: nothing lost to F + {more} = {F + more} fraction bits: Fo >= {min(F + more, 23)}")
        found.setdefault("Fo", 23)
    else:
        bits, mode = pairs[0]
        others = "" if len(pairs) == 1 else f" (also {pairs[1:]})"
        say(f"  {where}: sum keeps {bits} fraction bits, {MODE_NAMES[mode]}{others}")
        if not empty:
            found["Fo"], found["out"] = bits, mode


def measure_promotion(prober, found, lengths, shapes):
    intervals = []
    for n in shapes:
        for length in lengths:
            blocks, tree = prober.blocks(length, n)
            prober.report.say(f"  M = N = {n:3}, K = {length:4}: {texts.accumulators_text(blocks, tree)}")
            if len(blocks) > 1:
                intervals.append(int(blocks[1][0][0] - blocks[0][0][0]))
    found["P"] = min(intervals, default=0)
    blocks, _ = prober.blocks(lengths[0], shapes[0])
    if len(blocks) > 1 and prober.unit.f32:
        addition_of_accumulators(prober, blocks, lengths[0], shapes[0])


def addition_of_accumulators(prober, blocks, length, shape):
    j, c = (np.array(x) for x in zip(*SMALL_TERMS, strict=True))
    values = c * np.ldexp(1.0, 16 - j)
    rows, n = Rows(len(values), length), np.arange(len(values))
    rows.put(n, blocks[0][0][0], BIG)
    rows.put(n, blocks[1][0][0], values)
    pairs, best = fits(prober.ask(rows, shape), lambda bits, mode: cut_to_bits(BIG + values, bits, mode))
    if pairs:
        prober.report.say(f"  addition of two accumulators: {pairs[0][0]} fraction bits, {MODE_NAMES[pairs[0][1]]}")
    else:
        prober.report.fail(f"  addition of two accumulators: NO FIT, {best}")
