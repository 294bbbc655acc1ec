#include "fuzz/campaign/groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>

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
constexpr std::string_view kActivations[] = {"relu", "gelu", "silu", "sigmoid", "tanh", "exp", "softcap"};
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
  if (op.softcap > 0) needs.insert("softcap");
  if (op.grouped_heads) needs.insert("groups");
}

// One word for the ops that a pattern takes in place of each other; "" for those that do not matter.
std::string kind_of(const Graph& graph, const Node& node, std::string_view pattern) {
  const std::string_view op = name(node.op);
  if (pattern == "cache_update_in_place" && is_one_of(op, kUpdateOps)) return "update";
  if (op == "einsum" || op == "matmul" || op == "linear") return "product";
  if (op == "layer_norm" || op == "rms_norm") return "norm";
  if (pattern == "sdpa" && is_one_of(op, kMaskOps)) return "mask";
  if ((pattern == "gate" || pattern == "gemm_bias_act") && is_one_of(op, kActivations)) return "activation";
  const bool by_scalar = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId value) { return graph.type(value).shape.empty(); });
  if ((op == "mul" || op == "div") && by_scalar) return "scale";
  return is_one_of(op, kLayoutOps) ? "" : std::string(op);
}

// Kernels with tiles may need a full tile to fail, kernels with several matrices more than one of them.
void add_size_needs(const Graph& graph, std::string_view pattern, std::set<std::string>& needs) {
  constexpr int64_t kTile = 8;  // from here on, sizes are taken in tiles
  const bool tiled = pattern == "sdpa" || pattern == "gemm_bias_act" || pattern == "einsum_to_pointwise";
  std::ptrdiff_t spread = 0;  // axes other than the last that need more than one element
  for (ValueId value = 0; value < graph.source_count(); ++value) {
    const Shape& shape = graph.type(value).shape;
    std::ptrdiff_t wide = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (tiled && shape[axis] >= kTile) needs.insert("tiles");
      if (pattern == "sdpa" && axis + 2 < shape.size() && shape[axis] > 1) needs.insert("batch");
      wide += axis + 1 < shape.size() && shape[axis] > 1;
    }
    spread = std::max(spread, wide);
  }
  if (pattern == "triangle_multiplication")
    needs.insert("axes " + std::to_string(std::min<std::ptrdiff_t>(spread, 2)));
}

std::set<std::string> needs_of(const Graph& graph, std::string_view pattern) {
  std::set<std::string> needs;
  for (const Node& node : graph.nodes()) {
    if (const Sdpa* attention = std::get_if<Sdpa>(&node.op)) {
      add_needs(*attention, needs);
      continue;
    }
    const std::string_view op = name(node.op);
    if (op == "linear" && node.inputs.size() > 2) needs.insert("add");
    if (pattern == "sdpa" && op == "add") needs.insert("added mask");
    if (pattern == "sdpa" && op == "broadcast_to") needs.insert("groups");
    const std::string kind = kind_of(graph, node, pattern);
    if (kind == "causal_mask")
      needs.insert({"causal", "mask"});
    else if (!kind.empty())
      needs.insert(kind);
  }
  if (needs.size() > 1) needs.erase("cast");
  add_size_needs(graph, pattern, needs);
  return needs;
}

std::set<std::string> rules_of(const Json& verdict) {
  std::set<std::string> rules;
  const auto neighbours = verdict.is_object() ? verdict.find("neighbours") : verdict.end();
  if (neighbours == verdict.end() || !neighbours->is_object()) return rules;
  const auto sizes = neighbours->find("sizes");
  if (sizes == neighbours->end() || !sizes->is_array()) return rules;
  for (const Json& size : *sizes) {
    const std::string rule = text_member(size, "fails_iff");
    if (rule.find(" mod ") != std::string::npos) rules.insert(rule);
  }
  return rules;
}

std::string component_of(const Json& region) {
  const auto patterns = region.find("patterns");
  if (patterns != region.end() && patterns->is_array() && !patterns->empty() && (*patterns)[0].is_string())
    return (*patterns)[0].get<std::string>();
  return text_member(region, "op");
}

// Smaller cases first, then those that were met more often.
auto simplicity(const FindingRecord& record) {
  const Measure size = record.smallest ? measure(*record.smallest) : Measure{};
  return std::tuple(!record.smallest, size.nodes, size.elements, -record.cases, record.signature);
}

}  // namespace

CauseTraits traits_of(const FindingRecord& record) {
  constexpr std::string_view kWrongValues[] = {"out_of_bounds", "nan", "infinity", "missing_nan",
                                               "missing_infinity"};
  CauseTraits traits;
  traits.place = record.signature;
  const Json& region = record.failing_region();
  if (!region.is_object()) return traits;
  const std::string component = component_of(region), symptom = text_member(region, "symptom");
  traits.place = text_member(record.judged().at("failing_region"), "backend") + "/" + component;
  traits.failure = text_member(record.judged(), "verdict") + "-" + symptom;
  traits.wrong_value = is_one_of(symptom, kWrongValues);
  traits.rules = rules_of(record.verdict);
  if (record.smallest) traits.needs = needs_of(record.smallest->graph, component);
  return traits;
}

bool is_same_cause(const CauseTraits& a, const CauseTraits& b) {
  if (a.place != b.place || a.wrong_value != b.wrong_value) return false;
  if (!a.wrong_value) return a.failure == b.failure;
  if (!a.rules.empty() && !b.rules.empty()) {
    if (a.rules == b.rules) return true;
    if (a.failure == b.failure) return false;
  }
  return a.needs == b.needs;
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
