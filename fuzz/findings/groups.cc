#include "fuzz/findings/groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "fuzz/report/symptoms.h"
#include "graph/op.h"
#include "minimizer/measure.h"
#include "oracle/signature.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

// Ops that only move or convert elements: minimization keeps or drops them by chance.
constexpr std::string_view kLayoutOps[] = {"arange", "broadcast_to", "chunk",   "concat",
                                           "flip",   "gather",       "permute", "reshape",
                                           "roll",   "slice",        "squeeze", "unsqueeze"};
constexpr std::string_view kUpdateOps[] = {"roll",   "slice",   "concat", "index_copy",
                                           "gather", "permute", "arange"};
constexpr std::string_view kScaleOps[] = {"scale", "mul", "div"};
constexpr std::string_view kMaskOps[] = {"add", "masked_fill", "where"};  // in attention

template <size_t N>
bool is_one_of(std::string_view word, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

void add_needs(const Sdpa& op, std::set<std::string>& needs) {
  needs.insert({"product", "softmax"});
  if (op.mask != Sdpa::Mask::none || op.window > 0) needs.insert("mask");
  if (op.mask == Sdpa::Mask::additive) needs.insert("added mask");
  if (op.mask == Sdpa::Mask::causal || op.window > 0) needs.insert("causal");
  if (op.window > 0) needs.insert("window");
  if (op.softcap > 0) needs.insert("softcap");
  if (op.grouped_heads) needs.insert("groups");
}

// What the judge found of the neighbours of a minimized case: what it fails with and without.
class Trials {
 public:
  explicit Trials(const Json& verdict) {
    const auto found = verdict.is_object() ? verdict.find("neighbours") : verdict.end();
    if (found == verdict.end() || !found->is_object()) return;
    for (const auto& [list, entries] : {std::pair("choices", &choices_), std::pair("sizes", &sizes_)}) {
      const auto rows = found->find(list);
      if (rows == found->end() || !rows->is_array()) continue;
      for (const Json& row : *rows) entries->push_back(row);
    }
  }

  // Values of a choice, such as "op of add0", with which the case still fails.
  std::set<std::string> failing(const std::string& what) const {
    for (const Json& choice : choices_) {
      if (text_member(choice, "what") == what) return texts(choice, "failing");
    }
    return {};
  }
  bool passes(const std::string& what) const {
    return std::any_of(choices_.begin(), choices_.end(), [&](const Json& choice) {
      return text_member(choice, "what") == what && !texts(choice, "passing").empty();
    });
  }
  // Whether no other size of this axis passes; false where none was tried.
  bool any_size_fails(const std::string& axis) const {
    return std::any_of(sizes_.begin(), sizes_.end(), [&](const Json& size) {
      return texts(size, "axes").count(axis) > 0 && text_member(size, "fails_iff") == "always";
    });
  }
  std::set<std::string> rules() const {
    std::set<std::string> rules;
    for (const Json& size : sizes_) rules.insert(text_member(size, "fails_iff"));
    return rules;
  }

 private:
  static std::set<std::string> texts(const Json& of, const char* key) {
    std::set<std::string> all;
    const auto list = of.find(key);
    if (list == of.end() || !list->is_array()) return all;
    for (const Json& text : *list) {
      if (text.is_string()) all.insert(text.get<std::string>());
    }
    return all;
  }

  std::vector<Json> choices_, sizes_;
};

bool is_scale(const Graph& graph, const Node& node) {
  const bool by_scalar = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId value) { return graph.type(value).shape.empty(); });
  return std::holds_alternative<Scale>(node.op) ||
         ((std::holds_alternative<Mul>(node.op) || std::holds_alternative<Div>(node.op)) && by_scalar);
}

// Whether the case also fails with an op of another kind in place of this one.
bool is_replaceable(const Graph& graph, const Node& node, const Trials& trials) {
  std::set<std::string> others = trials.failing("op of " + node.name);
  if (is_scale(graph, node)) std::erase_if(others, [](const auto& op) { return is_one_of(op, kScaleOps); });
  return !others.empty();
}

