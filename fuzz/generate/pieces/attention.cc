// Attention in unfused ops, in the forms that frameworks and users write: scale before or after the
// product, as a multiplication or a division, by a number or a tensor; all kinds of masks in either
// operand order; K transposed by matmul, by permute or by einsum; one head or several; dropout.
#include <cmath>
#include <limits>

#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// x times `factor`, or divided by its inverse, in one of the common forms.
Value scaled(Scene& s, Value x, double factor) {
  switch (s.choices.below(4)) {
    case 1:
      return s.op(Scale{1 / factor, true}, {x});
    case 2: {
      const Value c = s.sketch.input("c", {s.type(x).dtype, {}}, Constant{1 / factor});
      return s.op(Div{}, {x, c});
    }
    case 3: {
      const Value c = s.sketch.input("c", {s.type(x).dtype, {}}, Constant{factor});
      return s.flip() ? s.op(Mul{}, {x, c}) : s.op(Mul{}, {c, x});
    }
    default:
      return s.op(Scale{factor}, {x});
  }
}

// q k^T.
Value scores_of(Scene& s, Value q, Value k) {
  const int rank = s.type(q).rank();
  if (s.flip(0.5)) return s.op(Matmul{false, true}, {q, k});
  const bool same_leading =
      Shape(s.shape(q).begin(), s.shape(q).end() - 2) == Shape(s.shape(k).begin(), s.shape(k).end() - 2);
  if (same_leading && s.flip(0.3)) {
    const std::string leading = std::string("bhxy").substr(0, static_cast<size_t>(rank - 2));
    return s.op(Einsum{leading + "td," + leading + "sd->" + leading + "ts"}, {q, k});
  }
  Permute transpose;
  for (int64_t axis = 0; axis < s.type(k).rank(); ++axis) transpose.dims.push_back(axis);
  // Where sizes happen to be equal, k may also be used untransposed: not attention, although the shapes
  // fit.
  const bool as_it_lies =
      s.shape(k).end()[-1] == s.shape(k).end()[-2] && s.shape(k).back() > 1 && s.flip(0.3);
  if (!as_it_lies) std::swap(transpose.dims.end()[-1], transpose.dims.end()[-2]);
  return s.op(Matmul{}, {q, s.op(transpose, {k})});
}

// A shape that broadcasts to the scores [..., t, s]: the last two axes, or all with some of size 1.
Shape mask_shape(Scene& s, const Shape& scores) {
  if (s.flip(0.4)) return Shape(scores.end() - 2, scores.end());
  Shape shape = scores;
  for (size_t axis = 1; axis + 1 < shape.size(); ++axis) {
    if (s.flip(0.6)) shape[axis] = 1;
  }
  return shape;
}

// A mask that is true where a key is hidden, or true where it is visible. Usually few keys are hidden;
// occasionally all keys of a row, whose softmax is then NaN.
Value bool_mask(Scene& s, const Shape& shape, bool true_hides) {
  const double hidden = s.choices.pick({0.1, 0.1, 0.1, 0.25, 0.25, 0.0, 0.0, 0.6});
  return s.mask(shape, true_hides ? hidden : 1 - hidden);
}

Value hide(Scene& s, Value scores, Value hidden) {
  const Dtype dtype = s.type(scores).dtype;
  const double value = s.flip(0.8) ? kMinusInfinity : s.choices.pick({-1e4, -3e4, -100.0});
  if (s.flip(0.7)) return s.op(MaskedFill{value}, {scores, hidden});
  const Value fill = s.sketch.input("c", {dtype, {}}, Constant{value});
  return s.op(Where{}, {hidden, fill, scores});
}

// A mask to add: a bias that depends on positions, or zeros with -inf where a key is hidden.
Value additive_mask(Scene& s, const TensorType& scores) {
  const Shape shape = mask_shape(s, scores.shape);
  if (s.flip(0.6)) return s.source("m", {scores.dtype, shape}, Role::bias);
  const Value zeros = s.sketch.input("m", {scores.dtype, shape}, Constant{0});
  return s.op(MaskedFill{kMinusInfinity}, {zeros, bool_mask(s, shape, true)});
}

Value masked(Scene& s, Value scores) {
  const TensorType type = s.type(scores);
  const int64_t t = type.shape.end()[-2], keys = type.shape.back();
  switch (s.choices.below(6)) {
    case 1: {
      const auto alignment =
          t <= keys && s.flip() ? CausalAlignment::bottom_right : CausalAlignment::top_left;
      CausalMask hidden{t, keys, alignment};
      if (t <= keys && s.flip(0.3)) {
        hidden.window = s.choices.between(1, keys);
        hidden.shows_future = s.flip(0.3);
      }
      return hide(s, scores, s.op(hidden, {}));
    }
    case 2:
      return hide(s, scores, bool_mask(s, mask_shape(s, type.shape), true));
    case 3: {
      const Value mask = bool_mask(s, mask_shape(s, type.shape), false);
      if (s.flip()) return s.op(MaskedFill{kMinusInfinity, true}, {scores, mask});
      return s.op(Where{}, {mask, scores, s.sketch.input("c", {type.dtype, {}}, Constant{kMinusInfinity})});
    }
    case 4:
      return add_either_way(s, scores, additive_mask(s, type));
    default:
      return scores;
  }
}

// [b, t, h e] -> [b, h, t, e].
Value split_heads(Scene& s, Value x, int64_t heads) {
  const Shape shape = s.shape(x);
  x = s.op(Reshape{{shape[0], shape[1], heads, shape[2] / heads}}, {x});
  return s.op(Permute{{0, 2, 1, 3}}, {x});
}

