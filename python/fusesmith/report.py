"""The text of a result, as `print` shows it."""

import functools
import textwrap

CORRECT = ("identical", "reassociation", "precision_policy")  # from harmless to serious
COLUMNS = 100
# Paths are not broken, so that they can be copied.
wrap = functools.partial(textwrap.wrap, break_on_hyphens=False, break_long_words=False)


def report(result):
    judged = sum(result.cases.values())
    right = sum(result.cases.get(verdict, 0) for verdict in CORRECT)
    if result.findings:
        head = f"is wrong for {result.subject}: {result.findings} of {judged} cases failed, {result.verdict}"
    elif result.ok:
        others = f" of {judged} cases; the others could not be judged" if right < judged else (
            " case" if right == 1 else " cases")
        head = f"is right for {result.subject} in {right}{others}"
    elif result.stopped and right:
        head = f"was stopped for {result.subject}: right in {right} of {result.runs} cases, the others were not judged"
    elif right:
        rest = f", else {result.verdict}" if right < judged else ""
        head = f"was judged in too few cases for {result.subject}: right in {right} of {result.runs}{rest}"
    else:
        head = f"was not judged for {result.subject} in {judged} cases: {result.verdict}"
    left = result.runs - judged - result.refused_alone
    yield f"{result.kernel} {head}."
    yield from undeclared(result, judged)
    for variant, says in result.refused.items():
        yield from wrap(f"Cases with {variant} are left out, since each of them ended with {says}", COLUMNS)
    if left:
        yield from wrap(f"{left} more were not judged: {result.left or 'unknown'}", COLUMNS)
    if result.findings:
        yield ""
        yield from wrap(result.sentence, COLUMNS)
        yield from evidence(result)
        yield from rule_and_lines(result)
    yield ""
    yield from ("  " + f"{verdict:18}{count:5}" for verdict, count in result.cases.items())
    for key, table in result.failures_by.items() if result.findings else ():
        parts = [f"{name} {failed}/{count}" for name, (failed, count) in sorted(table.items())]
        yield from wrap(f"failed by {key}: {', '.join(parts)}", COLUMNS, initial_indent="  ",
                                 subsequent_indent="    ")
    if result.ok:
        yield f"  largest error: {result.worst_share:.3g} of its bound"
    if result.resolution is not None:
        yield from wrap(resolution_text(result), COLUMNS, initial_indent="  ", subsequent_indent="    ")
    if result.partly:
        yield from wrap(partly_text(result.partly), COLUMNS, initial_indent="  ", subsequent_indent="    ")
    if result.sampled:
        yield f"  sampled {result.sampled[0]:,} of {result.sampled[1]:,} elements; no others were judged"
    if result.covered:
        yield from wrap(covered_text(result.covered), COLUMNS, initial_indent="  ", subsequent_indent="    ")
    if result.checks:
        yield from wrap(checks_text(result.checks), COLUMNS, initial_indent="  ", subsequent_indent="    ")
    if result.granted:
        yield from wrap(f"granted: {result.granted}", COLUMNS, initial_indent="  ", subsequent_indent="    ")
    for reason, count in result.reasons.items():
        times = f"{count} time" if count == 1 else f"{count} times"
        yield from wrap(f"{times}: {reason}", COLUMNS, initial_indent="  ", subsequent_indent="    ")
    if result.findings:
        yield from ["", "Reproduce:", f"  {result.repro}"]
        if not result.smallest:
            yield from ["Reduce to a smaller case:", f"  {result.reduce}"]


def undeclared(result, judged):
    """What the kernel may be meant to do without saying so."""
    for (says, declaration), count in result.arithmetic.items():
        cases = "the case" if judged == 1 else f"{count} of the {judged} cases"
        yield from wrap(f"In {cases}, it is right if it is meant to be computed so: {says}. To say so, "
                                 f"give the function the attribute {declaration}.", COLUMNS)
    for (says, declaration), count in result.fails_with.items():
        cases = "The case" if judged == 1 else f"{count} of the {judged} cases"
        yield from wrap(f"{cases} could not be decided, but would fail if it is meant to be computed so: "
                                 f"{says}. To have that judged, give the function the attribute {declaration}.",
                                 COLUMNS)


def resolution_text(result):
    text = f"resolution: a change of {percent(result.resolution)} would have been found in half of the cases"
    if result.coarsest_resolution is not None:
        text += f", {percent(result.coarsest_resolution)} in each that is right"
    if result.cases.get("inconclusive"):
        text += "; inconclusive cases have bounds that are too large to tell"
    return text


def percent(share):
    return f"{100 * share:.3g} %"


def evidence(result):
    yield ""
    for given in result.inputs:
        yield f"  input     {given}"
    if result.value is None:
        return
    yield f"  element   {result.value}[{result.element}]"
    yield f"  got       {result.got!r}"
    if result.allowed is None:
        yield f"  other     {result.other!r}, which should be the same"
        return
    yield f"  allowed   {result.allowed[0]!r} to {result.allowed[1]!r}"
    yield f"  exact     {result.exact!r}, error bound {result.bound:.3g}"


def rule_and_lines(result):
    if result.rule:
        yield ""
        for line in result.rule.splitlines():
            yield from wrap(line, COLUMNS)
    if result.snippet:
        yield from ["", *("  " + line if line else "" for line in result.snippet.splitlines())]


def covered_text(covered):
    """"covered: A 1 to 300, D 1 to 8,192 (above 512 in 25 cases); f32 67, f16 67, bf16 66"."""
    texts = []
    for name, sizes in covered.items():
        if name == "dtype":
            continue
        text = f"{name} {sizes[0]:,}" if sizes[0] == sizes[-1] else f"{name} {sizes[0]:,} to {sizes[-1]:,}"
        long = sum(size > 512 for size in sizes)
        texts.append(text + (f" (above 512 in {long} case{'' if long == 1 else 's'})" if long else ""))
    dtypes = ", ".join(f"{dtype} {count}" for dtype, count in covered.get("dtype", {}).items())
    return "covered: " + "; ".join(part for part in (", ".join(texts), dtypes) if part)


CHECKS = {"isolation": "with other data in other rows", "subset": "among fewer rows",
          "exchange": "at other places among the others"}


def checks_text(checks):
    """"rows ran again: 49 times with other data in other rows, 640 times among fewer rows"."""
    parts = [f"{count} time{'' if count == 1 else 's'} {CHECKS.get(name, name)}" for name, count in checks.items()]
    return f"rows ran again: {', '.join(parts)}"


def partly_text(shares):
    cases = "1 inconclusive case" if len(shares) == 1 else f"{len(shares)} inconclusive cases"
    left = percent(1 - sum(shares) / len(shares))
    return (f"judged in part: in {cases}, {left} of the elements are off by more than 1.6 % of themselves, within the "
            "error that is granted; the others are right")
