// Move attributes towards their defaults, as the op's fields declare them, and leave out operands that are
// optional.
#include <concepts>

#include "minimizer/measure.h"
#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

// Values to try for one attribute, the simplest first.
template <class T>
std::vector<T> candidates(const T& value, const T& simplest) {
  if constexpr (std::same_as<T, bool>)
    return {simplest};
  else if constexpr (std::same_as<T, int64_t>)
    return {simplest, 0, 1, value / 2, value - 1};
  else if constexpr (std::same_as<T, double>)
    return {simplest, 0, 1, 0.5};
  else if constexpr (EnumAttribute<T>) {
    std::vector<T> lower = {simplest};
    for (int i = 0; i < static_cast<int>(value); ++i) lower.push_back(static_cast<T>(i));
    return lower;
  } else {
    return {};
  }
}

std::vector<Op> simpler_ops(const Op& op) {
  std::vector<Op> ops;
  std::visit(
      [&]<class T>(const T& x) {
        for_each_field<T>([&](const auto& field) {
          const T simplest{};
          for (const auto& value : candidates(x.*field.member, simplest.*field.member)) {
            T other = x;
            other.*field.member = value;
            if (attribute_complexity(other) < attribute_complexity(op)) ops.push_back(other);
          }
        });
      },
      op);
  return ops;
}

std::vector<Edits> propose_simplify_attribute(const Situation& now) {
  std::vector<Edits> proposals;
  for (const Node& node : now.test_case.graph.nodes()) {
    const int operands = static_cast<int>(node.inputs.size());
    const std::vector<Op> simpler = simpler_ops(node.op);
    for (int fewer = info(node.op).min_inputs; fewer < operands; ++fewer) {
      for (const Op& op : simpler) proposals.push_back({SetOp{node.name, op, fewer}});
      proposals.push_back({SetOp{node.name, node.op, fewer}});
    }
    for (const Op& op : simpler) proposals.push_back({SetOp{node.name, op, operands}});
  }
  return proposals;
}

}  // namespace

const Reduction kSimplifyAttribute{"simplify_attribute",
                                   "Set attributes to defaults, leave out optional operands.",
                                   propose_simplify_attribute};

}  // namespace fusesmith::minimizer
