#include "oracle/online_softmax.h"

namespace fusesmith::oracle {

void declare_online_softmax(Contract& contract, const std::string& p, const std::string& product,
                            Dtype p_dtype, double rescales, double exp) {
  contract.unnormalised.push_back(product);
  if (is_narrow(p_dtype)) {
    contract.deviations.push_back({Deviation::Kind::move, p, p_dtype, unit_roundoff(p_dtype),
                                   "probabilities are rounded before their normalisation"});
  }
  if (rescales > 0)
    contract.slacks.push_back({p, rescales * (exp + 2) * kU, "rescaled each time the running maximum moves"});
}

void declare_online_attention(Contract& contract, const Node& node, Dtype dtype, double rescales,
                              double exp) {
  const auto& op = std::get<Sdpa>(node.op);
  if (is_narrow(dtype) && !op.upcast) {
    const bool both = op.scale_on == Sdpa::ScaleOn::both;
    const auto drop = [&](const char* inner) {
      contract.deviations.push_back(
          {Deviation::Kind::drop, node.name + "/" + inner, dtype, 0, "stays in f32 inside the fused kernel"});
    };
    if (both) drop("q_scaled");
    if (both) drop("k_scaled");
    drop("scores");
    if (!both) drop("scaled");
    if (op.softcap != 0) drop("capped");
    if (op.mask == Sdpa::Mask::additive) drop("masked");
  }
  declare_online_softmax(contract, node.name + "/p", node.name + "/out", op.upcast ? Dtype::f32 : dtype,
                         rescales, exp);
}

double most_rescales(const Graph& graph, const Node& attention) {
  constexpr int64_t kSmallestKeyBlock = 16;
  const TensorType& v = graph.type(attention.inputs[2]);
  return static_cast<double>((v.shape[v.shape.size() - 2] - 1) / kSmallestKeyBlock);
}

}  // namespace fusesmith::oracle
