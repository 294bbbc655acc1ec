"""The algorithms of Triton's tutorials, written anew: a sum of vectors, softmax, products, layer norm and attention.

Tensors come from the CPU and go to the GPU; the result stays there. The kernels want them contiguous, as the tutorials'
own functions check, or as their examples pass them.
"""

import torch
import triton
import triton.language as tl

EPS = 1e-5
LOG2_E = tl.constexpr(1.4426950408889634)


def on_gpu(tensor):
    return tensor.cuda().contiguous()


@triton.jit
def add_kernel(a, b, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(y + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


def vector_add(a, b):
    a, b = on_gpu(a), on_gpu(b)
    y = torch.empty_like(a)
    add_kernel[(triton.cdiv(y.numel(), 128),)](a, b, y, y.numel(), BLOCK=128)
    return y


@triton.jit
def softmax_kernel(x, y, rows, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        terms = tl.load(x + row * columns + at, mask=inside, other=-float("inf")).to(tl.float32)
        powers = tl.exp(terms - tl.max(terms, axis=0))
        tl.store(y + row * columns + at, powers / tl.sum(powers, axis=0), mask=inside)


def fused_softmax(x):
    x = on_gpu(x)
    y, columns = torch.empty_like(x), x.shape[-1]
    rows = x.numel() // columns
    softmax_kernel[(min(rows, 64),)](x, y, rows, columns, BLOCK=triton.next_power_of_2(columns))
    return y


@triton.jit
def product_tile(a, b, rows, columns, depth, row_tile, column_tile, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                 PRECISION: tl.constexpr):
    """Row and column indices of a tile of a @ b, and the tile in f32."""
    i = row_tile * M + tl.arange(0, M)
    j = column_tile * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, depth, K):
        k = start + tl.arange(0, K)
        left = tl.load(a + i[:, None] * depth + k[None, :], other=0.0,
                       mask=(i[:, None] < rows) & (k[None, :] < depth))
        right = tl.load(b + k[:, None] * columns + j[None, :], other=0.0,
                        mask=(k[:, None] < depth) & (j[None, :] < columns))
        total = tl.dot(left, right, total, input_precision=PRECISION)
    return i, j, total


@triton.jit
def store_tile(y, i, j, rows, columns, tile):
    tl.store(y + i[:, None] * columns + j[None, :], tile.to(y.dtype.element_ty),
             mask=(i[:, None] < rows) & (j[None, :] < columns))


@triton.jit
def matmul_kernel(a, b, y, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                  GROUP: tl.constexpr, LEAKY: tl.constexpr, PRECISION: tl.constexpr):
    """Tiles in groups of GROUP rows, which share columns of b."""
    program, across = tl.program_id(0), tl.cdiv(columns, N)
    first = program // (GROUP * across) * GROUP
    high = min(tl.cdiv(rows, M) - first, GROUP)
    within = program % (GROUP * across)
    i, j, total = product_tile(a, b, rows, columns, depth, first + within % high, within // high, M, N, K, PRECISION)
    if LEAKY:
        total = tl.where(total >= 0, total, 0.01 * total)
    store_tile(y, i, j, rows, columns, total)


def product(a, b, leaky=False, precision="tf32"):
    a, b = on_gpu(a), on_gpu(b)
    (rows, depth), columns = a.shape, b.shape[1]
    y = torch.empty(rows, columns, dtype=a.dtype, device=a.device)
    tiles = triton.cdiv(rows, 32) * triton.cdiv(columns, 64)
    matmul_kernel[(tiles,)](a, b, y, rows, columns, depth, M=32, N=64, K=32, GROUP=8, LEAKY=leaky,
                            PRECISION=precision)
    return y


def matmul(a, b):
    return product(a, b)


def matmul_leaky(a, b):
    return product(a, b, leaky=True)


def matmul_ieee(a, b):
    return product(a, b, precision="ieee")


def matmul_three_tf32(a, b):
    return product(a, b, precision="tf32x3")


@triton.jit
def grouped_kernel(lefts, rights, results, sizes, problems, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                   DTYPE: tl.constexpr):
    """Each program takes every num_programs-th tile of all problems; sizes has rows, columns and depth of each."""
    tile, done = tl.program_id(0), 0
    for problem in range(problems):
        rows, columns = tl.load(sizes + problem * 3), tl.load(sizes + problem * 3 + 1)
        depth = tl.load(sizes + problem * 3 + 2)
        across = tl.cdiv(columns, N)
        count = tl.cdiv(rows, M) * across
        a = tl.load(lefts + problem).to(tl.pointer_type(DTYPE))
        b = tl.load(rights + problem).to(tl.pointer_type(DTYPE))
        y = tl.load(results + problem).to(tl.pointer_type(DTYPE))
        while tile < done + count:
            i, j, total = product_tile(a, b, rows, columns, depth, (tile - done) // across, (tile - done) % across,
                                       M, N, K, "tf32")
            store_tile(y, i, j, rows, columns, total)
            tile += tl.num_programs(0)
        done += count


def grouped_products(a, b, c, d):
    """a @ b and c @ d in one launch."""
    pairs = [(on_gpu(a), on_gpu(b)), (on_gpu(c), on_gpu(d))]
    made = [torch.empty(x.shape[0], y.shape[1], dtype=x.dtype, device=x.device) for x, y in pairs]
    pointers = [torch.tensor([t.data_ptr() for t in tensors], device="cuda")
                for tensors in ([x for x, _ in pairs], [y for _, y in pairs], made)]
    sizes = torch.tensor([[x.shape[0], y.shape[1], x.shape[1]] for x, y in pairs], dtype=torch.int32, device="cuda")
    grouped_kernel[(4,)](*pointers, sizes, len(pairs), M=32, N=64, K=32,
                         DTYPE={torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}[a.dtype])
    return tuple(made)


@triton.jit
def layer_norm_kernel(x, weight, bias, y, columns, eps, BLOCK: tl.constexpr):
    """Blocks of a row, in three passes."""
    x += tl.program_id(0) * columns
    y += tl.program_id(0) * columns
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        total += tl.load(x + start + lanes, mask=start + lanes < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        apart = tl.load(x + start + lanes, mask=inside, other=0.0).to(tl.float32) - mean
        squares += tl.where(inside, apart * apart, 0.0)
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        inside = start + lanes < columns
        apart = tl.load(x + start + lanes, mask=inside, other=0.0).to(tl.float32) - mean
        w, b = tl.load(weight + start + lanes, mask=inside), tl.load(bias + start + lanes, mask=inside)
        tl.store(y + start + lanes, apart * scale * w + b, mask=inside)


def layer_norm(x, weight, bias):
    x, weight, bias = on_gpu(x), on_gpu(weight), on_gpu(bias)
    y, columns = torch.empty_like(x), x.shape[-1]
    layer_norm_kernel[(x.numel() // columns,)](x, weight, bias, y, columns, EPS, BLOCK=128)
    return y


@triton.jit
def attention_kernel(q, k, v, y, queries, keys, scale, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                     CAUSAL: tl.constexpr):
    """One block of queries of one head over blocks of keys, with a running maximum; exponentials by base 2."""
    head, columns = tl.program_id(1), tl.arange(0, D)
    i = tl.program_id(0) * M + tl.arange(0, M)
    own = (head * queries + i)[:, None] * D + columns[None, :]
    query = tl.load(q + own, mask=i[:, None] < queries, other=0.0)
    top = tl.full((M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((M,), dtype=tl.float32)
    sums = tl.zeros((M, D), dtype=tl.float32)
    end = min(keys, (tl.program_id(0) + 1) * M) if CAUSAL else keys
    for start in range(0, end, N):
        j = start + tl.arange(0, N)
        at = (head * keys + j)[:, None] * D + columns[None, :]
        scores = tl.dot(query, tl.trans(tl.load(k + at, mask=j[:, None] < keys, other=0.0))) * (scale * LOG2_E)
        visible = j[None, :] < keys
        if CAUSAL:
            visible = visible & (j[None, :] <= i[:, None])
        scores = tl.where(visible, scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        powers = tl.exp2(scores - new[:, None])
        factor = tl.exp2(top - new)
        total = total * factor + tl.sum(powers, axis=1)
        values = tl.load(v + at, mask=j[:, None] < keys, other=0.0)
        sums = tl.dot(powers.to(values.dtype), values, sums * factor[:, None])
        top = new
    tl.store(y + own, (sums / total[:, None]).to(y.dtype.element_ty), mask=i[:, None] < queries)


def attend(q, k, v, causal):
    q, k, v = on_gpu(q), on_gpu(k), on_gpu(v)
    y, width = torch.empty_like(q), q.shape[-1]
    grid = triton.cdiv(q.shape[2], 64), q.shape[0] * q.shape[1]
    attention_kernel[grid](q, k, v, y, q.shape[2], k.shape[2], width**-0.5, D=width, M=64, N=32, CAUSAL=causal)
    return y


def attention(q, k, v):
    return attend(q, k, v, causal=False)


def attention_causal(q, k, v):
    return attend(q, k, v, causal=True)
