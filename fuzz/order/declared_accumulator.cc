#include "fuzz/order/declared_accumulator.h"

#include <algorithm>

namespace fusesmith::fuzz {
namespace {

// The parts from the first to the last one; nothing if they are not added one after the other.
std::optional<std::vector<const SumNode*>> parts_in_order(const SumTree& tree) {
  if (tree.nodes.empty()) return {};
  const auto child = [&](const SumNode& node, size_t which) {
    return &tree.nodes[static_cast<size_t>(node.children[which])];
  };
  std::vector<const SumNode*> parts;
  const SumNode* node = &tree.nodes.back();
  while (node->terms.empty()) {
    if (node->children.size() != 2) return {};
    parts.push_back(child(*node, 1));
    node = child(*node, 0);
  }
  parts.push_back(node);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

std::optional<oracle::Accumulator> accumulator_of(const Order& order) {
  if (order.arithmetic.kind != NodeArithmetic::Kind::tensor_core || order.arithmetic.rounds_to_nearest)
    return {};
  const auto parts = parts_in_order(order.tree);
  if (!parts) return {};
  const int64_t group = parts->front()->group, size = parts->front()->term_count();
  int64_t next = 0;
  for (const SumNode* part : *parts) {
    const bool is_run = part->children.empty() && part->terms.size() == 1 && part->terms[0].first == next &&
                        part->terms[0].step == 1;
    const bool is_last = part == parts->back();
    const int64_t count = part->term_count();
    if (!is_run || (is_last ? count > size : count != size) || part->group != std::min(group, count))
      return {};
    next += count;
  }
  if (size <= group) return {};
  return oracle::Accumulator{static_cast<int>(group), order.arithmetic.fraction_bits,
                             order.arithmetic.out_bits, parts->size() > 1 ? static_cast<int>(size) : 0};
}

}  // namespace fusesmith::fuzz
