#!/usr/bin/env python3
"""Reads a model for `fusesmith import`: import_model.py FILE [--dim=NAME=VALUE...] [--split=N] [--data=FILE.npz|drawn]
[--rss_limit_mb=N]

FILE is an ONNX model, or a program that torch.export saved (.pt2). The reply is one frame (protocol.py). Its header has
`error` (and `out_of_memory`), or `cases` (names and lengths of the texts in the payload), `data` (names and lengths of
the data files that follow them there), `unmapped` and `approximated`.
"""

import argparse
import os
import sys
import warnings

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "protocol"))

import import_limits
import package

MOST_TRIES = 100

try:
    from protocol import one_line, redirect_standard_output, write_frame
except ImportError as missing:
    sys.exit(package.without(missing))


def sizes_of(texts):
    from import_case import ImportFailed

    sizes = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not value.isdecimal() or not 1 <= int(value) <= 1 << 27:
            raise ImportFailed(f"--dim={text}: expected NAME=VALUE with a size of 1 or more")
        sizes[name] = int(value)
    return sizes


def import_onnx(path, sizes, inputs=None, files=None):
    """A function that walks through the model. `inputs`: a file with data of its inputs."""
    from import_case import read_inputs
    from onnx_reader import input_types, read_model

    model = read_model(path, sizes)
    data = read_inputs(inputs, input_types(model)) if inputs else None
    return lambda refused: walk(model, data, refused, files)


def walk(model, data=None, refused=None, files=None):
    """The Importer after its walk through the model, and the outputs of the model."""
    import onnx_import_moves  # noqa: F401 (adds its lowerings to the table)
    import onnx_import_sums  # noqa: F401
    from import_graph import Importer, Node
    from onnx import helper
    from onnx_import import IMPORTS
    from onnx_patterns import recognise
    from onnx_reader import OUR_DOMAIN
    from onnx_values import Values

    recognise(model)
    values = Values(model)
    importer = Importer(values, data, refused, files)
    for proto in model.graph.node:
        if values.visit(proto):
            importer.counts["nodes"] += 1
            importer.counts["folded"] += 1
            continue
        attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        node = Node(proto, {name: a.decode("utf-8", "replace") if isinstance(a, bytes) else a
                            for name, a in attributes.items()})
        importer.visit(node, IMPORTS.get(OUR_DOMAIN if proto.domain == OUR_DOMAIN else node.op))
    return importer, [value.name for value in model.graph.output]


def cases_of(importer, outputs, name, split):
    """(name, text) of each case."""
    from import_case import MOST_NODES, ImportFailed

    count = sum(map(len, importer.parts))
    if count == 0:
        why = ", ".join(f"{entry['op']} ({entry['why']})" for entry in importer.unmapped_table()[:3])
        raise ImportFailed(f"nothing of the model has a counterpart: {why or 'all of it is constant'}")
    if not split and count > MOST_NODES:
        raise ImportFailed(f"{count} nodes, more than the {MOST_NODES} of a case: --split=N makes several")
    read = {value for part in importer.parts for node in part for value in node["inputs"]}
    sections = importer.sections(split or count)
    for number, nodes in enumerate(sections):
        graph = importer.graph(nodes, outputs if len(sections) == 1 else [*outputs, *crossing(importer, read)])
        yield name if not split else f"{name}-{number}", graph.to_json(seed=1, comment=f"imported from {name}")


def accepted_cases(walk_through, name, split):
    """The importer and its cases. A node that the program does not accept is an input of the next try."""
    from import_check import refusal

    refused = {}
    for _ in range(MOST_TRIES):
        importer, outputs = walk_through(refused)
        cases = list(cases_of(importer, outputs, name, split))
        found = [refusal(importer, text) for _, text in cases]
        new = {source: why for source, why in filter(None, found) if source not in refused}
        if not new:
            break
        refused.update(new)
    return importer, cases


def crossing(importer, read):
    return [name for name, value in importer.names.items() if value in read]


def answer(flags):
    try:
        from import_case import DataFiles, ImportFailed
    except ImportError as error:
        return {"error": one_line(package.without(error))}, b""
    drawn = flags.data == "drawn"
    files, inputs = None if drawn else DataFiles(), "" if drawn else flags.data
    if flags.binary:
        os.environ["FUSESMITH_BINARY"] = flags.binary
    try:
        sizes = sizes_of(flags.dim)
        if flags.file.endswith(".pt2"):
            from import_torch import import_torch as import_file
        else:
            import_file = import_onnx
            import onnx_values  # noqa: F401 (libraries are loaded before the limit is set)
        import_limits.set_limit(flags.rss_limit_mb)
        import_limits.allow_for([flags.file, *filter(None, [inputs])])
        walk_through = import_file(flags.file, sizes, inputs, files)
        stem = os.path.splitext(os.path.basename(flags.file))[0]
        importer, cases = accepted_cases(walk_through, stem, flags.split)
    except ImportFailed as error:
        return {"error": one_line(str(error))}, b""
    except MemoryError:
        return {"error": import_limits.problem(), "out_of_memory": True}, b""
    except ImportError as error:
        return {"error": one_line(package.without(error))}, b""
    texts = [text.encode("utf-8") for _, text in cases]
    arrays = files.arrays if files else {}
    header = {"cases": [{"name": name, "bytes": len(text)} for (name, _), text in zip(cases, texts, strict=True)],
              "data": [{"sha256": name, "bytes": array.nbytes} for name, array in arrays.items()],
              "unmapped": importer.unmapped_table(), "approximated": importer.approximated, "summary": importer.counts}
    return header, [*texts, *(array.reshape(-1).view("u1") for array in arrays.values())]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--data", default="")
    parser.add_argument("--rss_limit_mb", type=int, default=0)
    parser.add_argument("--binary", help="the program, which says what its ops are")
    replies = redirect_standard_output()
    warnings.simplefilter("ignore")
    write_frame(replies, *answer(parser.parse_args()))


if __name__ == "__main__":
    main()
