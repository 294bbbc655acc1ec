"""Values of a program's nodes that can be computed here: of its constants, and of the inputs that it was exported with.

A file may name any operator of PyTorch, some of which open files or draw random numbers: only those below are run.
"""

import torch
from fusesmith.aten import LOWERINGS
from fusesmith.trace import short_name

MOST_ELEMENTS = 1 << 27  # of a value
NAMES = """
__and__ __or__ __xor__ _adaptive_avg_pool2d _log_softmax _native_batch_norm_legit_no_training abs acos
adaptive_avg_pool1d adaptive_avg_pool2d addcmul all amax amin any arange argmax argmin argsort asin atan atan2
avg_pool1d avg_pool2d baddbmm batch_norm bitwise_and bitwise_not bitwise_or bitwise_xor bucketize ceil celu clamp_max
constant_pad_nd conv1d conv2d conv3d conv_transpose1d conv_transpose2d convolution copy cos cumprod cumsum detach_
diagonal diff div elu eq erf exp2 expm1 eye fill floor floor_divide fmod full full_like gather ge glu gt hardsigmoid
hardtanh index index_put index_select iota isfinite isinf isnan le leaky_relu linspace log log10 log1p log2 log_softmax
logical_and logical_not logical_or logical_xor lt masked_scatter max max_pool1d max_pool2d min minimum movedim narrow
native_group_norm native_layer_norm ne new_full new_ones new_zeros norm one_hot ones ones_like outer pad prod relu6
remainder repeat repeat_interleave round scalar_tensor scatter scatter_add select_scatter selu sgn sign sin
slice_scatter softplus sort stack std sum swapaxes take_along_dim tan tile topk trapezoid tril triu trunc type_as unbind
unfold upsample_bilinear2d upsample_nearest2d var_mean zeros zeros_like
"""
COMPUTED = {*LOWERINGS, *NAMES.split()} - {"dropout", "native_dropout", "feature_dropout"}
DRAWS = ("dropout_p", "p")  # arguments that make an operator draw random numbers


def is_getitem(node):
    return getattr(node.target, "__name__", "") == "getitem"


class KnownValues:
    """`get(node)`: a tensor, a tuple of them, or None. Computed on demand, each once."""

    def __init__(self, program, constants, samples):
        self.found = {}
        self.order = {}
        self.of_inputs, self.of_weights = set(), set()  # nodes that depend on inputs, and on trained parameters
        weights = {entry.arg.name for entry in program.graph_signature.input_specs
                   if entry.kind == torch.export.graph_signature.InputKind.PARAMETER}
        for number, node in enumerate(program.graph.nodes):
            self.order[node] = number
            if node.op == "placeholder":
                self.found[node] = constants.get(node.name, samples.get(node.name))
                self.of_inputs |= {node} if node.name not in constants else set()
                self.of_weights |= {node} if node.name in weights else set()
            elif node.op != "output":
                for known in (self.of_inputs, self.of_weights):
                    known |= {node} if known.intersection(node.all_input_nodes) else set()

    def that_follow_from(self, nodes):
        """These nodes, and those that depend on them."""
        found = set(nodes)
        for node in self.order:
            if found.intersection(node.all_input_nodes):
                found.add(node)
        return found

    def is_constant(self, node):
        return node not in self.of_inputs and self.get(node) is not None

    def get(self, node):
        needed, waiting = {node}, [node]
        while waiting:
            for source in waiting.pop().all_input_nodes:
                if source not in self.found and source not in needed:
                    needed.add(source)
                    waiting.append(source)
        for source in sorted(needed, key=self.order.get):
            if source not in self.found:
                self.found[source] = self.computed(source)
        return self.found[node]

    def computed(self, node):
        if not may_run(node) or any(self.found.get(source) is None for source in node.all_input_nodes):
            return None
        args, kwargs = torch.fx.node.map_arg((node.args, dict(node.kwargs)), self.found.get)
        kwargs = {name: "cpu" if name == "device" else value for name, value in kwargs.items()}
        try:
            with torch.no_grad():
                made = node.target(*args, **kwargs)
        except MemoryError:
            raise
        except Exception:  # such as an index out of range, or memory that cannot be allocated
            return None
        return made if fits(made, node.meta.get("val")) else None


def may_run(node):
    if node.op != "call_function":
        return False
    if is_getitem(node):
        return True
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.name.startswith(("aten::", "prims::")) or short_name(node.target) not in COMPUTED:
        return False
    named = {argument.name: value for argument, value in zip(schema.arguments, node.args, strict=False)}
    named.update(node.kwargs)
    if schema.is_mutable or any(named.get(name) for name in DRAWS if short_name(node.target) != "norm"):
        return False
    metas = node.meta.get("val")
    metas = metas if isinstance(metas, (tuple, list)) else [metas]
    return all(meta.numel() <= MOST_ELEMENTS for meta in metas if isinstance(meta, torch.Tensor))


def fits(made, meta):
    """Whether a value has the type that the program says."""
    if isinstance(made, (tuple, list)):
        return isinstance(meta, (tuple, list)) and all(map(fits, made, meta))
    if not isinstance(made, torch.Tensor):
        return made is None and meta is None
    return isinstance(meta, torch.Tensor) and (made.shape, made.dtype) == (meta.shape, meta.dtype)
