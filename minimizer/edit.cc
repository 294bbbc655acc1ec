#include "minimizer/edit.h"

#include <algorithm>

#include "graph/replacement.h"
#include "minimizer/draft.h"
#include "minimizer/retype.h"

namespace fusesmith::minimizer {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string text_of(const SetOutputs& e) { return "observe only " + joined(e.values); }
std::string text_of(const Bypass& e) {
  return "bypass " + e.node + " through operand " + std::to_string(e.operand);
}
std::string text_of(const Pin& e) { return "pin " + e.value + (e.bits ? "" : " to simple data"); }
std::string text_of(const DropNode& e) { return "drop " + e.node; }
std::string text_of(const Merge& e) { return "merge " + e.value + " into " + e.into; }
std::string text_of(const Resize& e) {
  return "resize " + e.value + " axis " + std::to_string(e.axis) + " to " + std::to_string(e.size);
}
std::string text_of(const SetOp& e) {
  std::string order;
  for (const int operand : e.order) order += (order.empty() ? " " : ", ") + std::to_string(operand);
  const size_t operands = e.order.empty() ? static_cast<size_t>(e.operands) : e.order.size();
  return "make " + e.node + " " + to_string(e.op) + " of " + std::to_string(operands) + " operands" + order;
}
std::string text_of(const ChangeDtype& e) {
  return "change " + (e.value.empty() ? "all floats" : e.value + " and what follows") + " to " +
         std::string(name(e.to));
}
std::string text_of(const SetFill& e) {
  std::string fields;
  std::visit(
      [&]<class F>(const F& fill) {
        for_each_field<F>([&](const auto& field) {
          const auto& value = fill.*field.member;
          if constexpr (!std::same_as<std::decay_t<decltype(value)>, std::string>) {
            fields += (fields.empty() ? "" : ", ") + std::string(field.name) + "=" +
                      number_text(static_cast<double>(value));
          }
        });
      },
      e.fill);
  return "fill " + e.source + " with " + std::string(name(e.fill)) +
         (fields.empty() ? "" : "(" + fields + ")") + (e.type ? " as " + to_string(*e.type) : "");
}
std::string text_of(const SetLayout& e) {
  if (!e.layout) return "store " + e.source + " densely" + (e.repeat.empty() ? "" : ", repeated as before");
  return "store " + e.source + " with order " + graph::to_string(e.layout->order) + ", pad " +
         graph::to_string(e.layout->pad) + ", offset " + std::to_string(e.layout->offset) + ", expand " +
         graph::to_string(e.layout->expand) + ", align " + std::to_string(e.layout->align);
}
std::string text_of(const ZeroElements& e) {
  return "zero " + e.source + " from " + std::to_string(e.begin) + " to " + std::to_string(e.end);
}
std::string text_of(const SetSteps& e) { return "run " + std::to_string(e.steps) + " steps"; }
std::string text_of(const SetPolicy& e) {
  const auto& [tf32, implicit_casts, skip_patterns, metamorphic, replaced] = e.policy;
  return std::string("set tf32 ") + (tf32 ? "on" : "off") + ", implicit casts " +
         std::string(Policy::kImplicitCasts[static_cast<size_t>(implicit_casts)]) + ", skipped patterns " +
         (skip_patterns.empty() ? "none" : joined(skip_patterns)) +
         (metamorphic.empty() ? "" : ", metamorphic checks " + joined(metamorphic)) +
         (replaced.empty() ? "" : ", replaced elements " + replaced);
}
std::string text_of(const Rename& e) {
  std::vector<std::string> changes;
  for (const auto& [from, to] : e.names) changes.push_back(from + " to " + to);
  return "rename " + joined(changes);
}

// A case whose graph is a draft.
struct DraftCase {
  uint64_t seed;
  int64_t steps;
  Policy policy;
  Draft draft;
  std::vector<StandIn> stand_ins;
};

bool edit(DraftCase& c, const SetOutputs& e) {
  c.draft.outputs = e.values;
  return true;
}

bool edit(DraftCase& c, const Bypass& e) {
  const auto at = c.draft.node(e.node);
  if (!at) return false;
  const DraftNode node = c.draft.nodes[*at];
  if (node.output_count != 1 || e.operand < 0 || static_cast<size_t>(e.operand) >= node.inputs.size())
    return false;
  c.draft.nodes.erase(c.draft.nodes.begin() + static_cast<std::ptrdiff_t>(*at));
  replace_reads(c.draft, node.name, node.inputs[static_cast<size_t>(e.operand)]);
  return true;
}

// A recipe for every dtype, and, for indices, in range of every table.
Fill simple_fill(Dtype dtype) {
  if (is_rounded(dtype)) return Normal{};
  if (dtype == Dtype::boolean) return Bernoulli{};
  return Constant{0};
}

bool edit(DraftCase& c, const Pin& e) {
  Draft& d = c.draft;
  if (const auto s = d.state(e.value)) {
    const State& state = d.states[*s];
    if (e.bits && e.bits->type != state.type) return false;
    d.inputs.push_back(
        {state.name, state.type, e.bits ? Fill(literal_of(*e.bits)) : state.fill, {}, state.layout});
    d.states.erase(d.states.begin() + static_cast<std::ptrdiff_t>(*s));
    d.next.erase(d.next.begin() + static_cast<std::ptrdiff_t>(*s));
    return true;
  }
  const auto at = d.producer(e.value);
  if (!at || d.nodes[*at].output_count != 1) return false;
  const auto graph = build(d);  // for the value's type
  const auto value = graph ? graph->find(e.value) : std::nullopt;
  if (!value || (e.bits && e.bits->type != graph->type(*value))) return false;
  const TensorType& type = graph->type(*value);
  d.inputs.push_back({e.value, type, e.bits ? Fill(literal_of(*e.bits)) : simple_fill(type.dtype)});
  d.nodes.erase(d.nodes.begin() + static_cast<std::ptrdiff_t>(*at));
  return true;
}

bool edit(DraftCase& c, const DropNode& e) { return c.draft.unread.erase(e.node) > 0; }

bool edit(DraftCase& c, const Merge& e) {
  Draft& d = c.draft;
  if (e.value == e.into) return false;
  if (const auto at = d.input(e.value)) {
    d.inputs.erase(d.inputs.begin() + static_cast<std::ptrdiff_t>(*at));
  } else if (const auto node = d.node(e.value); node && d.nodes[*node].output_count == 1) {
    d.nodes.erase(d.nodes.begin() + static_cast<std::ptrdiff_t>(*node));
  } else {
    return false;
  }
  replace_reads(d, e.value, e.into);
  return true;
}

// Edits that look at types need a valid graph in between.
template <class Change>
bool edit_types(DraftCase& c, Change change) {
  const auto graph = build(c.draft);
  if (!graph) return false;
  auto draft = change(*graph);
  if (!draft) return false;
  c.draft = std::move(*draft);
  return true;
}

bool edit(DraftCase& c, const Resize& e) {
  return edit_types(c, [&](const Graph& graph) { return resize(graph, e); });
}
bool edit(DraftCase& c, const ChangeDtype& e) {
  return edit_types(c, [&](const Graph& graph) { return change_dtype(graph, e); });
}

bool edit(DraftCase& c, const SetOp& e) {
  const auto at = c.draft.node(e.node);
  if (!at || e.operands < 0 || static_cast<size_t>(e.operands) > c.draft.nodes[*at].inputs.size())
    return false;
  DraftNode& node = c.draft.nodes[*at];
  node.op = e.op;
  if (e.order.empty()) {
    node.inputs.resize(static_cast<size_t>(e.operands));
    return true;
  }
  std::vector<std::string> inputs;
  for (const int operand : e.order) {
    if (operand < 0 || static_cast<size_t>(operand) >= node.inputs.size()) return false;
    inputs.push_back(node.inputs[static_cast<size_t>(operand)]);
  }
  node.inputs = std::move(inputs);
  return true;
}

// What is said of axes does not hold of those of another shape.
void forget_axes(Input& input) {
  input.repeat.clear();
  input.layout.reset();
}
void forget_axes(State& state) { state.layout.reset(); }

bool edit(DraftCase& c, const SetFill& e) {
  const auto set = [&](auto& source) {
    source.fill = e.fill;
    if (!e.type) return true;
    if (e.type->shape != source.type.shape) forget_axes(source);
    source.type = *e.type;
    return true;
  };
  if (const auto i = c.draft.input(e.source)) return set(c.draft.inputs[*i]);
  if (const auto s = c.draft.state(e.source)) return set(c.draft.states[*s]);
  return false;
}

bool edit(DraftCase& c, const SetLayout& e) {
  if (const auto i = c.draft.input(e.source)) {
    c.draft.inputs[*i].layout = e.layout;
    c.draft.inputs[*i].repeat = e.repeat;
    return true;
  }
  const auto s = c.draft.state(e.source);
  if (s) c.draft.states[*s].layout = e.layout;
  return s.has_value();
}

bool edit(DraftCase& c, const ZeroElements& e) {
  const auto i = c.draft.input(e.source), s = c.draft.state(e.source);
  if (!i && !s) return false;
  const TensorType& type = i ? c.draft.inputs[*i].type : c.draft.states[*s].type;
  auto* literal = std::get_if<Literal>(i ? &c.draft.inputs[*i].fill : &c.draft.states[*s].fill);
  if (literal == nullptr || e.begin < 0 || e.begin >= e.end || e.end > element_count(type)) return false;
  const auto digits = static_cast<std::ptrdiff_t>(2 * size_of(type.dtype));
  std::fill(literal->bits.begin() + e.begin * digits, literal->bits.begin() + e.end * digits, '0');
  return true;
}

bool edit(DraftCase& c, const SetSteps& e) {
  c.steps = e.steps;
  return e.steps >= 1;
}

bool edit(DraftCase& c, const SetPolicy& e) {
  c.policy = e.policy;
  return true;
}

bool edit(DraftCase& c, const Rename& e) {
  Draft& d = c.draft;
  std::map<std::string, std::string> values;
  for (const auto& [from, to] : e.names) {
    const auto at = d.node(from);
    if (!at && !d.input(from) && !d.state(from)) return false;
    values[from] = to;
    if (!at) continue;
    DraftNode renamed = d.nodes[*at];
    renamed.name = to;
    for (int i = 0; i < renamed.output_count; ++i)
      values[output_name(d.nodes[*at], i)] = output_name(renamed, i);
  }
  const auto rename = [&](std::string& name) {
    if (const auto at = values.find(name); at != values.end()) name = at->second;
  };
  for (Input& input : d.inputs) rename(input.name);
  for (State& state : d.states) rename(state.name);
  for (DraftNode& node : d.nodes) {
    rename(node.name);
    for (std::string& input : node.inputs) rename(input);
  }
  for (std::string& name : d.next) rename(name);
  for (std::string& name : d.outputs) rename(name);
  for (StandIn& pair : c.stand_ins) rename(pair.value), rename(pair.by);
  std::string& replaced = c.policy.replaced;
  if (std::string input = replaced.substr(0, replaced.find('[')); !input.empty()) {
    const size_t length = input.size();
    rename(input);
    replaced.replace(0, length, input);
  }
  std::set<std::string> unread;
  for (std::string name : d.unread) rename(name), unread.insert(name);
  d.unread = std::move(unread);
  return true;
}

}  // namespace

