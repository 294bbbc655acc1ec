#!/usr/bin/env python3
"""PyTorch as a worker: torch_worker.py MODE[+SWITCH...]

MODE is eager, or a backend of torch.compile: aot_eager, aot_eager_decomp_partition, inductor. Switches:
  cuda                              on the GPU instead of the CPU
  emulate_precision_casts           inductor keeps the roundings of 16-bit values
  reduced_precision_reduction       cuBLAS may add partial sums of 16-bit products in 16 bits, as is PyTorch's default;
                                    without the switch, torch.backends.cuda.matmul forbids it
  fast_accumulation                 products of 8-bit floats never leave the accumulators of tensor cores
  math, flash, efficient, cudnn     only this backend of scaled_dot_product_attention
"""

import contextlib
import functools
import os
import sys
import traceback

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "protocol"))

from program import Program
from protocol import (
    Executor,
    Unavailable,
    Unsupported,
    arithmetic_by_op,
    measured_arithmetic,
    node_plan,
    opaque_plan,
    redirect_standard_output,
    serve,
)

replies = redirect_standard_output()

MODES = ("eager", "aot_eager", "aot_eager_decomp_partition", "inductor")
ATTENTION = {"math": "MATH", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
# Its attention on CPUs has an exponential with an error of up to 20 ulp.
ATTENTION_ARITHMETIC = {"exp": 48}
# In 16 bits with AVX-512, that of fexp_u20 (ATen/cpu/vec/vec512/vec512_float.h of PyTorch 2.11): off by up to 1.11e-4
# in [-20, 0], by an emulation at 4 million points, and 0.99995 at 0, so that the sum that divides is off as much.
ATTENTION_IN_16_BITS = {"exp": 1870, "div": 1870}
# On GPUs: `fusesmith calibrate --backend=torch:eager+cuda` and torch:inductor+cuda on an H200, PyTorch 2.11. Eager
# PyTorch multiplies by the reciprocal of a scalar divisor; Triton's f32 division is div.full.f32, whose error is at
# most 2 ulp (PTX ISA, "div"), and its sigmoid has an exponential whose relative error grows with the argument.
ARITHMETIC_ON_GPU = {
    "eager": {"exp": 3, "erf": 3, "tanh": 4, "sqrt": 1, "div": 2},
    "inductor": {"exp": 3, "erf": 3, "tanh": 4, "sqrt": 1, "div": 4, "sigmoid_absolute": 2},
}
# Measured: above some sizes, bf16 products (oneDNN's) read and write subnormal numbers as zeros.
BF16_PRODUCTS = ("linear", "matmul", "einsum", "sdpa")
# What PyTorch says where it has no kernel for a dtype, or not in the backend that a switch asks for.
NO_KERNEL_TEXTS = ("not implemented for", "No available kernel")


def parse_mode(text):
    mode, *switches = text.split("+")
    if mode not in MODES:
        raise Unavailable(f'unknown mode "{mode}", expected one of {", ".join(MODES)}')
    known = {"cuda", "emulate_precision_casts", "fast_accumulation", "reduced_precision_reduction", *ATTENTION}
    for switch in switches:
        if switch not in known:
            raise Unavailable(f'unknown switch "{switch}", expected one of {", ".join(sorted(known))}')
    return mode, set(switches)


def own_arithmetic(node, types, on_gpu=False):
    """Entries of the contract's arithmetic that differ for this node."""
    own = {}
    if node["op"] == "sdpa":
        own |= ATTENTION_IN_16_BITS if types[0].dtype in ("f16", "bf16") and not on_gpu else ATTENTION_ARITHMETIC
    if node["op"] == "layer_norm_backward":
        own["running_means"] = True  # RowwiseMoments
    if node["op"] in BF16_PRODUCTS and types[0].dtype == "bf16":
        own["flushes_subnormals"] = True
    from torch_scaled import accumulator

    unit = accumulator(node, types)
    return {**own, "accumulator": unit} if unit else own


def stored_once(tensor, strides):
    """The elements that have memory of their own."""
    return tensor[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)]


