// Let the readers of a node read one of its operands instead. Shapes are inferred again, so that the operand
// need not have the node's type. Two movements are also removed together: one may add the axis that the other
// removes.
#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

constexpr size_t kMaxMovements = 16;  // of which pairs are tried

std::vector<Edits> propose_bypass(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  std::vector<Edits> proposals, others, movements;
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Bypass bypass{node.name, static_cast<int>(i)};
      const bool same_type = graph.type(node.inputs[i]) == graph.type(node.first_output);
      (same_type ? proposals : others).push_back({bypass});
      if (i == 0 && info(node.op).op_class == OpClass::movement) movements.push_back({bypass});
    }
  }
  proposals.insert(proposals.end(), others.begin(), others.end());
  for (size_t i = 0; i < movements.size() && movements.size() <= kMaxMovements; ++i) {
    for (size_t j = i + 1; j < movements.size(); ++j) proposals.push_back({movements[i][0], movements[j][0]});
  }
  if (movements.size() > 2) {
    Edits all;
    for (const Edits& movement : movements) all.push_back(movement[0]);
    proposals.push_back(all);
  }
  return proposals;
}

}  // namespace

const Reduction kBypass{"bypass", "Replace a node by one of its operands.", propose_bypass};

}  // namespace fusesmith::minimizer
