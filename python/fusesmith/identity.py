"""Whether a function that was found by its name is the one that was meant.

A child process loads a kernel by its file and name. Functions that are made in a loop, or bound to one name after
another, have one name for several objects, of which the child finds one. The worker compares what both processes can
say of a function alike: where it begins, its code, and the values that it was made with. What may differ from one
import to the next, such as arrays, caches and objects, is left out; `bound_once` tells whether that is enough.
"""

import ast
import dis
import functools
import hashlib
import json
import sys
import types

VARIABLE = "FUSESMITH_FUNCTION"  # of the environment: an identity, which the function has to have
WRAPPED = ("__wrapped__", "_torchdynamo_orig_callable", "fn", "py_func", "__func__", "func")
PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes, types.BuiltinFunctionType, types.ModuleType)


def identity_of(function):
    """A text: the interpreter, what every interpreter says alike, and what this one says of the code."""
    plain, code = inner_function(function)
    own = [plain.__code__.co_firstlineno, plain.__code__.co_name, made_with(function)] if plain else made_with(function)
    return json.dumps([sys.version, digest(own), "" if is_rewritten(code) else digest(code)])


def is_identity_of(text, function):
    (version, own, code), (version_here, own_here, code_here) = json.loads(text), json.loads(identity_of(function))
    return own == own_here and (version != version_here or code == code_here or not (code and code_here))


def is_rewritten(code):
    """Whether pytest wrote other code for its assertions, which another process does not find in the file."""
    return any("@pytest_ar" in part or is_rewritten(part) for part in code or () if isinstance(part, (list, tuple)))


def inner_function(function):
    """The Python function in decorators and compilers, and its code; None twice if there is none."""
    for _ in range(8):
        if isinstance(function, types.FunctionType) and not hasattr(function, "__wrapped__"):
            return function, code_of(function.__code__)
        function = next((getattr(function, name) for name in WRAPPED if callable(getattr(function, name, None))), None)
    return None, None


def code_of(code):
    return [code.co_code.hex(), code.co_names, code.co_varnames,
            [constant_of(constant) for constant in code.co_consts]]


def constant_of(constant):
    if isinstance(constant, types.CodeType):
        return code_of(constant)
    return repr(sorted(constant, key=repr) if isinstance(constant, frozenset) else constant)


def made_with(value, depth=0):
    """The values of defaults and closures, of those that cannot differ between two imports."""
    if isinstance(value, PLAIN):
        return getattr(value, "__name__", None) or repr(value)
    if depth < 8 and isinstance(value, tuple):
        return [made_with(item, depth + 1) for item in value]
    if depth < 8 and isinstance(value, functools.partial):
        keywords = tuple(item for pair in sorted(value.keywords.items()) for item in pair)
        return [made_with(item, depth + 1) for item in (value.func, value.args, keywords)]
    if depth < 8 and isinstance(value, types.FunctionType):
        keywords = tuple(item for pair in sorted((value.__kwdefaults__ or {}).items()) for item in pair)
        return [value.__qualname__, value.__code__.co_firstlineno, made_with(value.__defaults__, depth + 1),
                made_with(keywords, depth + 1), made_with(cells_of(value), depth + 1)]
    return type(value).__qualname__


def cells_of(function):
    """The closure, without variables that a call may change."""
    stored = {step.argval for step in dis.get_instructions(function.__code__) if step.opname == "STORE_DEREF"}
    cells = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            cells.append(None if name in stored else cell.cell_contents)
        except ValueError:  # empty until it is assigned
            cells.append(None)
    return tuple(cells)


def digest(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def bound_once(path, name):
    """Whether a file binds a name at its top level at most once each time that it runs. Names that it binds in no way
    that can be read there, as `exec` does, count as bound once."""
    try:
        with open(path, encoding="utf-8") as file:
            body = ast.parse(file.read()).body
    except (OSError, SyntaxError, ValueError):
        return True
    return most_bindings(body, name) <= 1


def most_bindings(body, name):
    return sum(bindings_of(node, name) for node in body)


def bindings_of(node, name):
    """How often one run of a statement may bind the name; two for a loop."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return int(node.name == name)
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        inside = most_bindings([*node.body, *node.orelse], name) + stored_in(getattr(node, "target", None), name)
        return 2 * inside
    if isinstance(node, ast.If):
        return max(most_bindings(node.body, name), most_bindings(node.orelse, name))
    if isinstance(node, (ast.Try, getattr(ast, "TryStar", ast.Try))):
        tried = [most_bindings(part, name) for part in ([*node.body, *node.orelse], *(h.body for h in node.handlers))]
        return max(tried) + most_bindings(node.finalbody, name)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return most_bindings(node.body, name)
    if isinstance(node, ast.Assign) and reads(node.value, name):
        return 0  # f = jit(f): what it was bound to before is in it
    return stored_in(node, name)


def reads(node, name):
    return any(isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load)
               for part in ast.walk(node))


def stored_in(node, name):
    if node is None:
        return 0
    parts = list(ast.walk(node))
    stored = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    imported = {alias.asname or alias.name for part in parts if isinstance(part, (ast.Import, ast.ImportFrom))
                for alias in part.names}
    return int(name in stored | imported)
