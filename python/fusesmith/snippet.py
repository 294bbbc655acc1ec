"""Lines of Python that show what is wrong with a kernel: those of the program call it once and print the result."""

import re
import subprocess

from .program import environment, interpreter

PRINTED = re.compile(r"^print\(([\w.]+)\((.*)\)\)$", re.MULTILINE)
RUN_SECONDS = 30
USED_AGAIN, OTHER_BITS = "returns memory that it uses again", "on the same inputs gave other bits"
NEIGHBOURS = "depends on elements that it is not computed from"


def as_called(snippet, parameters):
    """The lines with a call that gives a function of fewer parameters the inputs that these name, as workers do."""
    call = PRINTED.search(snippet)
    given = call[2].split(", ") if call else []
    if not parameters or len(parameters) >= len(given) or not set(parameters) <= set(given):
        return snippet
    return f"{snippet[:call.start()]}print({call[1]}({', '.join(parameters)})){snippet[call.end():]}"


def shown_snippet(snippet, result, flaky, folders):
    """The lines, such that their output shows the failure; empty where one call, or two, cannot."""
    call = PRINTED.search(snippet)
    if not call or flaky or OTHER_BITS in result.sentence:
        return ""
    function, arguments = call.groups()
    if "overwrites its input" in result.sentence:
        return overwriting(snippet, call, result)
    if USED_AGAIN in result.sentence:
        others = ", ".join(other_data(snippet, name) for name in arguments.split(", "))
        lines = [f"first = {function}({arguments})", "print(first)", f"{function}({others})",
                 "print(first)  # the second call changes it"]
        made = snippet[:call.start()] + "\n".join(lines)
        return made if prints_two_values(made, folders) else ""
    if NEIGHBOURS in result.sentence:
        return (f"{snippet}\n# element {result.element} of {result.value} is {result.other!r} in the first result, and "
                f"{result.got!r} in the second one")
    return "" if result.value is not None and result.allowed is None else snippet


def overwriting(snippet, call, result):
    name = result.value or ""
    if not re.search(rf"^{re.escape(name)} = ", snippet, re.MULTILINE):
        return ""
    lines = [f"print({name})", f"{call[1]}({call[2]})",
             f"print({name})  # {name}[{result.element}] was {result.other!r}, and is {result.got!r}"]
    return snippet[:call.start()] + "\n".join(lines)


def other_data(snippet, name):
    """An expression for data of the type of an input that are not those of the input."""
    line = re.search(rf"^{re.escape(name)} = .*$", snippet, re.MULTILINE)
    return f"1 - {name}" if line and not re.search(r"int32|bool", line[0]) else name


def prints_two_values(lines, folders):
    try:
        ran = subprocess.run([interpreter(), "-c", lines], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                             timeout=RUN_SECONDS, env={**environment(folders), "FUSESMITH_JUDGING": "1"})
    except subprocess.TimeoutExpired:
        return False
    half = len(ran.stdout) // 2
    return ran.returncode == 0 and ran.stdout[:half] != ran.stdout[half:]
