"""Finds a function in its file: the worker process imports it from there, by the name that it has at top level."""

import ast
import inspect
import os
import sys
from dataclasses import dataclass

from .errors import Error, did_you_mean
from .identity import bound_once, identity_of
from .program import user_folders

IN_A_FILE = "write it as a function at the top level of a .py file"


@dataclass(frozen=True)
class Kernel:
    """FILE.py and the name in it. `required` and `most` are the numbers of positional arguments it takes (most: None
    if any number); both None if that is not known. `identity`: of the object, where it was given and not its name.
    `parameters`: the names of those arguments, where there are no others."""

    path: str
    name: str
    required: int | None = None
    most: int | None = None
    parameters: tuple = ()
    identity: str | None = None

    @property
    def candidate(self):
        return f"python:{self.path}:{self.name}"

    @property
    def folders(self):
        """Where the worker finds what the file imports, beside the file itself."""
        return tuple(folder for folder in user_folders() if folder != os.path.dirname(self.path))

    @property
    def text(self):
        return f"{os.path.relpath(self.path)}:{self.name}"

    def rewritten(self, snippet):
        """The lines of a report as a reader has them."""
        return snippet


class Plugin(Kernel):
    """A shared library with the C functions of fusesmith/plugin.h."""

    folders = ()

    @property
    def candidate(self):
        return f"plugin:{self.path}"

    @property
    def text(self):
        return f"plugin:{os.path.relpath(self.path)}"


def find_kernel(function):
    """A Kernel from a function, or from a text FILE.py:FUNCTION or plugin:PATH.so."""
    if isinstance(function, Kernel):
        return function
    if isinstance(function, str) and function.startswith("plugin:"):
        return plugin_of_path(function.removeprefix("plugin:"))
    if isinstance(function, str):
        return kernel_of_text(function)
    if isinstance(function, os.PathLike):
        raise Error(f'expected "FILE.py:FUNCTION", got the path {os.fspath(function)}')
    if not callable(function):
        raise Error(f'the kernel is a function or a text like "my_kernel.py:softmax", got {type(function).__name__}')
    name, module = bound_name(function)
    path = getattr(module, "__file__", None)
    if not path or not os.path.isfile(path) or not path.endswith(".py"):
        raise Error(f"{name} has no Python file that a child process could load it from: {IN_A_FILE}")
    if not bound_once(path, name.partition(".")[0]):
        raise Error(f"{path} binds {name} more than once or in a loop, so a child process cannot tell which one is "
                    "meant: bind each kernel to a name of its own at top level")
    return Kernel(os.path.abspath(path), name, *arguments_of(function), identity_of(function))


def plugin_of_path(path):
    if not os.path.isfile(path):
        raise Error(f"{path}: no such file" if path else "expected plugin:PATH.so")
    return Plugin(os.path.abspath(path), os.path.splitext(os.path.basename(path))[0])


def bound_name(function):
    """The dotted name under which a module holds this very object, and that module."""
    qualified = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if "<lambda>" in qualified:
        for name, value in vars(module).items() if module else ():
            if value is function:
                return name, module
        raise Error(f"a lambda without a name cannot be loaded by a child process: {IN_A_FILE}")
    if "<locals>" in qualified:
        raise Error(f"{qualified} is defined inside a function, so a child process cannot load it: {IN_A_FILE}")
    if module is None:
        raise Error(f"{qualified} belongs to no module: {IN_A_FILE}")
    found = module
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if found is function and not is_installed(module):
        return qualified, module
    for holder in (module, *reversed(list(sys.modules.values()))):  # a module or a compiled function with a name
        if getattr(holder, "__file__", None) and not is_installed(holder):
            for name, value in list(vars(holder).items()):
                if value is function:
                    return name, holder
    if found is function:
        raise Error(f"{qualified} has no Python file of yours, which a child process could load: {IN_A_FILE}")
    raise Error(f'"{qualified}" in {module.__name__} is another object: bind the kernel to a name of its own at top '
                "level")


def is_installed(module):
    """Files of installed packages, and of Python itself, cannot be loaded twice or alone."""
    path = getattr(module, "__file__", None) or ""
    return bool({"site-packages", "dist-packages"} & set(path.split(os.sep))) or path == os.__file__


def arguments_of(function):
    """`required`, `most` and `parameters` of a Kernel."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None, None, ()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is p.empty for p in positional)
    if any(p.kind == p.VAR_POSITIONAL for p in parameters):
        return required, None, ()
    return required, len(positional), tuple(p.name for p in positional)


def kernel_of_text(text):
    path, _, name = text.rpartition(":")
    if not path or not name:
        raise Error(f'expected "FILE.py:FUNCTION", got "{text}"')
    if not os.path.isfile(path):
        raise Error(f"{path}: no such file")
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (SyntaxError, ValueError) as error:
        raise Error(f"{path}: {error}") from None
    defined = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    assigned = {target.id for n in tree.body if isinstance(n, ast.Assign) for target in n.targets
                if isinstance(target, ast.Name)}
    if name not in defined and name not in assigned and "." not in name:
        raise Error(f'{path} defines no "{name}"{did_you_mean(name, [*defined, *assigned])}')
    found = defined.get(name)
    if not isinstance(found, ast.FunctionDef) or found.decorator_list:
        return Kernel(os.path.abspath(path), name)
    positional = len(found.args.posonlyargs) + len(found.args.args)
    required = positional - len(found.args.defaults)
    if found.args.vararg:
        return Kernel(os.path.abspath(path), name, required)
    names = tuple(argument.arg for argument in (*found.args.posonlyargs, *found.args.args))
    return Kernel(os.path.abspath(path), name, required, positional, names)


def counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


def input_count(kernel, op, low, high, wanted=None):
    """How many inputs of the op the kernel gets; None: all of them."""
    if wanted is not None:
        return wanted
    if kernel.required is None:
        return None
    if kernel.most is None:
        return max(low, kernel.required) if kernel.required > low else None
    count = max(kernel.required, low)
    if not (count <= high and count <= kernel.most):
        expected = f"{low}" if low == high else f"{low} to {high}"
        raise Error(f"{op} has {expected} input{'' if high == 1 else 's'}, but {kernel.name} takes "
                    + counted(kernel.required if kernel.required > high else kernel.most, "argument"))
    return count
