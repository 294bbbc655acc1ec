#include "minimizer/draft.h"
#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

std::vector<Edits> propose_drop_node(const Situation& now) {
  std::vector<Edits> proposals;
  Edits all;
  for (const std::string& name : draft_of(now.test_case.graph).unread) {
    all.push_back(DropNode{name});
    proposals.push_back({DropNode{name}});
  }
  if (all.size() > 1) proposals.insert(proposals.begin(), all);
  return proposals;
}

}  // namespace

const Reduction kDropNode{"drop_node", "Drop nodes that nothing reads.", propose_drop_node};

}  // namespace fusesmith::minimizer
