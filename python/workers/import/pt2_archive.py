"""A file of torch.export.save without what could run code when torch.export.load reads it.

The loader unpickles objects, evaluates sizes as expressions of Python, imports the modules of enumerations, and loads
compiled libraries, all of which a file may hold. `Archive` writes a new one of the parts that an import needs:
the graph, whose sizes, targets and types of inputs are checked, and the tensors, which `weights_only` lets through.
"""

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile

from import_case import ImportFailed

# Of an archive of today, below its first folder; and of PyTorch up to 2.7. What else it has is left out.
KEPT = re.compile(r"archive_format|archive_version|byteorder|\.data/version|models/model\.json"
                  r"|data/weights/\w+(\.json|\.pt)?|data/constants/\w+(\.json|\.pt)?")
KEPT_BEFORE = ("version", "serialized_exported_program.json", "serialized_state_dict.pt", "serialized_constants.pt")
# Of the arguments that the program was exported with, which may be of any class: the loader does not see them.
EMPTIED = ("data/sample_inputs/model.pt", "serialized_example_inputs.pt")
PROGRAMS = ("models/model.json", "serialized_exported_program.json")
CUSTOM_OBJECT = "data/constants/custom_obj"
TARGET = re.compile(r"torch\.(ops(\.\w+)+|(_?sym_|_higher_order_ops)\w*(\.\w+)*)|_operator\.\w+|math\.\w+|#?\w+(:\w+)?")
# Sizes that depend on data: sums and products of symbols.
SIZE = re.compile(r"([su]\d+|\d{1,9})( ?[-+*] ?([su]\d+|\d{1,9}))*")
CONTAINERS = (None, "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict", "collections.deque",
              "collections.namedtuple")
MOST_MEMBERS = 1 << 16
MOST_PACKED = 64  # how many times larger than its bytes in the file a member may be; torch.export.save packs nothing
MOST_JSON = 1 << 28  # bytes
MOST_SAMPLES = 1 << 28  # bytes
LINE = re.compile(r'File "([^"\n]*)", line (\d+)')
OF_OTHERS = re.compile(r"torch\.ops\.(?!(aten|prim|prims|higher_order)\.)\w+\.\w+\.\w+")
NOT_FIXED = "has sizes that are not fixed: export the program without dynamic_shapes"


