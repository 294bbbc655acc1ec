"""The size budget: lines of a file, of a function, and of the median file; characters of a line."""

import ast
import re

from tree.sources import CPP, TEST_FILE, bare_code, scopes

MAX_FILE, MAX_MEDIAN = 500, 120
MAX_FUNCTION, MAX_KERNEL = 60, 100
MAX_COLUMNS = 120

FENCE = re.compile(r"^\s*(```|~~~)")


def check_file(path, text):
    if text.count("\n") > MAX_FILE:
        yield f"{path}: {text.count(chr(10))} lines, at most {MAX_FILE}: split it by meaning"


def check_functions(path, text):
    if path.endswith(CPP):
        found = [scope[1:4] for scope in scopes(bare_code(text)) if scope[0] == "function"]
    elif path.endswith(".py") or text.startswith("#!/usr/bin/env python3"):
        found = [(node.name, node.lineno, node.end_lineno - node.lineno + 1)
                 for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    else:
        found = []
    for head, line, length in found:
        limit = MAX_KERNEL if re.search(r"__(global|device)__", head) else MAX_FUNCTION
        if length > limit:
            yield f"{path}:{line}: function of {length} lines, at most {limit}: {head[-80:]}"


def prose(text):
    """Yields (line, number) of the lines of Markdown that can be wrapped: no table row, no code block, no word that
    is too long by itself (an address)."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith("|") and " " in line[:MAX_COLUMNS].lstrip("#-*> "):
            yield line, number


def check_columns(path, text):
    """Tests are exempt: an expected report stands there as it is printed."""
    if TEST_FILE.search(path):
        return
    lines = prose(text) if path.endswith(".md") else ((line, n) for n, line in enumerate(text.split("\n"), 1))
    for line, number in lines:
        if len(line) > MAX_COLUMNS:
            yield f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
