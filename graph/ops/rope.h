// Rotary position embedding (Su et al. 2021).
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

// cos and sin are inputs of half the width, as inference kernels take them (vLLM, FlashAttention, ONNX's
// RotaryEmbedding): models compute these tables once, in f32, and share them over all layers.
struct Rope {
  enum class Pairing : uint8_t {
    half,        // elements i and i + d/2 of the last axis (Llama as Hugging Face has it, GPT-NeoX)
    interleaved  // elements 2i and 2i + 1 (Llama as published, GPT-J)
  };
  Pairing pairing = Pairing::half;
  int64_t rotary_dim = 0;  // only the first so many elements of the last axis are rotated (GPT-NeoX); 0: all

  static constexpr std::string_view kPairings[] = {"half", "interleaved"};
  static constexpr OpInfo info{
      "rope",
      "Pairs (a, b) of the last axis, or of its first `rotary_dim` elements, rotated: "
      "(a cos - b sin, b cos + a sin); an infinity times 0 is NaN.",
      3, 3, OpClass::product};
  static constexpr auto fields() {
    return std::tuple{Field{"pairing", &Rope::pairing, AnyOf{kPairings}},
                      Field{"rotary_dim", &Rope::rotary_dim, IntRange{0, 1 << 16}}};
  }
  bool operator==(const Rope&) const = default;
  // Of a last axis of d elements.
  int64_t rotated(int64_t d) const { return rotary_dim > 0 ? rotary_dim : d; }

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  std::optional<Grid> grid(const GridOperands& x) const {
    const auto turned =
        grid_rules::total(grid_rules::product_of(x.in[0], grid_rules::joined(x.in[1], x.in[2])), 2);
    return turned && rotary_dim > 0 ? grid_rules::joined(*turned, x.in[0]) : turned;
  }
  OutputForms scaling(ScalingNode& node) const {
    node.equal(node.in(1), node.in(2));
    if (rotary_dim > 0) node.equal(node.in(1), node.none());  // what is not rotated is not scaled with them
    return {combined(node.in(0), 1, node.in(1))};
  }
  static void axis_relations(AxisRelations& axes) {
    for (size_t i = 0; i < 3; ++i) axes.align(i, 1, 1);
    for (size_t i = 0; i < 4; ++i) axes.fix(i, axes.rank(i) - 1);
  }
};

// x [..., d]; cos, sin of the same float dtype that broadcast to [..., r/2], their last axis r/2, where r of
// the d elements are rotated -> the type of x.
inline Result<Types> infer(const Rope& op, TypeSpan inputs) {
  const TensorType& x = inputs[0];
  if (!is_float(x.dtype) || x.rank() < 1 || (op.rotary_dim == 0 && x.shape.back() % 2 != 0))
    return expected("a float tensor with a last axis of even size, got " + to_string(x));
  if (op.rotary_dim % 2 != 0 || op.rotary_dim > x.shape.back())
    return expected("an even rotary_dim of at most the last axis of " + to_string(x) + ", got " +
                    std::to_string(op.rotary_dim));
  TensorType half = x;
  half.shape.back() = op.rotated(x.shape.back()) / 2;
  for (const TensorType& table : inputs.subspan(1)) {
    const auto shape = broadcast(table.shape, half.shape);
    const bool fits = table.dtype == x.dtype && shape && *shape == half.shape && table.rank() >= 1 &&
                      table.shape.back() == half.shape.back();
    if (!fits)
      return expected("cos and sin that broadcast to " + to_string(half) + " but along its last axis, got " +
                      to_string(table));
  }
  return one(x);
}

// Where pair i of a row stands whose first `rotated` elements are rotated.
struct RopePair {
  int64_t first, second;
};
inline RopePair rope_pair(Rope::Pairing pairing, int64_t i, int64_t rotated) {
  if (pairing == Rope::Pairing::half) return {i, i + rotated / 2};
  return {2 * i, 2 * i + 1};
}

}  // namespace fusesmith::graph
