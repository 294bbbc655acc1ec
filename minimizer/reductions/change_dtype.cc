#include "minimizer/reductions.h"
#include "minimizer/retype.h"

namespace fusesmith::minimizer {
namespace {

// f32 everywhere, then in each group of values that casts part from the others.
std::vector<Edits> propose_change_dtype(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  std::vector<Edits> groups;
  std::vector<bool> seen(static_cast<size_t>(graph.value_count()), false);
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    if (!is_narrow(graph.type(v).dtype) || seen[static_cast<size_t>(v)]) continue;
    const std::vector<bool> group = dtype_group(graph, v);
    for (size_t i = 0; i < group.size(); ++i) seen[i] = seen[i] || group[i];
    groups.push_back({ChangeDtype{graph.name(v), Dtype::f32}});
  }
  if (groups.empty()) return {};
  std::vector<Edits> proposals = {{ChangeDtype{"", Dtype::f32}}};
  if (groups.size() > 1) proposals.insert(proposals.end(), groups.begin(), groups.end());
  return proposals;
}

}  // namespace

const Reduction kChangeDtype{"change_dtype", "Store f32 instead of f16 and bf16.", propose_change_dtype,
                             true};

}  // namespace fusesmith::minimizer