// One word for the ops that a pattern takes in place of each other; "" for those that do not matter.
std::string kind_of(const Graph& graph, const Node& node, std::string_view pattern, const Trials& trials) {
  const std::string_view op = name(node.op);
  const bool is_norm = op == "layer_norm" || op == "rms_norm";
  if (is_replaceable(graph, node, trials)) return is_norm ? "norm" : "";
  if (pattern == "cache_update_in_place" && is_one_of(op, kUpdateOps)) return "update";
  if (op == "einsum" || op == "matmul" || op == "linear") return "product";
  if (pattern == "sdpa" && is_one_of(op, kMaskOps)) return "mask";
  if (pattern == "gemm_bias_act" && op == "slice") return "slice";  // an operand that starts elsewhere
  if (is_scale(graph, node)) return "scale";
  return is_one_of(op, kLayoutOps) ? "" : std::string(op);
}

// Whether the value is computed from a product of matrices.
bool follows_product(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer) return false;
  const Node& node = graph.nodes()[static_cast<size_t>(*producer)];
  return info(node.op).op_class == OpClass::product ||
         std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return follows_product(graph, input); });
}

enum class AxisRole { batch, summed, free };
constexpr std::string_view kAxisRoles[] = {"batch axis", "summed axis", "free axis"};

// Of an axis of an operand, by its letter in the equation.
AxisRole role_of(char letter, const EinsumLabels& labels) {
  const auto has = [&](const std::string& letters) { return letters.find(letter) != std::string::npos; };
  if (!has(labels.out)) return AxisRole::summed;
  return has(labels.a) && has(labels.b) ? AxisRole::batch : AxisRole::free;
}

void add_needs(const Graph& graph, const Node& node, std::string_view pattern, const Trials& trials,
               std::set<std::string>& needs) {
  const std::string_view op = name(node.op);
  if (op == "linear" && node.inputs.size() > 2 && trials.failing("bias of " + node.name).empty())
    needs.insert("add");
  if (pattern == "sdpa" && op == "broadcast_to") needs.insert("groups");
  if (trials.passes("operand order of " + node.name) && !is_replaceable(graph, node, trials))
    needs.insert(follows_product(graph, node.inputs[0]) ? "product first" : "product second");
  if (pattern == "sdpa" && op == "add" && !is_replaceable(graph, node, trials)) needs.insert("added mask");
  if (const auto* mask = std::get_if<CausalMask>(&node.op)) {
    needs.insert({"causal", "mask"});
    if (mask->window > 0) needs.insert("window");
    return;
  }
  const std::string kind = kind_of(graph, node, pattern, trials);
  if (!kind.empty()) needs.insert(kind);
}

// Whether sizes below a whole tile never fail.
bool needs_tiles(const Trials& trials) {
  constexpr int64_t kTile = 8;  // from here on, sizes are taken in tiles
  const std::set<std::string> rules = trials.rules();
  return std::any_of(rules.begin(), rules.end(), [](const std::string& rule) {
    if (rule.find(" mod ") != std::string::npos) return true;
    for (const std::string_view start : {"N >= ", "N == "}) {
      const size_t at = rule.find(start);
      if (at != std::string::npos && std::atoll(rule.c_str() + at + start.size()) >= kTile) return true;
    }
    return false;
  });
}

// The axes of the operands of an einsum that need more than one element, by their roles. Sources are taken
// for operands where they have as many axes: what lies between them keeps the axes' order.
void add_einsum_axes(const Graph& graph, const Node& node, const Trials& trials,
                     std::set<std::string>& needs) {
  const auto labels = parse_equation(std::get<Einsum>(node.op).equation);
  if (!labels) return;
  for (ValueId value = 0; value < graph.source_count(); ++value) {
    const Shape& shape = graph.type(value).shape;
    if (shape.size() != labels->a.size()) continue;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 1 || trials.any_size_fails(graph.name(value) + " axis " + std::to_string(axis)))
        continue;
      const AxisRole role = role_of(labels->a[axis], *labels);
      if (role != AxisRole::batch || axis + 1 < shape.size())
        needs.insert(std::string(kAxisRoles[static_cast<size_t>(role)]));
    }
  }
}

