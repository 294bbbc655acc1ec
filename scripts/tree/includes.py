"""The include rule: which headers each folder and each subfolder may include. There are no cycles."""

import os
import re

from tree.sources import CPP, PYTHON, TEST_FILE, blank

# Who may include what of this tree. folder/ means all below it, folder/* only the files directly in it.
CONTRACT_TYPES = ["oracle/contract.h", "oracle/plan.h", "oracle/lowerings.h", "oracle/online_softmax.h",
                  "oracle/arithmetic_keys.h"]
ALLOWED = {
    "graph": ["graph/"],
    "oracle": ["oracle/", "graph/"],
    "minimizer": ["minimizer/", "graph/"],
    "fuzz": ["fuzz/", "minimizer/", "backends/", "oracle/", "graph/"],
    "backends": ["backends/*", "backends/common/", "graph/"] + CONTRACT_TYPES,  # and its own folder
}
SIBLINGS = {"backends/cpu_fused": ["backends/rewrite/"],
            "backends/cuda_fused": ["backends/rewrite/", "backends/cuda/"]}  # single nodes run unfused
ACROSS_BACKENDS = re.compile(r"backends/[^/]+_test\.(cc|h)")
BACKENDS_TESTS = ["oracle/"]  # tests of backends may use the judge

# For each folder that is divided: its subfolders, and for each the other subfolders that it may include. "." stands for
# the files directly in the folder, which may include every subfolder.
PATTERN = [".", "matching"]
SUBFOLDERS = {
    "fuzz": {
        "base": [],
        "generate": ["base"],
        "run": ["base"],
        "render": ["base"],
        "report": ["base", "run", "render"],
        "export": ["base", "run", "render", "report"],
        "order": ["base", "run"],
        "explain": ["base", "run", "report", "order"],
        "library": ["base", "report"],
        "counts": ["base", "generate"],
        "findings": ["base", "run", "report", "export"],
        "workdir": ["base", "run", "report", "counts", "findings"],
        "supervisor": ["base", "generate", "run", "report", "counts", "findings", "workdir"],
        "campaign": ["base", "generate", "run", "report", "counts", "findings", "workdir", "supervisor"],
        "page": ["base", "run", "report", "counts", "findings", "workdir"],
        "merge": ["base", "run", "counts", "findings", "workdir", "campaign"],
        "cli": ["base", "generate", "run", "render", "report", "export", "explain", "order", "counts", "findings",
                "workdir", "supervisor", "campaign", "merge", "page"],
        "targets": ["base", "generate", "run", "counts", "campaign"],
    },
    "oracle": {
        "reference": ["."],
    },
    "backends/rewrite": {
        "matching": ["."],
        "cache_update": PATTERN,
        "permute": PATTERN,
        "sdpa": PATTERN,
        "triangle": PATTERN,
    },
    "backends/cuda": {
        "kernels": [],
        "runtime": ["kernels"],
        "emit": ["kernels", "runtime"],
        "calibrate": ["kernels", "runtime", "emit"],
    },
    "backends/cuda_fused": {
        "device": [],
        "attention": ["device"],
        "gemm": ["device"],
        "rows": ["device"],
        "emit": ["device", "attention", "gemm", "rows"],
    },
}

# Where headers from outside may appear: (header, files).
OUTSIDE = [
    (r"nlohmann/", r"(graph|minimizer|fuzz|backends/remote)/"),
    (r"(fusesmith|dlpack)/", r"(backends/remote|fuzz/library)/"),  # the C ABI of include/
    (r"(spdlog|fmt)/", r"fuzz/"),
    (r"CLI/", r"fuzz/"),
    (r"(unsupported/)?Eigen/", r"(oracle|backends)/"),
    (r"(cuda|cublas|cudnn|curand|cusparse|nvrtc|nvtx|nvToolsExt|cooperative_groups|device_launch|mma\.h)|"
     r"(cub|thrust|cute|cutlass)/", r"backends/cuda"),
    (r"(gtest|gmock)/", r".*_test\.(cc|cu|h)$"),
    (r"benchmark/", r".*_bench\.(cc|cu)$"),
    (r"[^/]+$|(sys|linux|arpa|netinet|sanitizer|experimental)/", r""),  # the standard library and the system
]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)


def includes(text):
    """Yields (header, line) of each #include."""
    code = blank(text, ("comment", "raw"))
    for match in INCLUDE.finditer(code):
        yield match.group(1), code.count("\n", 0, match.start(1)) + 1


def allowed_in_tree(path):
    """What of this tree the file at `path` may include, before the rules on subfolders."""
    folder = path.split("/")[0]
    allowed = list(ALLOWED[folder])
    if folder == "backends":
        own = os.path.dirname(path)
        if own != "backends":
            own = "/".join(own.split("/")[:2])
            allowed += [own + "/"] + SIBLINGS.get(own, [])
        elif ACROSS_BACKENDS.fullmatch(path):
            allowed.append("backends/")
        if re.search(r"_test\.(cc|cu|h)$", path):
            allowed += BACKENDS_TESTS
    return allowed


def covers(rule, header):
    if rule.endswith("/"):
        return header.startswith(rule)
    if rule.endswith("*"):
        return os.path.dirname(header) == rule[:-2]
    return header == rule


def subfolder_of(path, folder):
    """The first subfolder of `folder` on the way to `path`, or "." for a file directly in it."""
    inner = path[len(folder) + 1:]
    return inner.split("/")[0] if "/" in inner else "."


def subfolder_error(path, header):
    """Why the subfolder of `path` may not include `header`; None if it may. Tests may include every subfolder."""
    for folder, subfolders in SUBFOLDERS.items():
        if not (path.startswith(folder + "/") and header.startswith(folder + "/")) or TEST_FILE.search(path):
            continue
        own, other = subfolder_of(path, folder), subfolder_of(header, folder)
        if own not in subfolders and own != ".":
            return f"{folder}/{own}/ is no subfolder of {folder}/: add it to SUBFOLDERS in scripts/tree/includes.py"
        if own in subfolders and other != own and other not in subfolders[own]:
            known = ", ".join(subfolders[own]).replace(".", "its own files") or "no other subfolder"
            return f"may not include {header}: {folder}/{own}/ includes {known}"
    return None


def include_error(path, header, root):
    """Why `path` may not include `header`; None if it may."""
    if header.split("/")[0] in ALLOWED and "/" in header:
        allowed = allowed_in_tree(path)
        if not any(covers(rule, header) for rule in allowed):
            return f"may not include {header} (allowed: {', '.join(allowed)})"
        return subfolder_error(path, header)
    if os.path.exists(os.path.join(root, os.path.dirname(path), header)):
        return f'write {header} with its path from the repository root'
    for headers, files in OUTSIDE:
        if re.match(headers, header):
            return None if re.match(files, path) else f"{header} may not appear here (only in {files})"
    return f"{header} is in no list of scripts/tree/includes.py"


def check_includes(path, text, root):
    if not path.endswith(CPP) or path.startswith(PYTHON):
        return
    for header, line in includes(text):
        error = include_error(path, header, root)
        if error:
            yield f"{path}:{line}: {error}"
