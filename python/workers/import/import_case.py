"""What an import makes: cases of graphs, with the data of constants, and the table of what has no counterpart."""

import hashlib
import zipfile
import zlib

import numpy as np
import package  # noqa: F401 (finds fusesmith)
from fusesmith.graph import Graph, Type, default_fill
from fusesmith.ops import output_count

MOST_DIGITS = 3 << 23  # of all literals of a case, whose file may have 32 MiB
MOST_NODES = 4096
LARGEST, MOST_TOKENS = 1e6, 1 << 24  # of the fills normal and tokens
SMALL = 1 << 12  # elements of a constant that stays a literal even where all are equal


class ImportFailed(Exception):
    """Why nothing can be imported: one line."""


def type_text(dtype, shape):
    return f"{dtype}[{','.join(map(str, shape))}]"


def bits_of(array):
    """The digits of a literal: 8, 4 or 2 for an element, the most significant first."""
    width = array.dtype.itemsize
    return array.reshape(-1).view(f"u{width}").astype(f">u{width}").tobytes().hex()


def as_dtype(array, dtype):
    """The array in the storage of a dtype of cases: bf16 as ml_dtypes has it."""
    if dtype == "bf16":
        import ml_dtypes

        storage = ml_dtypes.bfloat16
    else:
        storage = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "bool": np.bool_}[dtype]
    with np.errstate(over="ignore"):
        return np.asarray(array).astype(storage)


def dtype_of(array):
    """The dtype of cases that an array is stored as."""
    return {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "bool": "bool"}[array.dtype.name]


def literal(array):
    return {"literal": {"bits": bits_of(np.ascontiguousarray(array))}}


def same_everywhere(array, dtype):
    """The fill `constant` of an array whose elements are all equal, or None."""
    first = array.reshape(-1)[0]
    if not np.all(array == first) or (dtype != "bool" and first == 0 and np.signbit(np.float64(array)).any()):
        return None
    value = float(first)
    text = {np.inf: "inf", -np.inf: "-inf"}.get(value, value)
    return {"constant": {"value": int(value) if dtype in ("i32", "bool") else text}}


def random_like(array, dtype):
    """A fill of random data that looks like an array."""
    if dtype == "bool":
        return {"bernoulli": {"p": float(np.mean(array))}}
    if dtype == "i32":
        return {"tokens": {"count": min(max(1, int(array.max()) + 1), MOST_TOKENS)}}
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    mean, deviation = (float(np.float32(v)) for v in (finite.mean(), finite.std())) if finite.size else (0, 1)
    return {"normal": {"mean": max(-LARGEST, min(mean, LARGEST)), "stddev": min(deviation, LARGEST)}}


class DataFiles:
    """Data that the case files have no room for, by the SHA-256 of its bytes; files beside a case have these names."""

    def __init__(self):
        self.arrays = {}

    def fill(self, array):
        array = np.ascontiguousarray(array)
        name = hashlib.sha256(array.reshape(-1).view(np.uint8)).hexdigest()
        self.arrays.setdefault(name, array)
        return {"file": {"sha256": name}}


def read_inputs(path, types):
    """Arrays of a file of numpy.savez. `types`: of the model's inputs, (dtype of numpy, shape) by name."""
    try:
        with zipfile.ZipFile(path):  # numpy.load reads other formats, too
            pass
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        why = getattr(error, "strerror", None) or "expected a file of numpy.savez, without objects"
        raise ImportFailed(f"{path}: {why}") from None
    for name, array in arrays.items():
        if name not in types:
            raise ImportFailed(f'{path}: the model has no input "{name}"; it has {", ".join(sorted(types))}')
        dtype, shape = types[name]
        if (tuple(array.shape), str(array.dtype)) != (tuple(shape), str(dtype)):
            raise ImportFailed(f'{path}: "{name}" is {array.dtype}{list(array.shape)}, and the input of the model '
                               f"{dtype}{list(shape)}")
    return arrays


def fills_of(arrays, files=None, whole=()):
    """(fills, names of those that have only the look of the array) of the inputs of one case.

    `files`: takes what the case has no room for; None: that becomes random data. `whole`: keep every bit.
    Small ones come first: masks, tables of positions and scales decide more than the elements of a large weight.
    """
    fills, approximated, left = {}, [], MOST_DIGITS
    for name, array in sorted(arrays.items(), key=lambda item: item[1].size):
        dtype = dtype_of(array)
        digits = 2 * array.size * array.dtype.itemsize
        fill = same_everywhere(array, dtype) if array.size > SMALL and name not in whole else None
        if fill is None and (digits <= left or (name in whole and files is None)):
            fill, left = literal(array), left - digits
        if fill is None and files is not None:
            fill = files.fill(array)
        if fill is None:
            fill = random_like(array, dtype)
            approximated.append(name)
        fills[name] = fill
    return fills, approximated


def cut(parts, most):
    """Lists of about `most` nodes. The nodes of one operator of the model, a part, stay together."""
    sections, current = [], []
    for part in parts:
        if current and len(current) + len(part) > most:
            sections.append(current)
            current = []
        current = current + part
    return [*sections, current] if current else sections


def made_by(node):
    """The values of a node of a case."""
    count = output_count(node["op"], node)
    return [node["name"]] if count == 1 else [f"{node['name']}.{i}" for i in range(count)]


def case_graph(nodes, types, fills, wanted):
    """A Graph of these nodes. `types`: of every value that another section may make; `wanted`: graph outputs, in order.
    """
    made = {value for node in nodes for value in made_by(node)}
    read = dict.fromkeys(value for node in nodes for value in node["inputs"])
    graph = Graph()
    for value in read:
        if value not in made:
            text = types[value]
            graph.input(value, text, fills.get(value) or default_fill(Type(text).dtype))
    for node in nodes:
        graph.node(node["name"], node["op"], node["inputs"],
                   **{key: item for key, item in node.items() if key not in ("name", "op", "inputs")})
    unread = [value for node in nodes for value in made_by(node) if value not in read]
    graph.outputs += dict.fromkeys([value for value in wanted if value in made] + unread)
    return graph
