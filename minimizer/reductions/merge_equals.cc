#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

std::vector<Edits> propose_merge_equals(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  std::vector<Edits> proposals;
  const auto merge = [&](ValueId value, ValueId into) {
    proposals.push_back({Merge{graph.name(value), graph.name(into)}});
  };
  const auto& nodes = graph.nodes();
  for (size_t b = 0; b < nodes.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      const bool equal =
          nodes[a].op == nodes[b].op && nodes[a].inputs == nodes[b].inputs && nodes[b].output_count == 1;
      if (equal) merge(nodes[b].first_output, nodes[a].first_output);
    }
  }
  const int inputs = static_cast<int>(graph.inputs().size());
  for (ValueId b = 1; b < inputs; ++b) {
    for (ValueId a = 0; a < b; ++a) {
      if (graph.type(a) == graph.type(b)) merge(b, a);
    }
  }
  return proposals;
}

}  // namespace

const Reduction kMergeEquals{"merge_equals", "Make one of two inputs of one type, or of two equal nodes.",
                             propose_merge_equals};

}  // namespace fusesmith::minimizer