std::string to_string(const Edit& edit) {
  return std::visit([](const auto& e) { return text_of(e); }, edit);
}

std::string to_string(const Edits& edits) {
  std::string text;
  for (const Edit& edit : edits) text += (text.empty() ? "" : "; ") + to_string(edit);
  return text;
}

std::optional<Case> apply_edit(const Case& test_case, const Edit& edit) {
  return apply_edits(test_case, Edits{edit});
}

std::optional<Case> apply_edits(const Case& test_case, const Edits& edits) {
  DraftCase c{test_case.seed, test_case.steps, test_case.policy, draft_of(test_case.graph),
              test_case.stand_ins};
  for (const Edit& one : edits) {
    if (!std::visit([&](const auto& e) { return edit(c, e); }, one)) return std::nullopt;
  }
  auto graph = build(std::move(c.draft));
  if (!graph) return std::nullopt;
  Case edited{
      c.seed, c.steps, std::move(c.policy), std::move(*graph), test_case.expect, std::move(c.stand_ins)};
  if (stand_in_problem(edited)) return std::nullopt;
  if (edited.policy.replaced.empty() || edited.policy.replaced != test_case.policy.replaced) return edited;
  auto moved = moved_replacement(edited.policy.replaced, test_case.graph, edited.graph);
  if (!moved) return std::nullopt;
  edited.policy.replaced = std::move(*moved);
  return edited;
}

}  // namespace fusesmith::minimizer
