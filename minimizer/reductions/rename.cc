// Names that say what they name. Data that is drawn depends on the name of its tensor, so that a renamed case
// may pass: then only what leaves the data as it is, then each name alone.
#include "minimizer/naming.h"
#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

using Names = std::map<std::string, std::string>;

Names without_drawn(Names names, const Graph& graph) {
  const auto keep = [&](const auto& source) {
    if (!is_fixed(source.fill)) names.erase(source.name);
  };
  for (const Input& input : graph.inputs()) keep(input);
  for (const State& state : graph.states()) keep(state);
  return names;
}

std::vector<Edits> propose_rename(const Situation& now) {
  const Names all = descriptive_renames(now.test_case.graph);
  if (all.empty()) return {};
  std::vector<Edits> proposals = {{Rename{all}}};
  const Names same_data = without_drawn(all, now.test_case.graph);
  if (!same_data.empty() && same_data != all) proposals.push_back({Rename{same_data}});
  for (const auto& name : all) {
    if (all.size() > 1) proposals.push_back({Rename{{name}}});
  }
  return proposals;
}

}  // namespace

const Reduction kRename{"rename", "Name inputs, states and nodes after what they are.", propose_rename};

}  // namespace fusesmith::minimizer
