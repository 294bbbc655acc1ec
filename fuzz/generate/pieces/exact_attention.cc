// Attention on exact data. In the first form, queries and keys are rows of a Hadamard matrix: the score of
// a query with its own keys exceeds all others by 104 or more, so attention gathers the values of those
// keys; masks never hide these keys. In the second form, all keys are equal and attention is the mean of
// 2^k values. Only the second form detects one key too many.
#include <bit>
#include <cmath>
#include <limits>

#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

// Sizes of the attention. Each query matches 2^k keys.
struct KeyLookup {
  Shape leading;
  int64_t depth, queries, keys, matches;
  double value;   // magnitude of the elements of the rows
  bool in_order;  // query i matches key i
  bool flat;      // every query matches every key

  // Whether each query sees its matching keys, or 2^k of the equal keys, under a top-left causal mask.
  bool may_be_causal() const { return flat ? queries <= 2 : in_order && matches == 1 && queries <= keys; }
  bool may_be_bottom_right() const { return !flat || queries == 1 || keys == 2; }
};

KeyLookup random_lookup(Scene& s) {
  KeyLookup lookup;
  const auto rank = s.choices.below(3);
  if (rank > 0) lookup.leading.push_back(s.batch);
  if (rank > 1) lookup.leading.push_back(s.choices.between(1, 4));
  lookup.depth = s.choices.pick<int64_t>({4, 16, 16, 64, 64, 64});
  lookup.value = lookup.depth == 64 ? 4 : 8;
  lookup.flat = s.flip(0.35);
  if (lookup.flat) {
    lookup.keys = lookup.matches = int64_t{1} << s.choices.between(0, 7);
    lookup.in_order = false;
    lookup.queries = s.flip() ? s.dim() : s.choices.between(1, std::min<int64_t>(2, lookup.keys));
    return lookup;
  }
  lookup.keys = s.dim();
  lookup.matches = std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, lookup.keys / lookup.depth)));
  if (lookup.keys > lookup.depth) lookup.keys = lookup.depth * lookup.matches;
  lookup.in_order = s.flip();
  lookup.queries = lookup.in_order && s.flip() ? lookup.keys : s.dim();
  return lookup;
}

TensorType rows(Scene& s, const KeyLookup& lookup, int64_t count, int64_t width) {
  TensorType type{s.dtype, lookup.leading};
  type.shape.insert(type.shape.end(), {count, width});
  return type;
}

Value mask_of_ones(Scene& s, const KeyLookup& lookup) {
  return s.sketch.input("mask", {Dtype::boolean, {lookup.queries, lookup.keys}}, Constant{1});
}

CausalAlignment random_alignment(Scene& s, const KeyLookup& lookup) {
  return lookup.may_be_bottom_right() && s.flip() ? CausalAlignment::bottom_right : CausalAlignment::top_left;
}

// Applies a causal mask, or a mask that hides nothing, so that every query sees its matching keys.
Value hide(Scene& s, const KeyLookup& lookup, Value scores) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const Grid grid = s.sketch.grid(scores);
  switch (s.choices.below(4)) {
    case 1: {
      if (!lookup.may_be_causal()) return scores;
      const CausalAlignment alignment = random_alignment(s, lookup);
      return s.op(MaskedFill{kHidden}, {scores, s.op(CausalMask{lookup.queries, lookup.keys, alignment}, {})},
                  grid);
    }
    case 2:
      return s.op(MaskedFill{kHidden, true}, {scores, mask_of_ones(s, lookup)}, grid);
    case 3: {
      if (lookup.matches > 1) return scores;
      const Value m = s.sketch.input("m", {s.dtype, {lookup.queries, lookup.keys}}, Lattice{1, 2});
      return add_either_way(s, scores, m);
    }
    default:
      return scores;
  }
}

