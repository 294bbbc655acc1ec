"""Names of C++: each folder has its namespace, and each type of a namespace is defined in one place.

Two definitions of one type break the one-definition rule: the linker keeps the member functions of one of them."""

import re

from tree.sources import CPP, PYTHON, bare_code, scopes, without_template

# Files outside fusesmith::FOLDER: the list of namespaces, and entry points whose names are fixed by others.
NO_NAMESPACE = re.compile(r"graph/namespaces\.h$|.*/main\.cc$|fuzz/targets/\w+_fuzz\.cc$")
FOREIGN = {"std", "spdlog"}  # opened to declare or to specialise what is theirs

TYPE_NAME = re.compile(r"^(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
                       r"(?:(?:alignas\s*\([^)]*\)|__\w+__(?:\s*\([^)]*\))?|\[\[[^\]]*\]\])\s*)*"
                       r"([A-Za-z_]\w*(?:::\w+)*(?:\s*<.*>)?)\s*(?:final\s*)?(?:\s:(?!:).*)?$")
NAMESPACE_NAME = re.compile(r"^(?:inline\s+)?namespace\s*([\w:]*)$")


def qualified(heads):
    """a::b::C of these enclosing heads; None inside an unnamed scope, which no other file sees."""
    names = []
    for head in heads:
        bare = without_template(head)
        match = NAMESPACE_NAME.match(bare) or TYPE_NAME.match(bare)
        if not match or not match.group(1):
            return None
        names.append(re.sub(r"\s+", "", match.group(1)))
    return "::".join(names)


def defined_types(text):
    """Yields (qualified name, line) of the types that `text` defines where other files can see them."""
    for kind, head, line, _, outer in scopes(bare_code(text)):
        name = qualified(outer + [head]) if kind == "type" else None
        if name:
            yield name, line


def check_namespace(path, text):
    if not path.endswith(CPP) or path.startswith(PYTHON) or NO_NAMESPACE.match(path):
        return
    code = bare_code(text)
    if not code.strip():
        return  # nothing but includes and macros
    expected, seen = "fusesmith::" + path.split("/")[0], False
    for kind, head, line, _, outer in scopes(code):
        match = NAMESPACE_NAME.match(head) if kind == "namespace" and not outer else None
        if not match or match.group(1) in FOREIGN:
            continue
        seen = True
        if match.group(1) != expected and not match.group(1).startswith(expected + "::"):
            yield f"{path}:{line}: namespace {match.group(1) or '{'}: names of this folder live in {expected}"
    if not seen:
        yield f"{path}:1: no namespace {expected}"


def check_types(texts):
    """`texts`: path -> text, all files of the tree."""
    places = {}
    for path, text in texts.items():
        if path.endswith(CPP) and not path.startswith(PYTHON):
            for name, line in defined_types(text):
                if name.startswith("fusesmith::"):
                    places.setdefault(name, []).append((path, line))
    for name, found in sorted(places.items()):
        for path, line in found[1:]:
            first = ":".join(map(str, found[0]))
            yield f"{path}:{line}: {name} is defined in {first} too (one-definition rule)"
