#include "minimizer/measure.h"

#include "minimizer/naming.h"

namespace fusesmith::minimizer {
namespace {

int64_t complexity(const Constant& fill) { return fill.value == 0 ? 0 : fill.value == 1 ? 1 : 2; }
int64_t complexity(const OneHot&) { return 3; }
int64_t complexity(const Lattice&) { return 4; }
int64_t complexity(const Hadamard& fill) { return fill == Hadamard{} ? 7 : 8; }
int64_t complexity(const Tokens&) { return 5; }
int64_t complexity(const Bernoulli&) { return 5; }
int64_t complexity(const Normal& fill) { return fill == Normal{} ? 6 : 8; }
int64_t complexity(const Uniform&) { return 7; }
int64_t complexity(const Special&) { return 9; }
int64_t complexity(const Literal&) { return 1000; }
int64_t complexity(const FileData&) { return 1001; }

int64_t nonzeros(const Fill& fill, Dtype dtype) {
  const auto* literal = std::get_if<Literal>(&fill);
  if (literal == nullptr) return 0;
  const size_t digits = static_cast<size_t>(2 * size_of(dtype));
  int64_t count = 0;
  for (size_t at = 0; at < literal->bits.size(); at += digits) {
    count += literal->bits.find_first_not_of('0', at) < at + digits ? 1 : 0;
  }
  return count;
}

template <class T>
int64_t distance(const T& value, const T& simplest) {
  if (value == simplest) return 0;
  if constexpr (std::same_as<T, Shape> || std::same_as<T, std::string> || std::same_as<T, Dtype>)
    return 0;  // not free to choose
  else if constexpr (std::is_enum_v<T>)
    return static_cast<int64_t>(value) + 1;
  else if constexpr (std::same_as<T, bool>)
    return 1;
  else
    return 1 + static_cast<int64_t>(number_text(static_cast<double>(value)).size());
}

// 0 for 0, 1 for 1, more for numbers of more digits, so that smaller paddings and offsets count less.
int64_t digits(int64_t number) {
  return number <= 1 ? number : 1 + static_cast<int64_t>(std::to_string(number).size());
}

int64_t memory_complexity(const std::optional<MemoryLayout>& layout) {
  if (!layout) return 0;
  int64_t sum = 1 + digits(layout->offset) + static_cast<int64_t>(layout->expand.size()) +
                (layout->order.empty() ? 0 : 1) + (layout->pad.empty() ? 0 : 1);
  for (const int64_t pad : layout->pad) sum += digits(pad);
  for (int64_t align = layout->align; align < MemoryLayout::kMaxAlign; align *= 2) ++sum;
  return sum;
}

}  // namespace

int64_t data_complexity(const Fill& fill) {
  return std::visit([](const auto& f) { return complexity(f); }, fill);
}

int64_t attribute_complexity(const Op& op) {
  return std::visit(
      []<class T>(const T& x) {
        int64_t sum = 0;
        for_each_field<T>([&](const auto& field) { sum += distance(x.*field.member, T{}.*field.member); });
        return sum;
      },
      op);
}

Measure measure(const Case& test_case) {
  const Graph& graph = test_case.graph;
  Measure m;
  m.steps = test_case.steps;
  m.nodes = static_cast<int64_t>(graph.nodes().size());
  m.wires = static_cast<int64_t>(graph.inputs().size() + 2 * graph.states().size() + graph.outputs().size());
  for (const Node& node : graph.nodes()) {
    m.wires += static_cast<int64_t>(node.inputs.size());
    m.attributes += attribute_complexity(node.op);
  }
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    m.elements += element_count(graph.type(v));
    m.narrow += is_narrow(graph.type(v).dtype) ? 1 : 0;
  }
  const auto add_data = [&](const auto& source) {
    m.data += data_complexity(source.fill);
    m.nonzeros += nonzeros(source.fill, source.type.dtype);
    m.memory += memory_complexity(source.layout);
  };
  for (const Input& input : graph.inputs()) {
    add_data(input);
    m.memory += static_cast<int64_t>(input.repeat.size());
  }
  for (const State& state : graph.states()) add_data(state);
  const Policy& policy = test_case.policy;
  m.policy = static_cast<int64_t>(policy.skip_patterns.size() + policy.metamorphic.size()) +
             (policy.tf32 ? 1 : 0) + (policy.implicit_casts != Policy{}.implicit_casts ? 1 : 0);
  m.names = static_cast<int64_t>(descriptive_renames(graph).size());
  return m;
}

}  // namespace fusesmith::minimizer
