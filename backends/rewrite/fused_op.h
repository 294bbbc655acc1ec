// Fused ops: what one region computes, as plain data. They exist only in plans, never in a Graph or a case
// file. Every operand is a ValueId with strides in elements, so that an executor needs no other
// information about the graph.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "graph/pointwise_formula.h"

namespace fusesmith::backends {

// Strides are those of dense operands until read_in_place (strided_operands.h) has put those of layouts in.

// A node computed as in the graph.
struct SingleNode {
  int node = 0;
};

// One axis of a product, with the stride of each operand along it (0 where the operand lacks the axis).
struct ProductAxis {
  int64_t size = 1;
  int64_t a = 0, b = 0, out = 0, addend = 0;
};

// Sums of products. `batch` axes are in a, b and out; `m` in a and out; `n` in b and out; `k` in a and b,
// and are summed. The axes of a group are listed outermost first. Neighbouring axes that are contiguous
// for every operand are merged; axes of size 1 are omitted.
struct BatchedProduct {
  ValueId a = -1, b = -1;
  std::vector<ProductAxis> batch, m, n, k;
};

using Activation = std::variant<Relu, Gelu, Silu, Sigmoid>;

// activation(product + bias + addend) in f32, rounded once to the output's type.
struct FusedGemm {
  BatchedProduct product;
  std::optional<ValueId> bias;    // of linear: one element for each of n
  std::optional<ValueId> addend;  // read with ProductAxis::addend
  std::optional<Activation> activation;
};

// out = sum over `summed` of a b: an einsum that is not a matrix product. All kept axes are in `batch`,
// `m` or `n`, without distinction.
struct MultiplyReduce {
  ValueId a = -1, b = -1;
  std::vector<ProductAxis> kept, summed;
};

// One matrix for each batch element: element (i, r, c) has the offset batch_strides . i + r row + c
// column.
struct MatrixOperand {
  ValueId value = -1;
  Shape batch_strides;
  int64_t row = 0, column = 0;
};

// A factor or divisor, rounded to f32: a number, or a tensor with one element.
struct AttentionScale {
  double factor = 1;
  bool divide = false;
  std::optional<ValueId> tensor;  // replaces `factor`
};

// What is applied to the scaled scores before softmax.
struct AttentionMask {
  enum class Kind : uint8_t {
    none,
    causal,    // key j is -inf to query i when causal.hides(i, j)
    boolean,   // -inf where the bool `mask` equals `hidden`
    additive,  // + mask
    select,    // `other` where the bool `mask` equals `hidden`
  };
  Kind kind = Kind::none;
  bool hidden = true;
  CausalMask causal;   // rows are queries, columns are keys; includes its window
  MatrixOperand mask;  // rows are queries, columns are keys
  MatrixOperand other;
};

// softmax(mask(cap(scale (q_scale q) (k_scale k)^T))) v for every batch element, in one pass over tiles of
// keys with a running maximum (FlashAttention, Dao et al. 2022). The probabilities are rounded to p_dtype
// before the second product and before they are normalised; their sum is not rounded. Where groups of
// query heads share a head of k and v, the heads are two batch axes, [groups, heads of a group]; k and v
// have stride 0 along the second.
struct FusedAttention {
  Shape batch;
  int64_t queries = 1, keys = 1, depth = 1, width = 1;
  MatrixOperand q;  // [queries, depth]
  MatrixOperand k;  // [keys, depth]
  MatrixOperand v;  // [keys, width]
  std::optional<AttentionScale> q_scale, k_scale, score_scale;
  double softcap = 0;  // scaled scores x become c tanh(x / c), c rounded to f32; 0: no softcap
  AttentionMask mask;
  Dtype p_dtype = Dtype::f32;
  int64_t query_tile = 16, key_tile = 32;
};

// The gradients of the attention above for q, k and v, in f32. Nothing but the logsumexp of each row of
// scores s and the sum of each row of p dp is kept between its passes, as in FlashAttention (Dao 2023): p is
// computed again, as exp(s - logsumexp), dp = dy v^T, ds = p (dp - sum p dp), times `gradient_scale`; dv =
// p^T dy, dq = ds k and dk = ds^T q, of q and k without their scales. Heads are not grouped.
struct AttentionBackward {
  FusedAttention attention;  // p_dtype does not count
  MatrixOperand dy;          // [queries, width]
  std::optional<Scale> gradient_scale;
  int dq = 0, dk = 1, dv = 2;  // their places among the outputs
};

// LayerNorm over rows of `columns` elements, statistics by Welford's method. Row r of x starts at r pitch.
struct WelfordNorm {
  ValueId x = -1;
  std::optional<ValueId> weight, bias;
  double eps = 0;
  int64_t rows = 1, columns = 1;
  int64_t pitch = 1;
};

// x minus its logsumexp for rows of `columns` elements. Row r of x starts at r pitch.
struct FusedLogSoftmax {
  ValueId x = -1;
  int64_t rows = 1, columns = 1;
  int64_t pitch = 1;
};

// The gradients of layer_norm (`centred`) or rms_norm for x and weight, and of layer_norm for bias, by the
// formulas of their ops. Outputs: dx, or dweight first if `addend` is added to dx in f32; the sums over rows
// are made of partial sums of groups of rows.
struct NormBackward {
  bool centred = true;
  ValueId dy = -1, x = -1, weight = -1;
  std::optional<ValueId> addend;
  double eps = 0;
  int64_t rows = 1, columns = 1;
  int64_t first_axis = 1;                               // of x, for an injected fault
  int64_t dy_pitch = 1, x_pitch = 1, addend_pitch = 1;  // from row to row
};

// The gradient of softmax, or of log_softmax (`of_log`), from its result y, for rows of `columns` elements,
// times `scale` if there is one.
struct SoftmaxGradient {
  bool of_log = false;
  ValueId dy = -1, y = -1;
  std::optional<Scale> scale;
  int64_t rows = 1, columns = 1;
  int64_t dy_pitch = 1, y_pitch = 1;  // from row to row
};

// The norm of each row of x + addend, of length `columns`: LayerNorm by Welford's method, or RMSNorm. The
// norm reads the sum in f32. Outputs: the sum, if other nodes read it, then the norm.
struct AddNorm {
  enum class Kind : uint8_t { layer_norm, rms_norm };
  Kind kind = Kind::layer_norm;
  ValueId x = -1, addend = -1;
  std::optional<ValueId> weight, bias;
  double eps = 0;
  int64_t rows = 1, columns = 1;
  int64_t x_pitch = 1, addend_pitch = 1;  // from row to row
};

// activation(gate) * value, element by element in f32. Element (r, c) of an operand has the offset first +
// r pitch + c; the output is contiguous. If the graph casts the activation, it is rounded to that dtype.
struct Gate {
  struct Operand {
    ValueId value = -1;
    int64_t first = 0, pitch = 0;
  };
  Operand gate, value;
  int64_t rows = 1, columns = 1;
  Activation activation;
  std::optional<Dtype> cast;
};

// Products of one left operand x with several weights, computed as one product with all columns side by
// side. Outputs: one for each part, contiguous, in the order of the parts.
struct MergedProduct {
  struct Part {
    ValueId weight = -1;
    std::optional<ValueId> bias;  // one element for each column
    int64_t columns = 1;
    int64_t first = 0;  // the first column of its result in the whole product
  };
  ValueId x = -1;
  std::vector<ProductAxis> m, k;    // strides of x are in `a`; the rows of every output, in order
  bool weights_transposed = false;  // true: weights are [columns, depth], otherwise [depth, columns]
  std::vector<Part> parts;
};

// A tree of pointwise and select ops, computed element by element in f32. Only casts round inside.
struct PointwiseChain {
  struct Operand {
    ValueId value = -1;
    Shape strides;  // over `shape`; 0 along broadcast axes
  };
  using Step = PointwiseStep;  // its arguments below 0 are operands[-1 - i]
  Shape shape;
  std::vector<Operand> operands;
  std::vector<Step> steps;  // the last one is the output
};

// The output is a copy of the input, bit for bit.
struct Identity {
  ValueId input = -1;
};

// Element i of the output, in row-major order over `sizes`, is the input element with offset first + i .
// strides, bit for bit. `first` is 0 but for a slice of an input that has a layout.
struct ViewCopy {
  ValueId input = -1;
  Shape sizes, strides;
  int64_t first = 0;
};

// Triangle multiplication (AlphaFold 2, supplement, algorithms 11 and 12) of the two halves of the last axis
// of one tensor: out[b, i, j, c] = sum over k of left(i, k)[c] right(j, k)[c], in f32. Outgoing: (i, k) is
// [b, i, k] of x; incoming: [b, k, i].
struct TriangleProduct {
  ValueId x = -1;  // [batch, size, depth, 2 channels]; incoming: [batch, depth, size, 2 channels]
  int64_t batch = 1, size = 1, depth = 1, channels = 1;
  bool incoming = false;
  int64_t left = 0, right = 0;  // the first channel of x that each operand reads
};

// A state's next value, written in the memory of the old one. The state consists of `outer` runs of `size`
// slices of `inner` elements. In every run, slice i becomes the old slice (i + shift) mod size. Then slice
// i of the new rows, `count` in each run, is written to slice `first` + i, or to the slice that `indices`
// gives. `count` is 0 if there are no new rows.
struct CacheUpdate {
  ValueId cache = -1;
  int64_t outer = 1, size = 1, inner = 1;
  int64_t shift = 0;  // in [0, size)
  ValueId rows = -1;
  int64_t count = 0, first = 0;
  std::optional<ValueId> indices;  // i32[count], in range and distinct
  // From slice to slice and from run to run; 0 where the state is dense.
  int64_t slice_pitch = 0, run_pitch = 0;
  // injected fault: nodes that run later read the old state from overwritten memory
  bool old_value_lost = false;
};

// The sum over blocks of (a b^T) times one or two scales, in f32. a [blocks, rows, depth] and b [blocks,
// columns, depth] are quantized.
struct ScaledProduct {
  struct Factor {  // element (block, row, column) is at block * block_stride + ...; 0 where it is the same
    ValueId value = -1;
    int64_t block = 0, row = 0, column = 0;
  };
  ValueId a = -1, b = -1;
  int64_t blocks = 1, rows = 1, columns = 1, depth = 1;
  std::vector<Factor> factors;
  bool factors_first = false;  // the product is scaled by the product of both factors
};

// For each of `groups` runs of `size` elements of x, in f32: the scale, max(largest |x|, least) / `largest`,
// rounded to a power of two if `power` says how; and the codes, x / scale rounded as `to` says. Outputs: the
// scales, if other nodes read them, then the codes.
struct Quantize {
  ValueId x = -1, least = -1;
  int64_t groups = 1, size = 1;
  double largest = 1;
  std::optional<RoundTo> power;
  RoundTo to;
};

// x [rows, depth] w^T, w [columns, depth] being codes times the scale of their group, in f32.
struct DequantizedProduct {
  ValueId x = -1, codes = -1;  // codes [columns, groups, depth / groups]
  ValueId scale = -1;          // [columns, groups]
  int64_t rows = 1, columns = 1, groups = 1, depth = 1;
};

using FusedOp = std::variant<SingleNode, FusedGemm, MergedProduct, MultiplyReduce, FusedAttention,
                             AttentionBackward, WelfordNorm, FusedLogSoftmax, NormBackward, SoftmaxGradient,
                             AddNorm, Gate, PointwiseChain, Identity, ViewCopy, TriangleProduct, CacheUpdate,
                             ScaledProduct, Quantize, DequantizedProduct>;

// The product of the axes' sizes.
inline int64_t extent(const std::vector<ProductAxis>& axes) {
  int64_t size = 1;
  for (const ProductAxis& axis : axes) size *= axis.size;
  return size;
}

}  // namespace fusesmith::backends
