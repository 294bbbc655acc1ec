"""The types of the inputs of `sdpa` that its attributes allow, as kernels meet them."""

GROUPS = (1, 2, 3, 4, 8, 12)  # query heads that share a head of keys and values


def attention_inputs(attributes):
    """(what distinguishes it, the types of q, k, v and a mask), the most usual ones several times. Keys are as many as
    queries under a causal mask, unless the caller says how the mask is aligned."""
    mask = attributes.get("mask", "none")
    keys = "R" if mask == "causal" and "alignment" not in attributes else "S"
    if attributes.get("grouped_heads"):
        forms = [(f"{count} query heads for each of k and v", f"{count}*H" if count > 1 else "H", "D")
                 for count in GROUPS]
    else:
        forms = 3 * [("values as deep as keys", "H", "D")] + [("values of another depth", "H", "E")]
    return [(variant, [f"T[B,{heads},R,D]", f"T[B,H,{keys},D]", f"T[B,H,{keys},{depth}]", *mask_types])
            for variant, heads, depth in forms for mask_types in masks_of(mask, heads, keys)]


def masks_of(mask, heads, keys):
    if mask not in ("boolean", "additive"):
        return [[]]
    dtype = "bool" if mask == "boolean" else "T"
    return [[f"{dtype}[{leading}R,{keys}]"] for leading in ("", "", "B,1,", f"1,{heads},", f"B,{heads},")]
