// Projections: linear, matmul and einsum with shared, transposed and batch-specific weights. Biases are
// part of the op, added, or slices of longer tensors.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

// Projects x [..., k] by an einsum whose weight may be transposed, or differ for each batch element
// ("bid,bdh->bih").
Value einsum_projection(Scene& s, Value x, int64_t n) {
  const Shape& shape = s.shape(x);
  const int64_t k = shape.back();
  std::string rows = std::string("abcdefg").substr(0, shape.size() - 1);
  std::string weight_labels = s.flip(0.7) ? "kn" : "nk";
  Shape weight_shape = weight_labels == "kn" ? Shape{k, n} : Shape{n, k};
  if (shape.size() >= 3 && s.flip(0.4)) {
    weight_labels.insert(weight_labels.begin(), 'a');
    weight_shape.insert(weight_shape.begin(), shape.front());
  }
  const Value w = s.weight({s.type(x).dtype, weight_shape}, k);
  const bool swapped = s.flip(0.15);
  const std::string a = rows + "k";
  const std::string equation =
      (swapped ? weight_labels + "," + a : a + "," + weight_labels) + "->" + rows + "n";
  return swapped ? s.op(Einsum{equation}, {w, x}) : s.op(Einsum{equation}, {x, w});
}

Value matmul_projection(Scene& s, Value x, int64_t n) {
  const Shape& shape = s.shape(x);
  const int64_t k = shape.back();
  const bool transposed = s.flip(0.4);
  Shape weight_shape = transposed ? Shape{n, k} : Shape{k, n};
  if (shape.size() >= 3 && s.flip(0.25)) weight_shape.insert(weight_shape.begin(), shape[shape.size() - 3]);
  return s.op(Matmul{false, transposed}, {x, s.weight({s.type(x).dtype, weight_shape}, k)});
}

Value linear_projection(Scene& s, Value x, int64_t n, bool biased) {
  const Dtype dtype = s.type(x).dtype;
  const int64_t k = s.shape(x).back();
  std::vector<Value> inputs = {x, s.weight({dtype, {n, k}}, k)};
  if (biased) inputs.push_back(s.bias({dtype, {n}}));
  return s.op(Linear{}, inputs);
}

// A bias of this shape, sliced from a tensor that is longer along some axes.
Value sliced_bias(Scene& s, const TensorType& type) {
  TensorType longer = type;
  std::vector<int64_t> cut;
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (!s.flip(0.5)) continue;
    longer.shape[axis] += s.choices.between(0, 3);
    cut.push_back(static_cast<int64_t>(axis));
  }
  Value b = s.bias(longer);
  for (int64_t axis : cut) {
    const int64_t size = type.shape[static_cast<size_t>(axis)];
    const int64_t start = s.choices.between(0, s.shape(b)[static_cast<size_t>(axis)] - size);
    b = s.op(Slice{axis, start, start + size}, {b});
  }
  return b;
}

}  // namespace

Value add_either_way(Scene& s, Value a, Value b) {
  return s.flip(0.7) ? s.op(Add{}, {a, b}) : s.op(Add{}, {b, a});
}

Value add_bias(Scene& s, Value x) {
  const TensorType type = s.type(x);
  const Value b = s.flip(0.6)   ? s.bias({type.dtype, {type.shape.back()}})
                  : s.flip(0.5) ? sliced_bias(s, type)
                                : s.broadcastable(type, Role::bias);
  return add_either_way(s, x, b);
}

Value project(Scene& s, Value x, int64_t n) {
  const int rank = s.type(x).rank();
  const bool biased = s.flip(0.6);
  const int form = rank < 2 ? 0 : static_cast<int>(s.choices.below(3));
  if (form == 0) return linear_projection(s, x, n, biased);
  const Value y = form == 1 ? matmul_projection(s, x, n) : einsum_projection(s, x, n);
  return biased ? add_bias(s, y) : y;
}

bool add_projection(Scene& s) {
  const Value x = s.any(1, 5);
  Value y = project(s, x, s.flip(0.5) ? s.width : s.dim());
  if (s.flip(0.4)) y = activate(s, y);
  s.keep(y);
  return true;
}

// One product for q, k and v (or any two or three values), split into its parts.
bool add_merged_projection(Scene& s) {
  const Value x = s.any(2, 4);
  const int64_t parts = s.choices.between(2, 3), n = s.flip(0.5) ? s.width : s.dim(64);
  const bool merged = s.flip(0.5);
  const Value all = merged ? project(s, x, parts * n) : x;
  for (int64_t i = 0; i < parts; ++i) {
    s.keep(merged ? s.op(Slice{-1, i * n, (i + 1) * n}, {all}) : project(s, x, n));
  }
  return true;
}

// Products of two live values: matmul with all transpositions and broadcast leading axes, and other forms
// of einsum.
bool add_batched_product(Scene& s) {
  const Value a = s.any(2, 4);
  const TensorType type = s.type(a);
  const int64_t m = type.shape[type.shape.size() - 2], k = type.shape.back();
  const int64_t n = s.flip(0.5) ? m : s.dim();
  if (s.flip(0.5)) {
    const bool transpose_a = s.flip(0.3), transpose_b = s.flip(0.5);
    Shape other(type.shape.begin(), type.shape.end() - 2);
    if (!other.empty() && s.flip(0.2)) other.erase(other.begin());
    if (!other.empty() && s.flip(0.2)) other.front() = 1;
    const int64_t inner = transpose_a ? m : k;
    other.insert(other.end(), {transpose_b ? n : inner, transpose_b ? inner : n});
    const Value b = s.flip(0.5) ? s.like({type.dtype, other}) : s.weight({type.dtype, other}, inner);
    s.keep(s.op(Matmul{transpose_a, transpose_b}, {a, b}));
    return true;
  }
  if (type.rank() != 3) return false;
  const int64_t batch = type.shape[0];
  struct Form {
    const char* equation;
    Shape other;
    int64_t inner;
  };
  const std::vector<Form> forms = {
      {"bid,bjd->bij", {batch, n, k}, k},
      {"bij,bjd->bid", {batch, k, n}, k},
      {"bid,bid->bi", {batch, m, k}, k},
      {"bid,bij->bdj", {batch, m, n}, m},
      {"bid,jd->bji", {n, k}, k},
      {"bid,d->bi", {k}, k},
      {"bid,bid->bd", {batch, m, k}, m},
      {"bid,bid->bid", {batch, m, k}, 1},
      {"bid,i->bid", {m}, 1},
      {"bid,bjd->ij", {batch, n, k}, batch * k},
      {"bid,jk->bidjk", {3, 2}, 1},
      {"bid,bd->bid", {batch, k}, 1},
  };
  const Form& form = s.choices.pick(std::span<const Form>(forms));
  const TensorType other{type.dtype, form.other};
  const Value b = s.flip(0.4) ? s.like(other) : s.weight(other, form.inner);
  s.keep(s.op(Einsum{form.equation}, {a, b}));
  return true;
}

}  // namespace fusesmith::fuzz
