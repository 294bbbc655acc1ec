"""The graph of one op, with symbols for its sizes: what `judge(fn, "softmax")` stands for.

In a type, `*` stands for one to three leading axes: `T[*,D]` is `T[D]`, `T[A,D]` or `T[A,B,D]`.
"""

from . import ops
from .attention import attention_inputs
from .errors import Error
from .graph import Graph

JUDGE = ("dtypes", "shapes", "runs", "policy", "seed", "fills", "inputs", "run_timeout", "time_limit", "keep",
         "baseline", "sample", "rank", "batch_invariant", "position_invariant")
LEADING = ("A", "B", "C")
MILD_WEIGHT = {"normal": {"mean": 1, "stddev": 0.1}}

# Types of the inputs where the attributes do not change them; an op of fewer inputs takes the first ones.
INPUTS = {
    "linear": ["T[*,K]", "T[N,K]", "T[N]"],
    "softmax": ["T[*,D]"],
    "layer_norm": ["T[*,D]", "T[D]", "T[D]"],
    "rms_norm": ["T[*,D]", "T[D]"],
    "gather": ["T[N,D]", "i32[M]"],
    "where": ["bool[*,D]", "T[*,D]", "T[*,D]"],
    "masked_fill": ["T[*,D]", "bool[*,D]"],
    "arange": [],
    "causal_mask": [],
}
POINTWISE = ("add", "sub", "mul", "div", "maximum", "scale", "relu", "gelu", "silu", "sigmoid", "tanh", "erf", "exp",
             "log", "sqrt", "rsqrt", "relu_backward", "softcap", "dropout", "cast", "roll", "flip", "unsqueeze")
REDUCTIONS = ("reduce_sum", "reduce_mean", "reduce_max", "var_mean", "logsumexp")
# What an op that requires an attribute gets where the caller names none.
ATTRIBUTES = {
    **{op: {"axes": [-1]} for op in (*REDUCTIONS, "flip")},
    "group_norm": {"groups": 2},
    "scale": {"factor": 0.125},
    "masked_fill": {"value": "-inf"},
    "concat": {"axis": -1},
    "roll": {"axis": -1, "shift": 1},
    "unsqueeze": {"axis": -1},
    "chunk": {"axis": -1, "chunks": 2},
}
FILLS = {("gather", 1): {"tokens": {"count": "N"}}, ("rope", 1): {"uniform": {"lo": -1, "hi": 1}},
         ("rope", 2): {"uniform": {"lo": -1, "hi": 1}}}
WEIGHTS = {("layer_norm", 1), ("rms_norm", 1), ("group_norm", 1)}


def matmul_inputs(attributes):
    a = "T[*,K,M]" if attributes.get("transpose_a") else "T[*,M,K]"
    b = "T[*,N,K]" if attributes.get("transpose_b") else "T[*,K,N]"
    return [a, b]


def einsum_inputs(attributes):
    operands = attributes.get("equation", "").partition("->")[0].split(",")
    return [f"T[{','.join(operand.strip())}]" for operand in operands]


