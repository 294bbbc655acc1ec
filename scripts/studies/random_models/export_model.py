#!/usr/bin/env python3
"""Exports one random model as it is and decomposed: export_model.py NAME FOLDER, or --list for the names.

Writes FOLDER/NAME-plain.pt2 and FOLDER/NAME-decomposed.pt2. On an error, the last line of standard error says which.
"""

import os
import sys

import torch


def all_models():
    import language
    import layers
    import vision

    return {**layers.MODELS, **language.MODELS, **vision.MODELS}


def save(program, path):
    """Whole or not at all."""
    torch.export.save(program, path + ".part.pt2")
    os.replace(path + ".part.pt2", path)


def main():
    models = all_models()
    if sys.argv[1:] == ["--list"]:
        print("\n".join(models))
        return
    name, folder = sys.argv[1:]
    torch.manual_seed(1)
    module, given = models[name]()
    args, kwargs = (given, {}) if isinstance(given, tuple) else ((), given)
    with torch.no_grad():
        program = torch.export.export(module.eval(), args, kwargs)
        save(program, os.path.join(folder, f"{name}-plain.pt2"))
        try:
            program = program.run_decompositions()
        except ValueError:  # PyTorch 2.15: a fused attention has other strides decomposed, and a view of them fails
            module.set_attn_implementation("eager")
            program = torch.export.export(module, args, kwargs).run_decompositions()
        save(program, os.path.join(folder, f"{name}-decomposed.pt2"))


if __name__ == "__main__":
    main()