// Kernels with tiles may need a full tile to fail, kernels with several matrices more than one of them.
void add_size_needs(const Graph& graph, std::string_view pattern, const Trials& trials,
                    std::set<std::string>& needs) {
  if (needs_tiles(trials)) needs.insert("tiles");
  if (pattern == "triangle_multiplication") {
    for (const Node& node : graph.nodes())
      if (std::holds_alternative<Einsum>(node.op)) add_einsum_axes(graph, node, trials, needs);
  }
  if (pattern != "sdpa" || needs.count("groups") > 0) return;
  for (ValueId value = 0; value < graph.source_count(); ++value) {
    const Shape& shape = graph.type(value).shape;
    for (size_t axis = 0; axis + 2 < shape.size(); ++axis) {
      if (shape[axis] > 1 && !trials.any_size_fails(graph.name(value) + " axis " + std::to_string(axis)))
        needs.insert("batch");
    }
  }
}

// What a kernel calls the tensor that this source becomes, after ops that only move or convert elements.
std::string operand_of(const Graph& graph, ValueId value, std::string_view pattern) {
  constexpr std::string_view kAttention[] = {"left", "right", "values", "mask"};
  for (const Node& node : graph.nodes()) {
    const auto input = std::find(node.inputs.begin(), node.inputs.end(), value);
    if (input == node.inputs.end()) continue;
    const auto place = static_cast<size_t>(input - node.inputs.begin());
    const std::string_view op = name(node.op);
    if (op == "sdpa") return std::string(kAttention[std::min(place, std::size(kAttention) - 1)]);
    if (info(node.op).op_class == OpClass::product && place < 2)
      return place == 0 ? "left" : follows_product(graph, node.inputs[0]) ? "values" : "right";
    if (pattern == "sdpa" && is_one_of(op, kMaskOps)) return "mask";
    if (is_one_of(op, kLayoutOps) || op == "cast") return operand_of(graph, node.first_output, pattern);
    break;
  }
  return "operand";
}

// The minimizer drops a layout without which the case fails as well.
std::set<std::string> layouts_of(const Graph& graph, std::string_view pattern) {
  std::set<std::string> layouts;
  for (ValueId value = 0; value < graph.source_count(); ++value) {
    const std::vector<LayoutClass> classes = classes_of(graph.layout(value), graph.type(value));
    const auto has = [&](LayoutClass one) {
      return std::find(classes.begin(), classes.end(), one) != classes.end();
    };
    if (classes.empty() || has(LayoutClass::dense)) continue;
    const bool strided = has(LayoutClass::permuted) || has(LayoutClass::padded) || has(LayoutClass::expanded);
    layouts.insert((strided ? "strides of " : "start of ") + operand_of(graph, value, pattern));
  }
  return layouts;
}

std::set<std::string> needs_of(const Case& test_case, std::string_view pattern, const Trials& trials) {
  const Graph& graph = test_case.graph;
  std::set<std::string> needs;
  for (const Node& node : graph.nodes()) {
    if (const Sdpa* attention = std::get_if<Sdpa>(&node.op))
      add_needs(*attention, needs);
    else
      add_needs(graph, node, pattern, trials, needs);
  }
  if (test_case.steps > 1) needs.insert("steps");
  add_size_needs(graph, pattern, trials, needs);
  return needs;
}

Symptom symptom_named(std::string_view text) {
  const auto found = std::find(kSymptomNames.begin(), kSymptomNames.end(), text);
  return found == kSymptomNames.end() ? Symptom::none : static_cast<Symptom>(found - kSymptomNames.begin());
}

// Rules of sizes that speak of a remainder.
std::set<std::string> rules_of(const Trials& trials) {
  std::set<std::string> rules = trials.rules();
  std::erase_if(rules, [](const std::string& rule) { return rule.find(" mod ") == std::string::npos; });
  return rules;
}

