// Scaled dot-product attention as one op whose attributes say how it computes; defined by its expansion
// (graph/expand.h).
#pragma once

#include "graph/op_fields.h"
#include "graph/ops/causal_mask.h"

namespace fusesmith::graph {

struct Sdpa {
  enum class ScaleOn : uint8_t {
    scores,
    both
  };  // on q k^T, or its square root on q and on k before the product
  enum class Mask : uint8_t { none, causal, boolean, additive };

  ScaleOn scale_on = ScaleOn::scores;
  bool upcast = false;  // f16 and bf16 operands are cast to f32 first, the result is cast back
  Mask mask = Mask::none;
  CausalAlignment alignment = CausalAlignment::top_left;
  double scale = 0;            // 0 stands for 1 / sqrt(head size)
  bool grouped_heads = false;  // k and v may have fewer heads: query head h reads head h / (heads / fewer)
  int64_t window = 0;          // as of causal_mask, with mask none (which shows the future) or causal
  double softcap = 0;          // c: scaled scores become c tanh(scores / c) before the mask; 0: they stay

  static constexpr std::string_view kScaleOn[] = {"scores", "both"};
  static constexpr std::string_view kMasks[] = {"none", "causal", "boolean", "additive"};
  static constexpr double kSmallestCap = 0.01;
  static constexpr OpInfo info{
      "sdpa",
      "softmax(softcap(scale q k^T) + mask) v; a boolean mask is true for visible keys; a row without a "
      "visible key is NaN; a hidden key has weight 0, so that an infinity in v gives NaN.",
      3, 4, OpClass::composite};
  static constexpr auto fields() {
    return std::tuple{
        Field{"scale_on", &Sdpa::scale_on, AnyOf{kScaleOn}},
        Field{"upcast", &Sdpa::upcast, Free{"compute in f32"}},
        Field{"mask", &Sdpa::mask, AnyOf{kMasks}},
        Field{"alignment", &Sdpa::alignment, AnyOf{kCausalAlignments}},
        Field{"scale", &Sdpa::scale, RealRange{0, 1e6}},
        Field{"grouped_heads", &Sdpa::grouped_heads, Free{"neighbouring heads of q share one of k and v"}},
        Field{"window", &Sdpa::window, IntRange{0, 1 << 16}},
        Field{"softcap", &Sdpa::softcap, RealRange{0, 10000}}};
  }
  bool operator==(const Sdpa&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = true;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::never;
  static Work work(TypeSpan inputs, const TensorType& output);
  static OutputForms scaling(ScalingNode& node);
  void axis_relations(AxisRelations& axes) const;

  bool takes_mask() const { return mask == Mask::boolean || mask == Mask::additive; }
};

// q [..., t, d], k [..., s, d], v [..., s, e], mask [..., t, s] (only for mask boolean or additive); leading
// axes of q, k and v are equal, the mask's broadcast to q's -> [..., t, e]. With grouped_heads the last
// leading axis, the heads, of k and v divides q's.
Result<Types> infer(const Sdpa& op, TypeSpan inputs);

}  // namespace fusesmith::graph
