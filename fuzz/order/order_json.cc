#include "fuzz/order/order_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/json_strict.h"
#include "oracle/arithmetic_keys.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostTerms = int64_t{1} << 27;

bool is_count(const Json& json, int64_t lo) {
  return json.is_number_integer() && json.get<int64_t>() >= lo && json.get<int64_t>() <= kMostTerms;
}

std::optional<TermRun> parse_run(const Json& json) {
  if (!json.is_array() || json.size() != 3 || !is_count(json[0], 0) || !is_count(json[1], -kMostTerms) ||
      !is_count(json[2], 1))
    return {};
  const TermRun run{json[0].get<int64_t>(), json[1].get<int64_t>(), json[2].get<int64_t>()};
  const int64_t last = run.first + (run.count - 1) * run.step;
  if (last < 0 || last > kMostTerms || (run.step == 0 && run.count > 1)) return {};
  return run;
}

// Nothing: not what sum_tree_json writes.
std::optional<SumNode> parse_node(const Json& json, size_t nodes_before) {
  if (!json.is_object()) return {};
  SumNode node;
  for (const auto& [key, value] : json.items()) {
    if (key == "children" && value.is_array()) {
      for (const Json& child : value) {
        if (!is_count(child, 0) || child.get<size_t>() >= nodes_before) return {};
        node.children.push_back(child.get<int>());
      }
    } else if (key == "terms" && value.is_array()) {
      for (const Json& run : value) {
        const auto parsed = parse_run(run);
        if (!parsed) return {};
        node.terms.push_back(*parsed);
      }
    } else if (key == "group" && is_count(value, 1)) {
      node.group = value.get<int64_t>();
    } else if (key == "rounds_products" && value.is_boolean()) {
      node.rounds_products = value.get<bool>();
    } else {
      return {};
    }
  }
  if (node.terms.empty() && node.children.size() < 2) return {};
  return node;
}

// Each node but the root is one node's child, and each term stands once.
bool is_tree(const SumTree& tree) {
  std::vector<int> parents(tree.nodes.size(), 0);
  int64_t count = 0;
  for (const SumNode& node : tree.nodes) {
    for (const int child : node.children) ++parents[static_cast<size_t>(child)];
    count += node.term_count();
    if (count > kMostTerms) return false;
  }
  if (parents.empty() || parents.back() != 0) return false;
  if (!std::all_of(parents.begin(), parents.end() - 1, [](int n) { return n == 1; })) return false;
  std::vector<bool> seen(static_cast<size_t>(count), false);
  for (const SumNode& node : tree.nodes) {
    for (const int64_t term : node.term_list()) {
      if (term >= count || seen[static_cast<size_t>(term)]) return false;
      seen[static_cast<size_t>(term)] = true;
    }
  }
  return true;
}

std::string_view state_name(OrderReport::State state) {
  switch (state) {
    case OrderReport::State::trusted:
      return "trusted";
    case OrderReport::State::unequal:
      return "unequal";
    default:
      return "no_tree";
  }
}

Json arithmetic_json(const NodeArithmetic& arithmetic) {
  Json json = {{"kind", NodeArithmetic::kKinds[static_cast<size_t>(arithmetic.kind)]}};
  if (arithmetic.kind == NodeArithmetic::Kind::tensor_core) {
    json["fraction_bits"] = arithmetic.fraction_bits;
    json["rounds_to_nearest"] = arithmetic.rounds_to_nearest;
    json["out_bits"] = arithmetic.out_bits;
    if (!arithmetic.normalises) json["normalises"] = false;
  }
  json["operands"] = NodeArithmetic::kOperands[static_cast<size_t>(arithmetic.operands)];
  return json;
}

Json part_json(const PartOrder& part) {
  const OrderReport& report = part.report;
  Json json = {
      {"results", part.size()},
      {"first_result", std::find(part.results.begin(), part.results.end(), true) - part.results.begin()},
      {"state", state_name(report.state)},
      {"reason", report.reason},
      {"probes", report.probes},
      {"calls", report.calls}};
  if (report.order.tree.nodes.empty()) return json;
  json["sentence"] = to_string(report.order.tree);
  json["height"] = report.order.tree.height();
  json["arithmetic"] = arithmetic_json(report.order.arithmetic);
  if (report.accumulator) json["accumulator"] = Json::parse(to_json(*report.accumulator));
  json["products"] = report.products;
  json["equal_products"] = report.equal_products;
  json["elements"] = report.elements;
  json["equal_elements"] = report.equal_elements;
  json["tree"] = sum_tree_json(report.order.tree);
  return json;
}

}  // namespace

Json sum_tree_json(const SumTree& tree) {
  Json nodes = Json::array();
  for (const SumNode& node : tree.nodes) {
    Json json = Json::object();
    if (!node.children.empty()) json["children"] = node.children;
    if (!node.terms.empty()) json["terms"] = Json::array();
    for (const TermRun& run : node.terms) json["terms"].push_back({run.first, run.step, run.count});
    if (node.group != 1) json["group"] = node.group;
    if (node.rounds_products) json["rounds_products"] = true;
    nodes.push_back(std::move(json));
  }
  return {{"nodes", nodes}};
}

Result<SumTree> parse_sum_tree(std::string_view text) {
  const Json json = parse_record(text);
  if (!json.is_object() || json.size() != 1 || !json.contains("nodes") || !json["nodes"].is_array())
    return Problem{"expected {\"nodes\": [...]}"};
  SumTree tree;
  for (const Json& node : json["nodes"]) {
    const auto parsed = parse_node(node, tree.nodes.size());
    if (!parsed)
      return Problem{"nodes[" + std::to_string(tree.nodes.size()) + "] is no node of a summation tree"};
    tree.nodes.push_back(*parsed);
  }
  if (!is_tree(tree)) return Problem{"the nodes are no tree with each of the terms 0, 1, ... once"};
  return tree;
}

Json order_json(const BackendOrder& order) {
  Json json = {{"backend", order.backend}, {"versions", order.versions}, {"device", order.device}};
  json["seconds"] = order.seconds;
  json["known"] = order.is_known();
  json["unsupported"] = order.unsupported;
  json["declared_height"] = order.declared_height > 0 ? Json(order.declared_height) : Json();
  json["parts"] = Json::array();
  for (const PartOrder& part : order.parts) json["parts"].push_back(part_json(part));
  return json;
}

Json proof_json(const OrderProof& proof) {
  return {{"region", proof.region}, {"backend", proof.backend},   {"order", proof.order},
          {"equal", proof.equal},   {"elements", proof.elements}, {"why_not", proof.why_not}};
}

}  // namespace fusesmith::fuzz
