"""What fusesmith's ops make of ONNX's operators: one function for each, of an Importer and a Node.

It returns the value of the output, or a list of them, in which None is an output that has no counterpart. What the
operators compute is specified at https://onnx.ai/onnx/operators/; a node that no op of ours computes is Unmapped.
"""

import json
import math

import numpy as np
import package  # noqa: F401 (finds fusesmith)
from fusesmith import definitions
from fusesmith.definitions import absolute, negated, smaller
from fusesmith.vocabulary import spelled
from import_graph import Unmapped

IMPORTS = {}
LARGEST_FACTOR = 1e30  # of the op scale


def imports(*names):
    def add(function):
        IMPORTS.update(dict.fromkeys(names, function))
        return function
    return add


def product(sizes):
    return math.prod(sizes)


def number_like(g, value, name):
    """A constant of one element in the dtype of a value of the model."""
    return g.new_constant(np.full((), value), g.dtype(name), f"{g.base}.number")


def scaled(g, value, factor, inverse=False):
    if not math.isfinite(factor) or abs(factor) > LARGEST_FACTOR:
        raise Unmapped(f"the factor {factor} has no counterpart")
    return g.op("scale", value, factor=factor, inverse=inverse)


def epsilon_of(node):
    """The shortest number that is the same in f32: 1e-12, where f32 has 9.99999996e-13."""
    return float(str(np.float32(node.attributes.get("epsilon", 1e-5))))


# --- elementwise

@imports("Identity")
def identity(g, node):
    return g.value(node.inputs[0])


@imports("Neg")
def neg(g, node):
    return negated(g, g.value(node.inputs[0]))


@imports("Abs")
def absolute_value(g, node):
    return absolute(g, g.value(node.inputs[0]))


@imports("Reciprocal")
def reciprocal(g, node):
    return g.op("div", number_like(g, 1, node.inputs[0]), g.value(node.inputs[0]))


@imports("Gelu")
def gelu(g, node):
    form = "tanh" if node.attributes.get("approximate") == "tanh" else "erf"
    return g.op("gelu", g.value(node.inputs[0]), form=form)


@imports("Swish")
def swish(g, node):
    if node.attributes.get("alpha", 1.0) != 1.0:
        raise Unmapped("alpha other than 1")
    return g.op("silu", g.value(node.inputs[0]))


@imports("Softsign")
def softsign(g, node):
    x = g.value(node.inputs[0])
    return g.op("div", x, g.op("add", absolute(g, x), number_like(g, 1, node.inputs[0])))


@imports("Softplus")
def softplus(g, node):
    return definitions.softplus(g, g.value(node.inputs[0]), g.shape(node.inputs[0]))


@imports("Elu", "Selu")
def elu(g, node):
    alpha, gamma = {"Elu": (1.0, 1.0), "Selu": (1.67326319217681884765625, 1.05070102214813232421875)}[node.op]
    return definitions.elu(g, g.value(node.inputs[0]), node.attributes.get("alpha", alpha),
                           node.attributes.get("gamma", gamma))


@imports("LeakyRelu")
def leaky_relu(g, node):
    return definitions.leaky_relu(g, g.value(node.inputs[0]), node.attributes.get("alpha", 0.01))


@imports("HardSigmoid", "HardSwish")
def hard_sigmoid(g, node):
    """max(0, min(1, alpha x + beta)), times x for HardSwish"""
    swish_too = node.op == "HardSwish"
    alpha, beta = ((1 / 6, 0.5) if swish_too
                   else (node.attributes.get("alpha", 0.2), node.attributes.get("beta", 0.5)))
    x, one = g.value(node.inputs[0]), number_like(g, 1, node.inputs[0])
    line = g.op("add", scaled(g, x, alpha), number_like(g, beta, node.inputs[0]))
    made = g.op("relu", smaller(g, line, one))
    return g.op("mul", x, made) if swish_too else made


@imports("Add", "Sub")
def add(g, node):
    return g.op(node.op.lower(), g.value(node.inputs[0]), g.value(node.inputs[1]))


@imports("Mul", "Div")
def mul(g, node):
    """By a constant number: the op scale."""
    a, b = node.inputs
    for x, factor in ((a, b), (b, a))[:2 if node.op == "Mul" else 1]:
        number = g.scalar(factor, x)
        if g.constant(x) is None and number is not None and abs(number) <= LARGEST_FACTOR:
            return scaled(g, g.value(x), number, node.op == "Div")
    return g.op(node.op.lower(), g.value(a), g.value(b))


@imports("Sum", "Mean")
def total(g, node):
    made = g.value(node.inputs[0])
    for name in node.inputs[1:]:
        made = g.op("add", made, g.value(name))
    return scaled(g, made, len(node.inputs), True) if node.op == "Mean" and len(node.inputs) > 1 else made


@imports("Max", "Min")
def extreme(g, node):
    made = g.value(node.inputs[0])
    for name in node.inputs[1:]:
        made = g.op("maximum", made, g.value(name)) if node.op == "Max" else smaller(g, made, g.value(name))
    return made


@imports("Clip")
def clip(g, node):
    low, high = node.given(1), node.given(2)
    made = g.value(node.inputs[0])
    if low:
        made = g.op("relu", made) if g.scalar(low) == 0 else g.op("maximum", made, g.value(low))
    return smaller(g, made, g.value(high)) if high else made


@imports("Pow")
def power(g, node):
    exponent = g.scalar(node.inputs[1], node.inputs[0])
    made = definitions.power(g, g.value(node.inputs[0]), exponent)
    if made is not None:
        return made
    raise Unmapped("its exponent is not the constant 2, 3, 0.5 or -0.5")


@imports("PRelu")
def prelu(g, node):
    return definitions.prelu(g, *map(g.value, node.inputs))


@imports("Cast", "CastLike")
def cast(g, node):
    target = g.dtype(node.outputs[0])
    x = g.value(node.inputs[0])
    if target in ("i32", "bool") and g.dtypes[x] != target:
        raise Unmapped(f"to {target} has no counterpart")
    return g.cast(x, target)


@imports("Where")
def where(g, node):
    mask, a, b = node.inputs
    for filled, number, inverted in ((b, a, False), (a, b, True)):
        value = g.scalar(number)
        if value is not None and not math.isnan(value) and g.shape(filled) == g.shape(node.outputs[0]):
            value = {math.inf: "inf", -math.inf: "-inf"}.get(value, value)
            return g.op("masked_fill", g.value(filled), g.value(mask), value=value, inverted=inverted)
    return g.op("where", g.value(mask), g.value(a), g.value(b))


@imports("Dropout")
def dropout(g, node):
    """In inference; its mask has no counterpart."""
    training = node.given(2)
    if training and (g.constant(training) is None or bool(np.any(g.constant(training)))):
        raise Unmapped("training mode draws random numbers")
    return [g.op("dropout", g.value(node.inputs[0])), None]


# --- functions that `fusesmith export` writes for ops without an operator in ONNX

@imports("fusesmith")
def own_function(g, node):
    attributes = json.loads(node.attributes["attributes"])
    values = [g.value(node.inputs[i]) for i in node.attributes.get("operands", [])]
    if node.attributes["op"] == "index_copy":
        g.limit_index(values[1], g.shape(node.inputs[node.attributes["operands"][0]])[attributes["axis"]])
    return g.add(node.attributes["op"], values, attributes)


# --- operators that are one op of ours

def positional(op):
    return lambda g, node: g.op(op, *map(g.value, node.inputs))


for _op, _operator in spelled("onnx").items():
    IMPORTS.setdefault(_operator, positional(_op))
