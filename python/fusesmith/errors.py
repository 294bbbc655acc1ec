"""What this package raises: one line that says what was expected, and what to write instead."""

import difflib


class Error(Exception):
    """A wrong argument, or a program that is missing. Wrong kernels are no errors but results."""


class JudgedAtImport(Exception):
    """Raised by `judge` in the process of the worker, which imports the kernel's file: there it ends the import."""


def did_you_mean(word, words):
    """` (did you mean "axis"?)`, or nothing."""
    close = difflib.get_close_matches(str(word), list(words), 1, 0.6)
    return f' (did you mean "{close[0]}"?)' if close else ""


def quoted(words):
    return ", ".join(f'"{word}"' for word in words)