class TorchExecutor(Executor):
    def __init__(self, text):
        super().__init__()
        self.mode, self.switches = parse_mode(text)
        self.name = f"torch:{text}"
        import torch
        import torch_ops
        import torch_tensors

        self.torch, self.ops, self.tensors = torch, torch_ops, torch_tensors
        if "cuda" in self.switches:
            if not torch.cuda.is_available():
                raise Unavailable("torch.cuda.is_available() is False")
            self.device = torch.cuda.get_device_name()
            torch.set_default_device("cuda")
            import torch_scaled

            torch_scaled.is_fast = "fast_accumulation" in self.switches
            reduced = "reduced_precision_reduction" in self.switches
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = reduced
            torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = reduced
        if "emulate_precision_casts" in self.switches:
            import torch._inductor.config

            torch._inductor.config.emulate_precision_casts = True
        self.program = None
        self.graph = None
        self.copies = self.retired_copies = None  # inputs on the GPU or with layouts, now and in the run before

    def versions(self):
        return {**super().versions(), "torch": self.torch.__version__}

    def attention(self):
        """The context in which the program runs."""
        from torch.nn.attention import SDPBackend, sdpa_kernel

        chosen = [getattr(SDPBackend, ATTENTION[switch]) for switch in self.switches if switch in ATTENTION]
        return sdpa_kernel(chosen) if chosen else contextlib.nullcontext()

    def compile(self, graph):
        torch = self.torch
        # The documented switch for both devices; a case's policy says whether tf32 is allowed.
        torch.set_float32_matmul_precision("high" if graph.options.get("tf32") else "highest")
        self.graph, self.copies = graph, None
        results = graph.all_values() if self.mode == "eager" else graph.results()
        self.program = Program(graph, results, self.ops.LOWERINGS)
        if self.mode != "eager":
            torch._dynamo.reset()
            self.program = torch.compile(self.program, backend=self.mode, fullgraph=True, dynamic=False)
        self.warm_up()
        # RowwiseMoments of layer_norm and group_norm, WelfordOps of var_mean.
        arithmetic = {**measured_arithmetic("torch"), "tf32": bool(graph.options.get("tf32")), "variance": "welford",
                      "norms_scale_and_shift": True}
        if "cuda" in self.switches:
            arithmetic.update(ARITHMETIC_ON_GPU.get(self.mode, ARITHMETIC_ON_GPU["eager"]))
        lowerings = ["einsum.sum_first", "linear.bias_after", "rsqrt.of_root"]
        if "cuda" in self.switches:
            lowerings += ["group_norm.of_rounded_statistics", "tanh_backward.of_parts"]
        else:
            lowerings.append("layer_norm_backward.scale_and_shift")
        if self.casts_saturate():
            lowerings.append("cast.saturating")
        more = {"lowerings": lowerings, "attention": "online",
                "rounded_inside": {"softmax": 1, "logsumexp": 2}}
        own = functools.partial(own_arithmetic, on_gpu="cuda" in self.switches)
        if self.mode == "eager":
            return node_plan(graph, arithmetic, own, **more)
        return opaque_plan(arithmetic, arithmetic_of=arithmetic_by_op(graph, own), **more)

    def casts_saturate(self):
        """To 8-bit floats: those of Triton, and PyTorch's own from 2.12 on (pytorch#178817)."""
        is_triton = self.mode == "inductor" and "cuda" in self.switches
        return is_triton or tuple(int(part) for part in self.torch.__version__.split(".")[:2]) >= (2, 12)

    def warm_up(self):
        """torch.compile compiles in the first run; and only a run tells which kernels are missing."""
        types = [self.graph.types[name] for name in self.graph.inputs]
        zeros = [self.torch.zeros(kind.shape, dtype=self.ops.DTYPES[kind.dtype]) for kind in types]
        zeros = [self.placed(name, tensor) for name, tensor in zip(self.graph.inputs, zeros, strict=True)]
        try:
            self.call(zeros)
        except (NotImplementedError, RuntimeError) as error:
            text = str(error)
            if isinstance(error, NotImplementedError) or any(part in text for part in NO_KERNEL_TEXTS):
                raise Unsupported(text) from error
            raise

    def call(self, tensors):
        try:
            with self.torch.no_grad(), self.attention():
                results = self.program(*tensors)
                if "cuda" in self.switches:
                    self.torch.cuda.synchronize()
                return results
        except getattr(self.torch, "AcceleratorError", ()):  # older versions lack it
            # Every later call of this process would fail as well, so that other cases would be blamed.
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(70)

    def load(self, arrays, same_buffers):
        dtypes = {name: self.graph.types[name].dtype for name in self.graph.inputs}
        super().load({name: self.tensors.held(arrays[name], dtype) for name, dtype in dtypes.items()}, same_buffers)
        tensors = [self.tensors.from_array(self.buffers[name], dtype) for name, dtype in dtypes.items()]
        if "cuda" not in self.switches and not self.graph.layouts:
            return tensors
        if same_buffers and self.copies:
            for old, new in zip(self.copies, tensors, strict=True):
                stored_once(old, old.stride()).copy_(stored_once(new, old.stride()))
        else:
            self.retired_copies = self.copies
            self.copies = [self.placed(name, tensor) for name, tensor in zip(self.graph.inputs, tensors, strict=True)]
        return self.copies

    def placed(self, name, tensor):
        """On the device, and in memory as the case asks. What lies between is NaN, -1 or true."""
        torch = self.torch
        if "cuda" in self.switches:
            tensor = tensor.cuda()
        layout = self.graph.layouts.get(name)
        if layout is None:
            return tensor
        size, strides = tensor.element_size(), layout["strides"]
        count = layout["offset"] + layout["extent"] + 2048 // size
        byte = 1 if tensor.dtype == torch.bool else 255
        memory = torch.full((count * size,), byte, dtype=torch.uint8, device=tensor.device).view(tensor.dtype)
        beyond = layout["align"] if layout["align"] < 256 else 0
        start = (-memory.data_ptr() % 512 + beyond) // size + layout["offset"]
        stored = stored_once(tensor, strides)
        memory.as_strided(stored.shape, strides, start).copy_(stored)
        return memory.as_strided(tensor.shape, strides, start)

    def to_arrays(self, names, tensors):
        return {name: self.tensors.to_array(tensor, self.graph.types[name].dtype)
                for name, tensor in zip(names, tensors, strict=True)}

    def run(self, loaded):
        results = self.call(loaded)
        names = self.graph.all_values() if self.mode == "eager" else self.graph.results()
        return self.to_arrays(names, results)

    def read_back(self, loaded):
        return self.to_arrays(self.graph.inputs, loaded)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    serve(lambda: TorchExecutor(sys.argv[1]), replies)


if __name__ == "__main__":
    main()