Value merge_heads(Scene& s, Value x) {
  x = s.op(Permute{{0, 2, 1, 3}}, {x});
  const Shape shape = s.shape(x);
  return s.op(Reshape{{shape[0], shape[1], shape[2] * shape[3]}}, {x});
}

// PyTorch's SDPA pattern 11 contains a single head, written as an unsqueeze and an identity permutation.
Value one_head(Scene& s, Value x, bool identity_permute) {
  x = s.op(Unsqueeze{1}, {x});
  return identity_permute ? s.op(Permute{{0, 1, 2, 3}}, {x}) : x;
}

}  // namespace

Value repeat_heads(Scene& s, Value x, int64_t heads) {
  const Shape shape = s.shape(x);
  x = s.op(Unsqueeze{2}, {x});
  x = s.op(BroadcastTo{{shape[0], shape[1], heads / shape[1], shape[2], shape[3]}}, {x});
  return s.op(Reshape{{shape[0], heads, shape[2], shape[3]}}, {x});
}

Value attend(Scene& s, Value q, Value k, Value v) {
  const double scale =
      s.flip(0.9) ? 1 / std::sqrt(static_cast<double>(s.shape(q).back())) : s.choices.pick({0.5, 0.125, 1.0});
  const auto where = s.choices.below(5);  // usually on the scores
  if (where == 3) q = scaled(s, q, scale);
  if (where == 4) {
    q = scaled(s, q, std::sqrt(scale));
    k = scaled(s, k, std::sqrt(scale));
  }
  Value scores = scores_of(s, q, k);
  const Dtype dtype = s.type(scores).dtype;
  const bool in_f32 = dtype != Dtype::f32 && s.flip(0.2);
  if (in_f32) scores = s.op(Cast{Dtype::f32}, {scores});
  if (where < 3) scores = scaled(s, scores, scale);
  if (s.flip(0.1)) scores = s.op(Softcap{s.choices.pick({1.0, 20.0, 50.0})}, {scores});
  scores = masked(s, scores);
  Value p = s.op(Softmax{s.flip(0.8) ? -1 : s.type(scores).rank() - 1}, {scores});
  if (in_f32) p = s.op(Cast{dtype}, {p});
  if (s.flip(0.3)) p = s.op(Dropout{}, {p});
  if (s.flip(0.05)) s.keep(p);
  return s.op(Matmul{}, {p, v});
}

std::optional<Value> self_attention(Scene& s, Value x) {
  const TensorType type = s.type(x);
  if (type.rank() != 3) return std::nullopt;
  const int64_t batch = type.shape[0], width = type.shape[2];
  const Value memory = s.flip(0.8) ? x : s.like({type.dtype, {batch, s.dim(), width}});
  const int64_t heads = s.choices.pick<int64_t>({1, 2, 3, 4, 6, 8}),
                size = std::max<int64_t>(1, s.flip() ? width / heads : s.dim(64));
  const int form =
      static_cast<int>(s.choices.below(5));  // flat, one head, many heads, shared keys and values, groups
  const int64_t inner = form < 2 ? size : heads * size;
  const int64_t groups =
      heads % 2 == 0 && s.flip() ? (heads % 3 == 0 && s.flip() ? heads / 3 : heads / 2) : 1;
  const int64_t shared_inner = form == 4 ? groups * size : form == 3 ? size : inner;
  Value q = project(s, x, inner), k = project(s, memory, shared_inner), v = project(s, memory, shared_inner),
        out;
  if (form == 0) {
    out = attend(s, q, k, v);
  } else if (form == 1) {
    const bool identity_permute = s.flip(0.7);
    for (Value* part : {&q, &k, &v}) *part = one_head(s, *part, identity_permute);
    out = attend(s, q, k, v);
    if (identity_permute) out = s.op(Permute{{0, 1, 2, 3}}, {out});
    out = s.op(Squeeze{1}, {out});
  } else if (form == 2) {
    for (Value* part : {&q, &k, &v}) *part = split_heads(s, *part, heads);
    out = merge_heads(s, attend(s, q, k, v));
  } else if (form == 4) {
    q = split_heads(s, q, heads);
    for (Value* part : {&k, &v}) *part = repeat_heads(s, split_heads(s, *part, groups), heads);
    out = merge_heads(s, attend(s, q, k, v));
  } else {
    k = s.op(Unsqueeze{1}, {k});
    v = s.op(Unsqueeze{1}, {v});
    if (s.flip(0.4)) {
      const Shape shared = {batch, heads, s.shape(memory)[1], size};
      k = s.op(BroadcastTo{shared}, {k});
      v = s.op(BroadcastTo{shared}, {v});
    }
    q = split_heads(s, q, heads);
    out = merge_heads(s, attend(s, q, k, v));
  }
  return s.flip(0.8) ? project(s, out, width) : out;
}

bool add_attention(Scene& s) {
  if (s.flip(0.3)) {  // only the core, on live values
    const Value q = s.any(2, 4);
    TensorType key = s.type(q), value = key;
    key.shape.end()[-2] = s.choices.pick({key.shape.end()[-2], key.shape.back(), s.dim()});
    value.shape.end()[-2] = key.shape.end()[-2];
    if (s.flip(0.3)) value.shape.back() = s.dim(64);
    const Value k = s.like(key), v = s.like(value);
    s.keep(attend(s, q, k, v));
    return true;
  }
  const Value x = s.any(3, 3);
  const auto out = self_attention(s, s.flip(0.4) ? normalize(s, x) : x);
  if (!out) return false;
  s.keep(s.type(*out) == s.type(x) && s.flip(0.6) ? add_either_way(s, x, *out) : *out);
  return true;
}

}  // namespace fusesmith::fuzz