Value written_out(Scene& s, const KeyLookup& lookup, Value q, Value k, Value v, const Grid& p_grid,
                  const Grid& grid) {
  const double root = std::sqrt(static_cast<double>(lookup.depth));
  const bool before = s.flip(0.3);
  if (before) q = s.op(Scale{1 / root}, {q});
  Value scores;
  if (s.flip(0.6)) {
    scores = s.op(Matmul{false, true}, {q, k});
  } else {
    Permute transpose;
    for (int64_t axis = 0; axis < s.type(k).rank(); ++axis) transpose.dims.push_back(axis);
    std::swap(transpose.dims.end()[-1], transpose.dims.end()[-2]);
    scores = s.op(Matmul{}, {q, s.op(transpose, {k})});
  }
  if (!before && s.flip()) {
    scores = s.op(Scale{root, true}, {scores});
  } else if (!before) {
    scores = s.op(Div{}, {scores, s.sketch.input("c", {s.dtype, {}}, Constant{root})});
  }
  scores = hide(s, lookup, scores);
  Value p = s.op(Softmax{-1}, {scores}, p_grid);
  if (s.flip(0.3)) p = s.op(Dropout{}, {p});
  return s.op(Matmul{}, {p, v}, grid);
}

Value composite(Scene& s, const KeyLookup& lookup, Value q, Value k, Value v, const Grid& grid) {
  Sdpa op;
  // At depth 16 the square root of the scale is a power of two.
  if (lookup.depth == 16 && s.flip()) op.scale_on = Sdpa::ScaleOn::both;
  op.upcast = s.flip(0.4);
  std::vector<Value> inputs = {q, k, v};
  const auto kind = s.choices.below(4);
  if (kind == 1 && lookup.may_be_causal()) {
    op.mask = Sdpa::Mask::causal;
    op.alignment = random_alignment(s, lookup);
  } else if (kind == 2) {
    op.mask = Sdpa::Mask::boolean;
    inputs.push_back(mask_of_ones(s, lookup));
  } else if (kind == 3 && lookup.matches == 1) {
    op.mask = Sdpa::Mask::additive;
    inputs.push_back(s.sketch.input("m", {s.dtype, {lookup.queries, lookup.keys}}, Lattice{1, 2}));
  }
  return s.op(op, inputs, grid);
}

}  // namespace

bool add_exact_attention(Scene& s) {
  const KeyLookup lookup = random_lookup(s);
  const TensorType queries = rows(s, lookup, lookup.queries, lookup.depth),
                   keys = rows(s, lookup, lookup.keys, lookup.depth);
  Value q, k;
  if (lookup.flat) {
    q = s.like(queries);
    k = s.sketch.input("k", keys, Constant{s.choices.pick({1.0, -1.0, 0.5})});
    // The intermediate values of the composite op must be exact as well, in the dtype of its inputs.
    const Grid grids[] = {s.sketch.grid(q), s.sketch.grid(k)};
    const TensorType types[] = {queries, keys}, scores = rows(s, lookup, lookup.queries, lookup.keys);
    if (!grid_of(Matmul{false, true}, grids, types, scores)) return false;
  } else {
    const int64_t different = std::min(lookup.keys, lookup.depth);
    q = s.sketch.input("q", queries, Hadamard{lookup.value, different, !lookup.in_order});
    k = s.sketch.input("k", keys, Hadamard{lookup.value, different});
  }
  const Value v = s.like(rows(s, lookup, lookup.keys, s.flip() ? lookup.depth : s.dim(64)));
  const int halvings = std::countr_zero(static_cast<uint64_t>(lookup.matches));
  const Grid p_grid{-halvings, 1};
  const Grid values = s.sketch.grid(v), grid{values.step - halvings, values.largest};
  s.keep(s.flip(0.6) ? written_out(s, lookup, q, k, v, p_grid, grid) : composite(s, lookup, q, k, v, grid));
  return true;
}

}  // namespace fusesmith::fuzz
