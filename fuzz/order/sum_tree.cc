#include "fuzz/order/sum_tree.h"

#include <algorithm>

namespace fusesmith::fuzz {

int64_t SumNode::term_count() const {
  int64_t count = 0;
  for (const TermRun& run : terms) count += run.count;
  return count;
}

std::vector<int64_t> SumNode::term_list() const {
  std::vector<int64_t> list;
  for (const TermRun& run : terms) {
    for (int64_t i = 0; i < run.count; ++i) list.push_back(run.first + i * run.step);
  }
  return list;
}

int64_t SumNode::first_terms() const {
  return std::min(term_count(), std::max(group, children.empty() ? int64_t{2} : int64_t{1}));
}

int64_t SumTree::term_count() const {
  int64_t count = 0;
  for (const SumNode& node : nodes) count += node.term_count();
  return count;
}

bool SumTree::is_binary() const {
  return std::all_of(nodes.begin(), nodes.end(), [](const SumNode& node) {
    const auto operands = static_cast<int64_t>(node.children.size()) + node.first_terms();
    return operands <= 2 && node.group == 1;
  });
}

int64_t SumTree::height() const {
  std::vector<int64_t> above(nodes.size(), 0);  // operations after the node
  int64_t highest = 0;
  for (size_t i = nodes.size(); i-- > 0;) {
    const SumNode& node = nodes[i];
    const int64_t later = node.term_count() - node.first_terms();
    const bool alone = node.children.empty() && node.term_count() == 1;
    const int64_t operations = alone ? 0 : 1 + (later + node.group - 1) / node.group;
    highest = std::max(highest, above[i] + operations);
    for (const int child : node.children) above[static_cast<size_t>(child)] = above[i] + operations;
  }
  return highest;
}

}  // namespace fusesmith::fuzz
