"""The files of the tree, and C++ text made easy to search: comments and strings blanked, braces paired."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ["graph", "oracle", "backends", "minimizer", "fuzz", "python", "scripts"]
PYTHON = ("python/", "scripts/")  # where Python is, and C++ that is no part of the program
CPP = (".h", ".cc", ".cu", ".cuh")
SOURCES = CPP + (".py",)
TEXTS = (".md", ".cmake", "CMakeLists.txt")  # held to the line length alone
SKIPPED = ("build", "golden", "sample", "__pycache__")  # golden files and samples are printed by the program

# A test may include more than what it tests. Headers that only tests include are test files too.
TEST_FILE = re.compile(r"(_test\.(cc|cu|h)|/test_\w+\.h|_test_support\.h)$")

TOKEN = re.compile(
    r"(?P<number>\b\d[\w.']*)|(?P<comment>//[^\n]*|/\*.*?\*/)|"
    r"(?P<raw>R\"(?P<mark>[^()\\ ]{0,16})\(.*?\)(?P=mark)\")|"
    r"(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.S)
TYPE = re.compile(r"^(?:(?:static|const|constexpr|inline|typedef|export)\s+)*(?:class|struct|union|enum)\b")
NAMESPACE = re.compile(r"\bnamespace\b|^extern\s*$")


def files_below(root, folder):
    """Paths from `root` of the files in `folder` and below, sorted."""
    found = []
    for path, folders, names in os.walk(os.path.join(root, folder)):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and (not f.startswith(".") or f == ".github"))
        found += [os.path.normpath(os.path.relpath(os.path.join(path, n), root)) for n in sorted(names)]
    return found


def source_files(root):
    """C++, CUDA and Python files, and the scripts without an ending."""
    return [path for folder in FOLDERS for path in files_below(root, folder)
            if path.endswith(SOURCES) or (folder + "/" in PYTHON and "." not in os.path.basename(path))]


def text_files(root):
    return [path for path in files_below(root, ".") if path.endswith(TEXTS)]


def blank(text, kinds):
    """`text` with tokens of these kinds replaced by spaces, lines kept."""
    def replace(match):
        return re.sub(r"[^\n]", " ", match.group()) if match.lastgroup in kinds else match.group()
    return TOKEN.sub(replace, text)


def without_preprocessor(code):
    """Blanks directives and all but the first branch of each conditional, so that braces balance."""
    lines, open_ifs, continued = [], [], False
    for line in code.split("\n"):
        directive = re.match(r"\s*#\s*(\w+)", line)
        word = directive.group(1) if directive and not continued else ""
        if word in ("if", "ifdef", "ifndef"):
            open_ifs.append(False)
        elif word.startswith("el") and open_ifs:
            open_ifs[-1] = True
        elif word == "endif" and open_ifs:
            open_ifs.pop()
        hidden = bool(word) or continued or any(open_ifs)
        continued = (bool(word) or continued) and line.endswith("\\")
        lines.append("" if hidden else line)
    return "\n".join(lines)


def bare_code(text):
    """C++ `text` without comments, literals and preprocessor lines; line numbers stay."""
    return without_preprocessor(blank(text, ("comment", "raw", "text")))


def without_template(head):
    """`head` without leading template<...>."""
    while head.startswith("template"):
        depth, end = 0, len(head)
        for at, char in enumerate(head):
            depth += {"<": 1, ">": -1}.get(char, 0)
            if depth == 0 and char == ">":
                end = at + 1
                break
        head = head[end:].lstrip()
    return head


def scope_kind(head, in_parentheses):
    """What a brace after `head` opens: 'namespace', 'type', 'function' or 'other'."""
    bare = without_template(head.strip())
    if NAMESPACE.search(bare):
        return "namespace"
    if TYPE.match(bare):
        return "type"
    if in_parentheses or (bare and "(" not in bare) or bare[-1:] in ("=", ","):
        return "other"
    return "function"  # also after nothing: the body behind member initializers


def scopes(code):
    """Yields (kind, head, first line, lines, enclosing heads) of every namespace, type and function of bare code,
    outside functions, each when it closes."""
    stack, start, parentheses = [], 0, 0
    for match in re.finditer(r"[{};()]", code):
        char, at = match.group(), match.start()
        if char in "()":
            parentheses += 1 if char == "(" else -1
            continue
        if char == "{":
            inside = any(kind not in ("namespace", "type") for kind, *_ in stack)
            kind = "other" if inside else scope_kind(code[start:at], parentheses > 0)
            begin = start + len(code[start:at]) - len(code[start:at].lstrip())
            stack.append((kind, begin, " ".join(code[begin:at].split())))
        elif char == "}" and stack:
            kind, begin, head = stack.pop()
            if kind != "other":
                lines = code.count("\n", begin, at) + 1
                yield kind, head, code.count("\n", 0, begin) + 1, lines, [outer for _, _, outer in stack]
        if parentheses == 0 and all(kind in ("namespace", "type") for kind, *_ in stack):
            start = at + 1
