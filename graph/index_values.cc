#include "graph/index_values.h"

#include <algorithm>

namespace fusesmith::graph {
namespace {

using Known = std::optional<IndexValues>;

bool all_differ(const Tensor& tensor) {
  const auto elements = tensor.as<int32_t>();
  std::vector<int32_t> sorted(elements.begin(), elements.end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

// What holds for a value that contains the elements of both.
Known joined(const Known& a, const Known& b) {
  if (!a || !b) return std::nullopt;
  const bool apart = a->range.hi < b->range.lo || b->range.hi < a->range.lo;
  return IndexValues{{std::min(a->range.lo, b->range.lo), std::max(a->range.hi, b->range.hi)},
                     apart && a->distinct && b->distinct};
}

std::optional<Problem> unknown_range(const Known& known, int64_t size) {
  if (known && known->range.lo >= 0 && known->range.hi < size) return std::nullopt;
  return expected("indices known to lie in [0, " + std::to_string(size) + ")");
}

}  // namespace

IndexValues index_values(const Fill& fill, const TensorType& type) {
  const auto* literal = std::get_if<Literal>(&fill);
  return {integer_range(fill, type),
          element_count(type) == 1 || (literal != nullptr && all_differ(materialize(fill, type, 0, "", 0)))};
}

std::optional<IndexValues> index_values(const Op& op, std::span<const Known> inputs, TypeSpan types,
                                        const TensorType& output) {
  if (const auto* arange = std::get_if<Arange>(&op)) {
    return IndexValues{{arange->start, arange->start + (arange->count - 1) * arange->step}, true};
  }
  if (info(op).op_class != OpClass::movement) return std::nullopt;
  Known known = inputs[0];
  if (std::holds_alternative<Concat>(op)) {
    for (const Known& part : inputs.subspan(1)) known = joined(known, part);
  }
  if (std::holds_alternative<IndexCopy>(op)) known = joined(known, inputs[2]);
  if (!known) return std::nullopt;
  // For ops that may omit or repeat elements of x.
  const bool repeats =
      std::holds_alternative<Gather>(op) ||
      (std::holds_alternative<BroadcastTo>(op) && element_count(types[0]) < element_count(output));
  known->distinct = element_count(output) == 1 || (known->distinct && !repeats);
  return known;
}

std::optional<Problem> index_problem(const Op& op, std::span<const Known> inputs, TypeSpan types) {
  if (std::holds_alternative<Gather>(op)) return unknown_range(inputs[1], types[0].shape[0]);
  const auto* copy = std::get_if<IndexCopy>(&op);
  if (copy == nullptr) return std::nullopt;
  const auto axis = static_cast<size_t>(*resolve_axis(copy->axis, types[0].rank()));
  if (const auto problem = unknown_range(inputs[1], types[0].shape[axis])) return problem;
  if (!inputs[1]->distinct) return expected("indices known to be distinct");
  return std::nullopt;
}

}  // namespace fusesmith::graph