def rope_inputs(attributes):
    """With a rotary_dim, heads are larger than that: what lies behind it is left as it is."""
    rotated = attributes.get("rotary_dim", 0)
    head, half = (f"D+{rotated}", rotated // 2) if rotated else ("2*D", "D")
    return [f"T[*,R,{head}]", f"T[R,{half}]", f"T[R,{half}]"]


def concat_inputs(attributes):
    return ["T[M,D]", "T[N,D]"] if attributes["axis"] in (0, -2) else ["T[N,D]", "T[N,E]"]


def group_norm_inputs(attributes):
    channels = f"{attributes['groups']}*C"
    return [f"T[N,{channels},L]", f"T[{channels}]", f"T[{channels}]"]


SPECIAL = {"matmul": matmul_inputs, "einsum": einsum_inputs, "group_norm": group_norm_inputs,
           "rope": rope_inputs, "concat": concat_inputs,
           "chunk": lambda attributes: [f"T[N,{attributes['chunks']}*D]"],
           "permute": lambda attributes: [f"T[{','.join('ABCDEFGH'[:len(attributes.get('dims', ()))])}]"]}


def input_types(op, attributes):
    if op in SPECIAL:
        return SPECIAL[op](attributes)
    if op in POINTWISE or op in REDUCTIONS:
        return ["T[*,D]"] * ops.description(op)["arity"][1]
    if "operands" in ops.description(op):
        return ["T[D]" if operand["is_row"] else "T[*,D]" for operand in ops.description(op)["operands"]]
    if op not in INPUTS:
        raise Error(f'"{op}" alone has no sizes to draw: build a fusesmith.Graph of it')
    return INPUTS[op]


def with_defaults(op, attributes):
    return {**ATTRIBUTES.get(op, {}), **attributes}


def has_axes(attributes, rank):
    """Whether tensors of so many axes have those that the attributes name, each once."""
    axes = [attributes["axis"]] if "axis" in attributes else []
    several = attributes.get("axes", [])
    in_range = all(-rank <= axis < rank for axis in (*axes, *several))
    return in_range and len({axis % rank for axis in several}) == len(several)


def check_op(op, attributes):
    """Sizes have no names that an attribute could be."""
    ops.check_attributes(op, with_defaults(op, attributes), JUDGE)
    details = {attribute["name"]: attribute["type"] for attribute in ops.description(op)["attribute_details"]}
    for name, value in attributes.items():
        if details[name] in ("integer", "dims") and any(
                isinstance(one, str) for one in (value if isinstance(value, (list, tuple)) else [value])):
            what = "an integer" if details[name] == "integer" else "a list of integers"
            raise Error(f"{op}: {name} is {what}, got {value!r}")


def op_graph(op, attributes, types, count, variant):
    """One node with inputs of these types, of which it takes `count` (None: all)."""
    types = types if count is None else types[:count]
    ops.check_count(op, len(types))
    graph, names = Graph(), []
    for i, text in enumerate(types):
        fill = MILD_WEIGHT if (op, i) in WEIGHTS else FILLS.get((op, i))
        name = ("q", "k", "v", "mask")[i] if op == "sdpa" else "x" if i == 0 else f"x{i}"
        names.append(graph.input(name, text, fill))
    made = getattr(graph, op)(*names, name="y", **attributes)
    graph.output(*([made] if isinstance(made, str) else made))
    graph.variant = variant
    return graph


def with_leading_axes(types, leading):
    axes = ",".join(LEADING[:leading])
    return [text.replace("*,", f"{axes}," if axes else "") if "[*," in text else text for text in types]


def op_graphs(op, attributes, count):
    """One graph for each number of leading axes that the op may have, and for each form of attention."""
    check_op(op, attributes)
    attributes = with_defaults(op, attributes)
    if op == "sdpa":
        return [op_graph(op, attributes, types, count, variant) for variant, types in attention_inputs(attributes)]
    types = input_types(op, attributes)
    if not any("[*," in text for text in types):
        return [op_graph(op, attributes, types, count, "")]
    trailing = 2 if op in ("matmul", "rope") else 1
    if op in ("roll", "flip", "unsqueeze") or op in REDUCTIONS or "axis" in attributes or op == "matmul":
        leading = range(3)
    else:
        leading = range(1 if op == "linear" else 0, 4)
    fitting = [axes for axes in leading if has_axes(attributes, axes + trailing)]
    if not fitting:
        most = leading[-1] + trailing
        raise Error(f"{op}: attributes name axes that inputs of up to {most} axes do not have, or one axis twice")
    return [op_graph(op, attributes, with_leading_axes(types, axes), count, axes_text(axes + trailing))
            for axes in fitting]


def axes_text(count):
    return "1 axis" if count == 1 else f"{count} axes"
