// Scaled dot-product attention as one op whose attributes say how it computes; defined by its expansion
// (graph/expand.h).
#pragma once

#include "graph/op_fields.h"
#include "graph/ops/causal_mask.h"

namespace fusesmith {

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
  double scale = 0;  // 0 stands for 1 / sqrt(head size)

  static constexpr std::string_view kScaleOn[] = {"scores", "both"};
  static constexpr std::string_view kMasks[] = {"none", "causal", "boolean", "additive"};
  static constexpr OpInfo info{
      "sdpa",
      "softmax(scale q k^T + mask) v; a boolean mask is true where a key takes "
      "part; a row with no key is NaN; a hidden key has weight 0, which makes NaN of an infinity in v.",
      3, 4, OpClass::composite};
  static constexpr auto fields() {
    return std::tuple{Field{"scale_on", &Sdpa::scale_on, AnyOf{kScaleOn}},
                      Field{"upcast", &Sdpa::upcast, Free{"compute in f32"}},
                      Field{"mask", &Sdpa::mask, AnyOf{kMasks}},
                      Field{"alignment", &Sdpa::alignment, AnyOf{kCausalAlignments}},
                      Field{"scale", &Sdpa::scale, RealRange{0, 1e6}}};
  }
  bool operator==(const Sdpa&) const = default;
};

// q [..., t, d], k [..., s, d], v [..., s, e], mask [..., t, s] (only for mask boolean or additive); leading
// axes of q, k and v are equal, the mask's broadcast to them -> [..., t, e].
inline Result<Types> infer(const Sdpa& op, TypeSpan inputs) {
  const TensorType &q = inputs[0], &k = inputs[1], &v = inputs[2];
  const std::string got = ", got " + to_string(q) + ", " + to_string(k) + " and " + to_string(v);
  if (!is_float(q.dtype) || q.dtype != k.dtype || q.dtype != v.dtype)
    return expected("q, k, v of one float dtype" + got);
  const size_t rank = q.shape.size();
  if (rank < 2 || k.shape.size() != rank || v.shape.size() != rank)
    return expected("q, k, v of one rank, 2 or more" + got);
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (q.shape[i] != k.shape[i] || q.shape[i] != v.shape[i]) return expected("equal leading axes" + got);
  }
  if (q.shape[rank - 1] != k.shape[rank - 1]) return expected("q and k of one head size" + got);
  if (k.shape[rank - 2] != v.shape[rank - 2]) return expected("as many keys as values" + got);
  const bool takes_mask = op.mask == Sdpa::Mask::boolean || op.mask == Sdpa::Mask::additive;
  if (takes_mask != (inputs.size() == 4)) {
    return expected("a fourth input exactly when mask is \"boolean\" or \"additive\"");
  }
  if (takes_mask) {
    Shape scores(q.shape.begin(), q.shape.end() - 1);
    scores.push_back(k.shape[rank - 2]);
    const Dtype dtype = op.mask == Sdpa::Mask::boolean ? Dtype::boolean : q.dtype;
    const auto shape = broadcast(inputs[3].shape, scores);
    if (inputs[3].dtype != dtype || !shape || *shape != scores) {
      return expected("a mask that broadcasts to " + to_string(TensorType{dtype, scores}) + ", got " +
                      to_string(inputs[3]));
    }
  }
  TensorType y = q;
  y.shape.back() = v.shape.back();
  return one(y);
}

}  // namespace fusesmith
