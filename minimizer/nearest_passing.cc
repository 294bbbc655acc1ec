#include "minimizer/nearest_passing.h"

#include "minimizer/dimensions.h"

namespace fusesmith::minimizer {
namespace {

// Every other value of the attributes that choose an algorithm.
std::vector<Op> alternatives(const Op& op) {
  std::vector<Op> ops;
  std::visit(
      [&]<class T>(const T& x) {
        for_each_field<T>([&](const auto& field) {
          using V = std::decay_t<decltype(x.*field.member)>;
          T other = x;
          if constexpr (std::same_as<V, bool>) {
            other.*field.member = !(x.*field.member);
            ops.push_back(other);
          } else if constexpr (EnumAttribute<V>) {
            for (size_t i = 0; i < field.domain.names.size(); ++i) {
              other.*field.member = static_cast<V>(i);
              if (!(other == x)) ops.push_back(other);
            }
          }
        });
      },
      op);
  return ops;
}

}  // namespace

std::vector<Sibling> nearest_passing(const Case& test_case, const Predicate& predicate, int64_t max_queries) {
  const Graph& graph = test_case.graph;
  std::vector<Sibling> siblings;
  const auto try_edit = [&](Edit edit) {
    if (static_cast<int64_t>(siblings.size()) >= max_queries) return;
    const auto sibling = apply_edit(test_case, edit);
    if (!sibling) return;
    std::string text = to_string(edit);
    siblings.push_back({std::move(edit), std::move(text), !predicate(*sibling).has_value()});
  };
  for (const Dimension& d : Dimensions(graph).all()) {
    for (int64_t size : {d.size - 1, d.size + 1}) try_edit(Resize{graph.name(d.value), d.axis, size});
  }
  for (const Node& node : graph.nodes()) {
    for (const Op& op : alternatives(node.op))
      try_edit(SetOp{node.name, op, static_cast<int>(node.inputs.size())});
  }
  return siblings;
}

}  // namespace fusesmith::minimizer
