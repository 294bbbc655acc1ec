"""Which outputs a planted mistake of backward_kernels.py changes: those that differ from the right kernel's on the same
data. The judge takes no part in this."""

import inspect

import backward_kernels as kernels
import torch
from fusesmith.graph import Type, concrete

SIZES = {"N": 6, "M": 7, "K": 5, "D": 8, "V": 9, "C": 4, "B": 2, "H": 2, "R": 17}
SCALES = (1e-3, 1, 100)  # rows whose variance is below EPS, and exponentials that overflow
SHARE = 1e-4  # of the largest element; both kernels compute what the mistake leaves alone with the same operations


def as_tuple(made):
    return made if isinstance(made, tuple) else (made,)


def drawn(text, scale):
    """Of an input with this type. Equal indices, of which a loss ignores some."""
    if text.startswith("i64"):
        return torch.arange(SIZES["N"]) % 3
    given = Type(concrete(text, SIZES, "f32"))
    return torch.rand(given.dims) < 0.5 if given.dtype == "bool" else torch.randn(given.dims) * scale


def outputs_of(pair, inputs, upstream):
    forward, backward = pair
    results = as_tuple(getattr(kernels, forward)(*inputs)) if forward else ()
    return *results, *as_tuple(getattr(kernels, backward)(*upstream, *inputs))


def changed_outputs(pair, right, reference, types):
    """Names of the outputs that the wrong pair (forward or None, backward) changes in one call or the next, and of all.
    Gradients of matrices lie in memory by columns, as some of the judge's do."""
    forward, _ = pair
    texts = dict(zip(inspect.signature(getattr(kernels, reference)).parameters, types, strict=True))
    names = [*(["out"] if forward else []), *(f"d_{name}" for name, text in texts.items() if text.startswith("T"))]
    changed = set()
    torch.manual_seed(1)
    for scale in SCALES:
        inputs = [drawn(text, scale) for text in types]
        if "cross_entropy" in reference:
            inputs[1][::2] = -100
        made = as_tuple(getattr(kernels, reference)(*inputs))
        upstream = [torch.randn(y.mT.shape).mT if y.dim() == 2 else torch.randn_like(y) for y in made]
        wanted = outputs_of((forward and reference, right), inputs, upstream)
        got = outputs_of(pair, inputs, upstream)
        changed |= {name for name, x, y in zip(names, wanted, got, strict=True)
                    if not torch.allclose(x, y, rtol=SHARE, atol=SHARE * x.abs().max())}
    return sorted(changed), names
