"""Judges the gradients of a list of kernels of backward_kernels.py: python judge_gradients.py right|wrong; one JSON
line for each kernel. Of a wrong one, it says which output the finding names, and which outputs the mistake changes."""

import json
import os
import sys

import backward_kernels as kernels
import fusesmith
from changed_outputs import changed_outputs
from fusesmith.shown import add_evidence

HERE = os.path.dirname(os.path.abspath(__file__))
NORM, ROWS = ["T[N,D]", "T[D]", "T[D]"], ["T[N,D]"]
LOSS, HEADS = ["T[N,V]", "i64[N]"], ["T[B,2*H,R,D]", "T[B,H,R,D]", "T[B,H,R,D]"]
# Reference -> types of its inputs, right gradients, wrong ones.
FAMILIES = {
    "layer_norm": (NORM, ["layer_norm_backward"], [
        "layer_norm_of_row_0", "layer_norm_without_eps", "layer_norm_without_mean", "layer_norm_without_last_row",
        "layer_norm_with_dw_of_x", "layer_norm_of_dense_dy"]),
    "rms_norm": (NORM[:2], ["rms_norm_backward"], ["rms_norm_without_weight", "rms_norm_without_projection"]),
    "rms_norm_of_offset": (NORM[:2], ["rms_norm_of_offset_backward"], ["rms_norm_backward"]),
    "add_rms_norm": (["T[N,D]", "T[N,D]", "T[D]"], ["add_rms_norm_backward"], ["add_rms_norm_without_dh"]),
    "group_norm": (["T[N,C,D]", "T[C]", "T[C]"], ["group_norm_backward"], [
        "group_norm_of_each_channel", "group_norm_with_dw_of_last"]),
    "softmax": (ROWS, ["softmax_backward"], ["softmax_without_sum"]),
    "scaled_softmax": (ROWS, ["scaled_softmax_backward"], ["scaled_softmax_without_scale"]),
    "log_softmax": (ROWS, ["log_softmax_backward"], ["log_softmax_of_columns"]),
    "cross_entropy": (LOSS, ["cross_entropy_backward"], [
        "cross_entropy_of_all_rows", "cross_entropy_of_ignored_rows",
        "cross_entropy_unshifted/cross_entropy_backward"]),
    "smooth_cross_entropy": (LOSS, ["smooth_cross_entropy_backward"], ["cross_entropy_backward"]),
    "swiglu": (ROWS * 2, ["swiglu_backward"], ["swiglu_of_sigmoid"]),
    "packed_swiglu": (["T[N,2*D]"], ["packed_swiglu_backward"], ["packed_swiglu_swapped"]),
    "gelu": (ROWS, ["gelu_backward"], ["gelu_without_density", "gelu_of_tanh"]),
    "dropout": (["T[N,D]", "bool[N,D]"], ["dropout_backward"], ["dropout_without_scale", "dropout_without_mask"]),
    "rope": (["T[N,2*D]", "T[N,D]", "T[N,D]"], ["rope_backward"], ["rope_of_forward_sign"]),
    "softcap": (ROWS, ["softcap_backward"], ["softcap_without_factor"]),
    "linear": (["T[N,K]", "T[M,K]", "T[M]"], ["linear_backward"], ["linear_with_mean_of_db",
                                                                   "linear_that_accumulates"]),
    "embedding": (["i64[N]", "T[M,D]"], ["embedding_backward"], ["embedding_that_overwrites"]),
    "attention": (HEADS, ["attention_backward", "narrow_attention_backward"], [
        "attention_without_mask", "attention_without_delta", "attention_scaled_twice", "attention_of_one_head",
        "attention_of_other_heads", "attention_without_last_tile"]),
}
SIZES = {"attention": {"B": [1, 2], "H": [1, 2], "R": [17, 33], "D": [8, 16]},
         "group_norm": {"N": [1, 2], "C": [4, 6], "D": [3, 8, 17]}}
FILLS = {"attention": ["normal", "uniform"]}
# More where few cases show the mistake: dy that is no dense matrix, equal indices, exponentials that overflow, and
# batches and groups of several.
RUNS = {"right": 6, "wrong": 4, "layer_norm_of_dense_dy": 40, "embedding_that_overwrites": 12,
        "cross_entropy_unshifted/cross_entropy_backward": 20, "group_norm_with_dw_of_last": 12,
        "attention_of_other_heads": 12}


def pair_of(name):
    forward, _, backward = name.rpartition("/")
    return forward or None, backward


def judged(name, reference, types, kind):
    pair = tuple(text and f"{HERE}/backward_kernels.py:{text}" for text in pair_of(name))
    return fusesmith.judge_backward(pair, getattr(kernels, reference), types, runs=RUNS.get(name, RUNS[kind]), repeat=0,
                                    shapes=SIZES.get(reference, "fuzz"), fills=FILLS.get(reference),
                                    dtypes=("f32", "f16", "bf16") if kind == "right" else ("f32",))


def show_named(result, _, shown, *__):
    """In place of the smallest case, which takes longer than all cases."""
    add_evidence(result, shown)


if __name__ == "__main__":
    sys.modules["fusesmith.result"].show_case = show_named
    for reference, (types, right, wrong) in FAMILIES.items():
        for name in right if sys.argv[1] == "right" else wrong:
            result = judged(name, reference, types, sys.argv[1])
            line = [name, reference, result.ok, result.findings, str(result)]
            if sys.argv[1] == "wrong":
                line += [result.value, *changed_outputs(pair_of(name), right[0], reference, types)]
            print(json.dumps(line), flush=True)
