"""Checks the arguments of `judge` before the first case: what is wrong with one is an Error of one line."""

import os

from .errors import Error
from .ops import is_integer

POLICIES = (None, "lawful", "strict")


def is_positive(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def is_texts(value):
    return isinstance(value, str) or (isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value))


def is_folder(path):
    """One that exists, or that can be made."""
    path = os.path.abspath(path)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK)


# Argument -> (what it is, the test of a value).
KINDS = {
    "policy": ('"lawful" or "strict"', lambda value: value in POLICIES),
    "runs": ("an integer between 1 and 9999", lambda value: is_integer(value) and 1 <= value <= 9999),
    "sample": ('"auto", "off" or a number of indices',
               lambda value: value in ("auto", "off") or (is_integer(value) and value >= 1)),
    "repeat": ("a number of calls, 0 or more", lambda value: is_integer(value) and value >= 0),
    "seed": ("an integer", is_integer),
    "dtypes": ("a dtype or a list of dtypes", is_texts),
    "fills": ("a kind of data or a list of kinds", lambda value: value is None or (is_texts(value) and len(value))),
    "inputs": ("a number of inputs", lambda value: value is None or is_integer(value)),
    "batch_invariant": ("True or False", lambda value: isinstance(value, bool)),
    "position_invariant": ("True or False", lambda value: isinstance(value, bool)),
    "rank": ("a number of axes", lambda value: value is None or is_integer(value)),
    "run_timeout": ("a number of seconds", is_positive),
    "time_limit": ("a number of seconds", is_positive),
    "baseline": ("the name of a backend", lambda value: isinstance(value, str)),
    "keep": ("a folder", lambda value: value is None or (isinstance(value, (str, os.PathLike)) and is_folder(value))),
}


def check_arguments(**given):
    for name, value in given.items():
        what, fits = KINDS[name]
        if not fits(value):
            raise Error(f"{name} is {what}, got {value!r}")