// "" of a region that no pattern formed.
std::string pattern_of(const Json& region) {
  const auto patterns = region.find("patterns");
  const bool has = patterns != region.end() && patterns->is_array() && !patterns->empty();
  return has && (*patterns)[0].is_string() ? (*patterns)[0].get<std::string>() : "";
}

std::string component_of(const Json& region) {
  const std::string pattern = pattern_of(region);
  return pattern.empty() ? text_member(region, "op") : pattern;
}

// Smaller cases first, then those that were met more often.
auto simplicity(const FindingRecord& record) {
  const Measure size = record.smallest ? measure(*record.smallest) : Measure{};
  return std::tuple(!record.smallest, size.nodes, size.elements, -record.cases, record.signature);
}

}  // namespace

CauseTraits traits_of(const FindingRecord& record) {
  CauseTraits traits;
  traits.place = record.signature;
  const Json& region = record.failing_region();
  if (!region.is_object()) return traits;
  const std::string component = component_of(region), symptom = text_member(region, "symptom");
  traits.place = text_member(record.judged().at("failing_region"), "backend") + "/" + component;
  traits.failure = text_member(record.judged(), "verdict") + "-" + symptom;
  const Symptom named = symptom_named(symptom);
  const bool skips_cast = named == Symptom::explicit_cast_skipped;
  traits.wrong_value = is_wrong_value(named) && !skips_cast;
  traits.wrong_access = is_wrong_access(named);
  if (skips_cast && pattern_of(region).empty())
    traits.place = text_member(record.judged().at("failing_region"), "backend") + "/cast";
  const Trials trials(record.verdict);
  traits.rules = rules_of(trials);
  if (record.smallest) {
    traits.needs = needs_of(*record.smallest, component, trials);
    traits.layouts = layouts_of(record.smallest->graph, component);
  }
  return traits;
}

bool is_same_cause(const CauseTraits& a, const CauseTraits& b) {
  if (a.place != b.place) return false;
  const bool same_failure = a.failure == b.failure;
  const bool of_values = (a.wrong_value || a.wrong_access) && (b.wrong_value || b.wrong_access);
  if (!of_values) return same_failure;
  if (a.wrong_access && b.wrong_access) return a.layouts == b.layouts;
  if ((a.wrong_access || b.wrong_access) && !a.layouts.empty() && !b.layouts.empty())
    return a.layouts == b.layouts;
  if (!a.rules.empty() && !b.rules.empty()) {
    if (a.rules == b.rules) return true;
    if (same_failure) return false;
  }
  const auto needs = [&](const CauseTraits& traits) {
    std::set<std::string> all = traits.needs;
    if (same_failure) all.erase("tiles");
    return all;
  };
  return needs(a) == needs(b) && a.layouts == b.layouts;
}

Groups groups_of(std::span<const FindingRecord> records) {
  std::vector<CauseTraits> traits;
  for (const FindingRecord& record : records) traits.push_back(traits_of(record));
  std::vector<size_t> group(records.size());  // the smallest index of the group
  std::iota(group.begin(), group.end(), 0);
  for (size_t i = 0; i < records.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (group[i] == group[j] || !is_same_cause(traits[i], traits[j])) continue;
      const size_t from = std::max(group[i], group[j]), to = std::min(group[i], group[j]);
      std::replace(group.begin(), group.end(), from, to);
    }
  }
  Groups groups;
  for (size_t first = 0; first < records.size(); ++first) {
    std::vector<size_t> members;
    for (size_t i = 0; i < records.size(); ++i) {
      if (group[i] == first) members.push_back(i);
    }
    if (members.empty()) continue;
    std::sort(members.begin(), members.end(),
              [&](size_t a, size_t b) { return simplicity(records[a]) < simplicity(records[b]); });
    groups.push_back(std::move(members));
  }
  const auto cases = [&](const std::vector<size_t>& members) {
    return std::accumulate(members.begin(), members.end(), int64_t{0},
                           [&](int64_t sum, size_t i) { return sum + records[i].cases; });
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const auto& a, const auto& b) { return cases(a) > cases(b); });
  return groups;
}

}  // namespace fusesmith::fuzz
