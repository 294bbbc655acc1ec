"""libfusesmith: where it is, and its functions (include/fusesmith/check.h).

The library: FUSESMITH_LIBRARY, else libfusesmith.so in this package, else the one beside the program.
"""

import ctypes
import functools
import json
import os

from .errors import Error
from .program import PACKAGED, binary
from .tensors import DLTensor

ABI_VERSION = 1
NAME = "libfusesmith.so"


class Call(ctypes.Structure):
    _fields_ = [("inputs", ctypes.POINTER(DLTensor)), ("input_count", ctypes.c_size_t),
                ("outputs", ctypes.POINTER(DLTensor)), ("output_count", ctypes.c_size_t)]


def path():
    named = os.environ.get("FUSESMITH_LIBRARY")
    if named:
        return named
    packaged = os.path.join(os.path.dirname(PACKAGED), NAME)
    if os.path.isfile(packaged):
        return packaged
    folder = os.path.dirname(os.path.realpath(binary()))
    found = next((path for path in (os.path.join(folder, NAME), os.path.join(folder, "..", "lib", NAME))
                  if os.path.isfile(path)), None)
    if not found:
        raise Error(f"{NAME} is missing: cmake --build build/release --target fusesmith_library, or pip install . in a "
                    "clone; FUSESMITH_LIBRARY names one that is elsewhere")
    return found


@functools.cache
def loaded(file):
    try:
        library = ctypes.CDLL(file)
        version = library.fusesmith_check_abi_version()
    except (OSError, AttributeError) as error:
        raise Error(f"{file}: expected {NAME}: {error}") from None
    if version != ABI_VERSION:
        raise Error(f"{file} has version {version} of its interface, this package needs {ABI_VERSION}")
    library.fusesmith_check.restype = ctypes.c_void_p
    library.fusesmith_check.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(Call), ctypes.c_size_t]
    library.fusesmith_check_free.argtypes = [ctypes.c_void_p]
    library.fusesmith_check_free.restype = None
    return library


def described(tensors):
    return (DLTensor * len(tensors))(*(tensor.described() for tensor in tensors))


def check(graph, options, calls):
    """The results of `calls`, each a pair of lists of tensors. Other threads of Python run meanwhile."""
    library = loaded(path())
    try:
        options = json.dumps(options).encode()
    except TypeError as error:
        raise Error(f"the contract is no JSON: {error}") from None
    arrays = [(described(inputs), described(outputs)) for inputs, outputs in calls]
    made = (Call * len(calls))(*(Call(inputs, len(inputs), outputs, len(outputs)) for inputs, outputs in arrays))
    text = library.fusesmith_check(graph.encode(), options, made, len(calls))
    if not text:
        raise MemoryError("no memory for the verdicts")
    try:
        answer = json.loads(ctypes.string_at(text))
    finally:
        library.fusesmith_check_free(text)
    if "error" in answer:
        raise Error(answer["error"])
    return answer["results"]
