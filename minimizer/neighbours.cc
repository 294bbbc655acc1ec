#include "minimizer/neighbours.h"

#include <algorithm>
#include <numeric>

#include "graph/pointwise_formula.h"
#include "minimizer/edit.h"
#include "minimizer/neighbour_trials.h"
#include "minimizer/retype.h"
#include "minimizer/size_search.h"

namespace fusesmith::minimizer {
namespace {

// Every op that computes elements of one or two float tensors, with its default attributes: one can stand for
// another, and what fails with others does not depend on it.
const std::vector<Op>& elementwise_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> found;
    for_each_op([&]<class T>(std::type_identity<T>) {
      const Types floats(static_cast<size_t>(T::info.max_inputs), {Dtype::f32, {2}});
      const Op op = T{};
      if (floats.empty() || floats.size() > 2 || std::is_same_v<T, Cast> || !infer(op, floats).ok()) return;
      if (graph::is_elementwise(op, floats)) found.push_back(op);
    });
    return found;
  }();
  return ops;
}

bool commutes(const Op& op) {
  return std::holds_alternative<Add>(op) || std::holds_alternative<Mul>(op) ||
         std::holds_alternative<Maximum>(op);
}

class Search {
 public:
  Search(const Case& test_case, const Trial& trial, const NeighbourOptions& options)
      : case_(test_case), graph_(test_case.graph), options_(options), trials_(test_case, trial, options) {}

  Neighbours run() {
    search("dtypes", [&] { dtypes(); });
    if (!options_.fixed_graph) search("attributes", [&] { each_node(&Search::attributes); });
    if (!options_.keep_sizes) result_.sizes = find_sizes(trials_, result_.untried);
    trials_.count_any_wrong_value();  // other data, or another op, makes another value of the same mistake
    search("magnitudes", [&] { magnitudes(); });
    if (!options_.fixed_graph) search("ops", [&] { each_node(&Search::other_ops); });
    result_.queries = trials_.queries();
    result_.seconds = trials_.seconds();
    result_.exhausted = trials_.exhausted();
    return std::move(result_);
  }

 private:
  void search(const std::string& what, const std::function<void()>& neighbours) {
    neighbours();
    if (trials_.exhausted()) result_.untried.push_back(what);
  }

  void each_node(void (Search::*neighbours)(const Node&)) {
    for (const Node& node : graph_.nodes()) (this->*neighbours)(node);
  }

  void other_ops(const Node& node) { ops(node), permutations(node), equations(node); }

  void add_choice(ChoiceNeighbours& choices, const std::string& value, const Edits& edits) {
    add_outcome(choices, value, trials_.outcome_of(edits));
  }

  static void add_outcome(ChoiceNeighbours& choices, const std::string& value,
                          std::optional<Outcome> outcome) {
    if (outcome == Outcome::fails) choices.failing.push_back(value);
    if (outcome == Outcome::passes) choices.passing.push_back(value);
    if (outcome == Outcome::not_applied) choices.not_applied.push_back(value);
  }

  void keep(ChoiceNeighbours choices) {
    const bool none = choices.failing.empty() && choices.passing.empty() && choices.not_applied.empty();
    if (!none) result_.choices.push_back(std::move(choices));
  }