class Archive:
    """`copy`: an open file of the parts that are loaded. `origins`: the module and the line of the source by node.

    `calls`: nodes whose operators are not PyTorch's own.
    """

    def __init__(self, path):
        self.origins, self.calls, self.samples = {}, [], None
        self.copy = tempfile.TemporaryFile(suffix=".pt2")  # noqa: SIM115 (__exit__ closes it)
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(self.copy, "w", zipfile.ZIP_STORED) as kept:
            members = archive.infolist()
            if len(members) > MOST_MEMBERS:
                raise ImportFailed(f"{len(members)} members, expected at most {MOST_MEMBERS}")
            for member in members:
                self.copy_member(archive, member, kept)
        self.copy.seek(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.copy.close()

    def sample_inputs(self):
        """What the program was exported with, or None where that is more than tensors in containers."""
        import torch

        try:
            return None if self.samples is None else torch.load(io.BytesIO(self.samples), "cpu", weights_only=True)
        except MemoryError:
            raise
        except Exception:  # objects of other classes, or no tensors at all: an import can do without
            return None

    def checked(self, text):
        program = json.loads(text)
        nodes = program["graph_module"]["graph"]["nodes"]
        self.origins.update(origins_of(nodes))
        self.calls += [node for node in nodes if OF_OTHERS.fullmatch(str(node["target"]))]
        return json.dumps(without_origins(program))

    def copy_member(self, archive, member, kept):
        folder, _, inner = member.filename.partition("/")
        name = member.filename if member.filename in (*KEPT_BEFORE, *EMPTIED) else inner
        if name.startswith(CUSTOM_OBJECT):
            raise ImportFailed("it holds a custom object of TorchScript, which is not loaded")
        if name in EMPTIED:
            if member.file_size <= min(MOST_SAMPLES, MOST_PACKED * max(member.compress_size, 1 << 10)):
                self.samples = archive.read(member)
            kept.writestr(member.filename, b"")
            return
        if not folder.isidentifier() and not re.fullmatch(r"[\w.\- ]+", folder):
            return
        if name not in KEPT_BEFORE and not KEPT.fullmatch(name):
            return
        if member.file_size > MOST_PACKED * max(member.compress_size, 1 << 10):
            raise ImportFailed(f'its member "{member.filename}" has {member.file_size} bytes, packed into '
                               f"{member.compress_size}")
        if name.endswith(".json"):
            if member.file_size > MOST_JSON:
                raise ImportFailed(f'its member "{member.filename}" has {member.file_size} bytes, expected at most '
                                   f"{MOST_JSON}")
            text = archive.read(member)
            kept.writestr(member.filename, self.checked(text) if name in PROGRAMS else text)
            return
        target = kept.open(zipfile.ZipInfo(member.filename), "w", force_zip64=True)
        with archive.open(member) as source, target:
            shutil.copyfileobj(source, target, 1 << 20)


def without_origins(program):
    """The program, once it is checked, without what describes where its nodes come from."""
    module = program["graph_module"]
    inputs = module["graph"]["inputs"]
    for given in inputs:
        name = given.get("as_tensor", {}).get("name")
        meta = module["graph"]["tensor_values"].get(name, {})
        if any("as_expr" in size for size in meta.get("sizes", [])):
            raise ImportFailed(f'the input "{name}" {NOT_FIXED}')
    module["metadata"], program["guards_code"] = {}, []
    for call in module.get("module_call_graph", []):
        for key in ("in_spec", "out_spec"):
            if call.get("signature"):
                version, spec = json.loads(call["signature"][key])
                check_containers(spec)
                call["signature"][key] = json.dumps([version, spec])
    check(program)
    return program


def origins_of(nodes):
    """(path of the module, file and line) by the names of nodes and of their results: texts alone."""
    found = {}
    for node in nodes:
        metadata = node.get("metadata") or {}
        stack = str(metadata.get("nn_module_stack", "")).rpartition(";")[2].split(",")
        lines = LINE.findall(str(metadata.get("stack_trace", "")))
        line = f"{os.path.basename(lines[-1][0])}:{lines[-1][1]}" if lines else ""
        origin = (stack[1] if len(stack) > 1 else "", line)
        names = [node.get("name"), *(output.get("as_tensor", {}).get("name") for output in node.get("outputs", []))]
        found.update({name: origin for name in names if isinstance(name, str)})
    return found


def check(part):
    """Every value of the JSON: no expression and no target that is more than a name of an operator."""
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        if not isinstance(part, dict):
            continue
        if "target" in part and "inputs" in part:
            part["metadata"] = {}
            if not TARGET.fullmatch(str(part["target"])):
                raise ImportFailed(f'"{part["target"]}" is the name of no operator')
        if "expr_str" in part and not SIZE.fullmatch(str(part["expr_str"])):
            raise ImportFailed(f'the size "{part["expr_str"]}" is not fixed, and no sum of sizes')
        waiting += part.values()


def check_containers(spec):
    """What the inputs and the outputs are in: a dict may have keys that import modules.

    A class of another library becomes a list. An import reads what is in it, in the same order.
    """
    if spec["type"] not in CONTAINERS:
        spec["type"], spec["context"] = "builtins.list", "null"
    keys = [json.loads(spec["context"])] if isinstance(spec["context"], str) and spec["type"] != CONTAINERS[-1] else []
    while keys:
        key = keys.pop()
        if isinstance(key, dict):
            raise ImportFailed("its inputs or outputs have keys that are no strings or numbers")
        keys += key if isinstance(key, list) else []
    for child in spec["children_spec"]:
        check_containers(child)


STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "pty.spawn")
watched = []


def refuse_to_start(event, _arguments):
    if watched and event in STARTS:
        raise ImportFailed(f"it would start a program ({event})")


@contextlib.contextmanager
def safe_loading():
    """Of what is loaded within, torch unpickles tensors alone, and no program is started."""
    os.environ.pop("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", None)
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    sys.addaudithook(refuse_to_start)
    watched.append(True)
    try:
        yield
    finally:
        watched.clear()
