"""What would have to be declared so that none of the failed cases fails. The program says it of each case alone."""

import re

DECLARE = re.compile(r"\(declare ([^()]+)\)")
NUMBER = re.compile(r'(\w+ = \{"\w+": )([\d.e+]+)\}$')  # arithmetic = {"exp": 5}


def power_of_two_from(number):
    power = 1
    while power < number:
        power *= 2
    return power


def declarations_of(entry):
    return {one["declaration"] for region in entry["regions"] for one in region.get("arithmetic") or ()}


def declared_for_all(sentence, findings):
    """The sentence of the case that is shown, with what suffices for all cases: numbers are the largest that a case
    needs, rounded up to a power of two."""
    said = DECLARE.search(sentence)
    if not said:
        return sentence
    wanted, others = said[1], [declarations_of(entry) for entry in findings]
    numbered = [[NUMBER.match(one) for one in declared] for declared in others]
    keys = {one and one[1] for ones in numbered for one in ones}
    here = NUMBER.match(wanted)
    if all(numbered) and len(keys) == 1 and None not in keys:
        needed = [float(one[2]) for one in (here, *sum(numbered, [])) if one and one[1] in keys]
        text = f"(for all failed cases, declare {keys.pop()}{power_of_two_from(max(needed))}}})"
    elif left := sum(not suffices(wanted, declared) for declared in others):
        text = f"(for this case, declare {wanted}, which is not enough for {left} of the {len(findings)} failed cases)"
    else:
        return sentence
    return sentence[:said.start()] + text + sentence[said.end():]


def suffices(wanted, declared):
    """Whether it is all that a case needs, or as much of it, or more."""
    here, there = NUMBER.match(wanted), [NUMBER.match(one) for one in declared]
    return declared == {wanted} or bool(here and there and all(
        one and one[1] == here[1] and float(one[2]) <= float(here[2]) for one in there))