  // Of each group of values that must have one dtype.
  void dtypes() {
    std::vector<ValueId> groups;
    std::vector<bool> seen(static_cast<size_t>(graph_.value_count()), false);
    for (ValueId v = 0; v < graph_.value_count(); ++v) {
      if (!is_float(graph_.type(v).dtype) || seen[static_cast<size_t>(v)]) continue;
      const std::vector<bool> group = dtype_group(graph_, v);
      for (size_t i = 0; i < group.size(); ++i) seen[i] = seen[i] || group[i];
      groups.push_back(v);
    }
    for (ValueId v : groups) {
      const Dtype now = graph_.type(v).dtype;
      ChoiceNeighbours choices{groups.size() == 1 ? "dtype" : "dtype of " + graph_.name(v),
                               std::string(name(now))};
      for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
        if (dtype != now) add_choice(choices, std::string(name(dtype)), {ChangeDtype{graph_.name(v), dtype}});
      }
      keep(std::move(choices));
    }
  }

  // Every other value of the attributes that choose an algorithm, and the defaults of numbers.
  void attributes(const Node& node) {
    const int operands = static_cast<int>(node.inputs.size());
    std::visit(
        [&]<class T>(const T& op) {
          for_each_field<T>([&](const auto& field) {
            using V = std::decay_t<decltype(op.*field.member)>;
            const std::string what = std::string(field.name) + " of " + node.name;
            const auto choose = [&](ChoiceNeighbours& choices, const V& value, const std::string& text) {
              T other = op;
              other.*field.member = value;
              if (!(other == op)) add_choice(choices, text, {SetOp{node.name, other, operands}});
            };
            const V& now = op.*field.member;
            if constexpr (std::same_as<V, bool>) {
              ChoiceNeighbours choices{what, now ? "true" : "false"};
              choose(choices, !now, now ? "false" : "true");
              keep(std::move(choices));
            } else if constexpr (EnumAttribute<V>) {
              const auto& names = field.domain.names;
              ChoiceNeighbours choices{what, std::string(names[static_cast<size_t>(now)])};
              for (size_t i = 0; i < names.size(); ++i)
                choose(choices, static_cast<V>(i), std::string(names[i]));
              keep(std::move(choices));
            } else if constexpr (std::same_as<V, double>) {
              ChoiceNeighbours choices{what, number_text(now)};
              choose(choices, T{}.*field.member, number_text(T{}.*field.member));
              keep(std::move(choices));
            }
          });
        },
        node.op);
  }

  // Whether it fails with this op of any of these operands; nothing where no such case was judged.
  std::optional<Outcome> outcome_with(const Node& node, const Op& op,
                                      const std::vector<std::vector<int>>& operands) {
    std::optional<Outcome> all;
    for (const std::vector<int>& order : operands) {
      const auto outcome = trials_.outcome_of({SetOp{node.name, op, 0, order}});
      if (outcome == Outcome::fails) return outcome;
      if (outcome && all != Outcome::passes) all = outcome;
    }
    return all;
  }

  void add_op(ChoiceNeighbours& choices, const std::string& value, const Node& node, const Op& op,
              const std::vector<std::vector<int>>& operands) {
    add_outcome(choices, value, outcome_with(node, op, operands));
  }

  // Other ops in place of the node's, the other norm, no bias, and the operands in the other order.
  void ops(const Node& node) {
    ChoiceNeighbours choices{"op of " + node.name, std::string(name(node.op))};
    const int operands = static_cast<int>(node.inputs.size());
    std::vector<int> floats;
    for (int i = 0; i < operands; ++i) {
      if (is_float(graph_.type(node.inputs[static_cast<size_t>(i)]).dtype)) floats.push_back(i);
    }
    Types types;
    for (const ValueId v : node.inputs) types.push_back(graph_.type(v));
    if (is_elementwise(node.op, types)) {
      std::vector<std::vector<int>> single, pair;
      for (const int operand : floats) single.push_back({operand});
      if (floats.size() >= 2) pair.push_back({floats[0], floats[1]});
      for (const Op& op : elementwise_ops()) {
        if (name(op) != name(node.op))
          add_op(choices, std::string(name(op)), node, op, info(op).max_inputs == 1 ? single : pair);
      }
    }
    std::vector<int> first_two(static_cast<size_t>(std::min(operands, 2)));
    std::iota(first_two.begin(), first_two.end(), 0);
    if (const auto* norm = std::get_if<LayerNorm>(&node.op))
      add_op(choices, "rms_norm", node, RmsNorm{norm->eps}, {first_two});
    if (const auto* norm = std::get_if<RmsNorm>(&node.op))
      add_op(choices, "layer_norm", node, LayerNorm{norm->eps}, {first_two});
    keep(std::move(choices));
    if (std::holds_alternative<Linear>(node.op) && operands == 3) {
      ChoiceNeighbours bias{"bias of " + node.name, "given"};
      add_op(bias, "none", node, node.op, {{0, 1}});
      keep(std::move(bias));
    }
    if (commutes(node.op) && node.inputs[0] != node.inputs[1]) {
      ChoiceNeighbours order{"operand order of " + node.name, "as written"};
      add_op(order, "exchanged", node, node.op, {{1, 0}});
      keep(std::move(order));
    }
  }

  // The axes as they were before the permutation, and two of them exchanged after it.
  void permutations(const Node& node) {
    const auto* permute = std::get_if<Permute>(&node.op);
    if (!permute) return;
    const Shape& now = permute->dims;
    ChoiceNeighbours choices{"dims of " + node.name, graph::to_string(now)};
    Shape none(now.size());
    std::iota(none.begin(), none.end(), 0);
    std::set<Shape> others = {std::move(none)};
    for (size_t i = 0; i < now.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        Shape other = now;
        std::swap(other[i], other[j]);
        others.insert(std::move(other));
      }
    }
    others.erase(now);
    for (const Shape& other : others) add_op(choices, graph::to_string(other), node, Permute{other}, {{0}});
    keep(std::move(choices));
  }

  // In each operand the axis that is summed exchanged with the one that is not: "bikd,bjkd->bijd" for
  // "bkid,bkjd->bijd".
  void equations(const Node& node) {
    const auto* einsum = std::get_if<Einsum>(&node.op);
    if (!einsum) return;
    auto labels = parse_equation(einsum->equation);
    if (!labels || labels->summed.empty()) return;
    const auto exchanged = [&](std::string letters, const std::string& others) {
      const size_t summed = letters.find(labels->summed[0]);
      const auto free = std::find_if(letters.begin(), letters.end(), [&](char c) {
        return others.find(c) == std::string::npos && labels->out.find(c) != std::string::npos;
      });
      if (summed != std::string::npos && free != letters.end()) std::swap(letters[summed], *free);
      return letters;
    };
    const std::string other =
        exchanged(labels->a, labels->b) + "," + exchanged(labels->b, labels->a) + "->" + labels->out;
    ChoiceNeighbours choices{"equation of " + node.name, einsum->equation};
    if (other != einsum->equation) add_op(choices, other, node, Einsum{other}, {{0, 1}});
    keep(std::move(choices));
  }

  void magnitudes() {
    const Fails fails = [&](const Case& neighbour) -> std::optional<bool> {
      if (!trials_.may_ask()) return {};
      const Outcome outcome = trials_.ask(neighbour);
      if (outcome != Outcome::fails && outcome != Outcome::passes) return {};
      return outcome == Outcome::fails;
    };
    for (const Input& input : graph_.inputs()) {
      if (std::ranges::find(options_.keep_data, input.name) != options_.keep_data.end()) continue;
      if (auto rule = find_magnitude(case_, input.name, fails))
        result_.magnitudes.push_back(std::move(*rule));
    }
  }

  const Case& case_;
  const Graph& graph_;
  const NeighbourOptions options_;
  NeighbourTrials trials_;
  Neighbours result_;
};

}  // namespace

std::optional<int64_t> SizeNeighbours::nearest_passing() const {
  std::optional<int64_t> nearest;
  for (const auto& [other, fails] : tried) {
    if (!fails && (!nearest || std::abs(other - size) < std::abs(*nearest - size))) nearest = other;
  }
  return nearest;
}

Neighbours find_neighbours(const Case& test_case, const Trial& trial, const NeighbourOptions& options) {
  return Search(test_case, trial, options).run();
}

}  // namespace fusesmith::minimizer
