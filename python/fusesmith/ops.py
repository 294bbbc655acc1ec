"""Checks uses of ops against `fusesmith list ops --json`: names, numbers of inputs, attributes and their types."""

from .errors import Error, did_you_mean, quoted
from .program import binary, ops
from .vocabulary import FLOATS, QUANTIZED

ROUNDED = FLOATS + QUANTIZED  # to which cast converts


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_size(value):
    """An integer, or a name of one: sizes of a graph may be symbols."""
    return is_integer(value) or isinstance(value, str)


def is_number(value):
    return is_integer(value) or isinstance(value, float) or value in ("inf", "-inf")


# Type of an attribute -> (what it is, the test of a value).
KINDS = {
    "axis": ("an integer", is_integer),
    "integer": ("an integer", is_size),
    "number": ("a number", is_number),
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "string": ("a string", lambda value: isinstance(value, str)),
    "dims": ("a list of integers", lambda value: isinstance(value, (list, tuple)) and all(map(is_size, value))),
    "dtype": (f"one of {quoted(ROUNDED)}", lambda value: value in ROUNDED),
}


def description(op):
    """What the program says of this op."""
    known = ops()
    if op not in known:
        raise Error(f'unknown op "{op}"{did_you_mean(op, known)}; `fusesmith list ops` has all of them')
    return known[op]


def check_attribute(op, attribute, value):
    name, kind = attribute["name"], attribute["type"]
    if kind == "choice":
        what, fits = f"one of {quoted(attribute['choices'])}", lambda v: v in attribute["choices"]
    else:
        what, fits = KINDS[kind]
    if not fits(value):
        close = did_you_mean(value, attribute["choices"]) if kind == "choice" else ""
        raise Error(f"{op}: {name} is {what}, got {value!r}{close}")
    low, high = attribute.get("range", (None, None))
    if low is not None and isinstance(value, (int, float)) and not low <= value <= high:
        raise Error(f"{op}: {name} lies between {low:g} and {high:g}, got {value!r}")


def check_attributes(op, attributes, known_too=()):
    """`known_too`: further names that a misspelt one may mean."""
    details = {attribute["name"]: attribute for attribute in description(op)["attribute_details"]}
    for name, value in attributes.items():
        if name not in details:
            has = f"{op} has {quoted(details)}" if details else f"{op} has no attributes"
            raise Error(f'{op}: unknown attribute "{name}"{did_you_mean(name, [*details, *known_too])}; {has}')
        check_attribute(op, details[name], value)
    for name, attribute in details.items():
        if attribute["required"] and name not in attributes:
            raise Error(f'{op}: the attribute "{name}" is required')


def check_count(op, count):
    low, high = description(op)["arity"]
    if not low <= count <= high:
        expected = f"{low}" if low == high else f"{low} to {high}"
        raise Error(f"{op} has {expected} input{'' if high == 1 else 's'}, got {count}")


def output_count(op, attributes):
    """Nodes with several outputs name them NODE.0, NODE.1, ..."""
    outputs = description(op).get("outputs")  # a number, or the attribute that says it
    if outputs is None:
        raise Error(f"{binary()} is older than this package: build it again, or set FUSESMITH_BINARY to a newer one")
    return attributes.get(outputs, 1) if isinstance(outputs, str) else outputs
