#include "backends/remote/remote_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "oracle/arithmetic_keys.h"
#include "oracle/lowerings.h"
#include "oracle/online_softmax.h"

namespace fusesmith::backends {
namespace {

using Json = nlohmann::json;

constexpr double kLargestError = 0x1p16;  // in units of 2^-24: relative 2^-8, as of sums in bf16
constexpr int kMostRoundedInside = 4;

struct Refused {
  std::string what;
};

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  throw Refused{place + ": " + what};
}

std::string granted_text(const Arithmetic& arithmetic) {
  const Arithmetic usual;
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  for (const auto& [key, error] : oracle::function_errors()) {
    if (arithmetic.*error > usual.*error) add(key + " " + number_text(arithmetic.*error));
  }
  if (!text.empty()) text += " (units of 2^-24)";
  for (const auto& [key, flag] : oracle::arithmetic_flags()) {
    const bool promise = flag == &Arithmetic::batch_invariant || flag == &Arithmetic::position_invariant;
    if (arithmetic.*flag && !(usual.*flag) && !promise) add(key);
  }
  for (const auto& [key, form] : oracle::variance_forms()) {
    if (form == arithmetic.variance && form != usual.variance) add("variance " + key);
  }
  if (arithmetic.accumulator != usual.accumulator) add("accumulator " + to_json(arithmetic.accumulator));
  return text;
}

oracle::Accumulator parse_accumulator(const Json& json, const std::string& place) {
  if (!json.is_object()) refuse(place, "expected an object");
  oracle::Accumulator unit;
  const auto keys = oracle::accumulator_keys();
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    const Json& value = item.value();
    const auto known = std::ranges::find_if(keys, [&](const auto& one) { return key == one.first; });
    if (known == keys.end()) refuse(place, "unknown key \"" + key + "\"");
    const int least = key == "promote_every" ? oracle::Accumulator::kAnywhere : 0;
    if (!value.is_number_integer() || !(value >= least) || !(value <= 1 << 20))
      refuse(place + "." + key, "expected a whole number between " + std::to_string(least) + " and 2^20");
    unit.*known->second = value.get<int>();
  }
  if (unit.group > 0 &&
      (unit.fraction_bits < 1 || unit.fraction_bits > 64 || unit.out_bits < 1 || unit.out_bits > 64))
    refuse(place, "expected fraction_bits and out_bits between 1 and 64");
  return unit;
}

// What `json` says, in place of what `arithmetic` has.
Arithmetic parse_arithmetic(const Json& json, const std::string& place, Arithmetic arithmetic = {}) {
  if (!json.is_object()) refuse(place, "expected an object");
  for (const auto& [key, value] : json.items()) {
    const auto function = oracle::function_errors().find(key);
    const auto flag = oracle::arithmetic_flags().find(key);
    if (function != oracle::function_errors().end()) {
      if (!value.is_number() || !(value >= 0.0) || !(value <= kLargestError))
        refuse(place + "." + key, "expected a number between 0 and 2^16, in units of 2^-24");
      arithmetic.*function->second = value.get<double>();
    } else if (flag != oracle::arithmetic_flags().end()) {
      if (!value.is_boolean()) refuse(place + "." + key, "expected true or false");
      arithmetic.*flag->second = value.get<bool>();
    } else if (key == "variance") {
      const auto form = oracle::variance_forms().find(value.is_string() ? value.get<std::string>() : "");
      if (form == oracle::variance_forms().end())
        refuse(place + ".variance", "expected two_pass, welford, two_pass_or_welford or moments");
      arithmetic.variance = form->second;
    } else if (key == "accumulator") {
      arithmetic.accumulator = parse_accumulator(value, place + ".accumulator");
    } else {
      refuse(place, "unknown key \"" + key + "\"");
    }
  }
  return arithmetic;
}

// What a contract says of ops, before it is applied to the nodes of a region.
struct RemoteContract {
  Arithmetic arithmetic;
  std::map<std::string, Arithmetic> arithmetic_of;  // by op
  oracle::Roundings roundings = oracle::Roundings::kept;
  bool online_softmax = false;
  std::vector<const oracle::Lowering*> lowerings;
  std::map<std::string, int> rounded_inside;  // by op: how many values inside it may be rounded to 16 bits
};

const oracle::Lowering* parse_lowering(const Json& name, const std::string& place) {
  const oracle::Lowering* found = name.is_string() ? oracle::find_lowering(name.get<std::string>()) : nullptr;
  if (found) return found;
  std::string known;
  for (const oracle::Lowering& lowering : oracle::lowerings())
    known += (known.empty() ? "" : ", ") + std::string(lowering.name);
  refuse(place, "expected one of " + known);
}

std::map<std::string, int> parse_rounded_inside(const Json& json, const std::string& place) {
  std::map<std::string, int> counts;
  if (!json.is_object()) refuse(place, "expected an object of ops and numbers");
  for (const auto& [op, count] : json.items()) {
    if (!default_op(op)) refuse(place, "no op is called \"" + op + "\"");
    if (!count.is_number_integer() || count < 1 || count > kMostRoundedInside)
      refuse(place + "." + op, "expected 1 to " + std::to_string(kMostRoundedInside));
    counts[op] = count.get<int>();
  }
  return counts;
}

std::map<std::string, Arithmetic> parse_arithmetic_of(const Json& json, const std::string& place,
                                                      const Arithmetic& general) {
  std::map<std::string, Arithmetic> by_op;
  if (!json.is_object()) refuse(place, "expected an object of ops and arithmetic");
  for (const auto& [op, entries] : json.items()) {
    if (!default_op(op)) refuse(place, "no op is called \"" + op + "\"");
    by_op[op] = parse_arithmetic(entries, place + "." + op, general);
  }
  return by_op;
}

oracle::Roundings parse_roundings(const Json& json, const std::string& place) {
  if (json == "kept") return oracle::Roundings::kept;
  if (json == "any") return oracle::Roundings::any;
  if (json == "products") return oracle::Roundings::products;
  refuse(place, "roundings: expected \"kept\", \"any\" or \"products\"");
}

RemoteContract parse_contract(const Json& json, const std::string& place) {
  RemoteContract contract;
  if (!json.is_object()) refuse(place, "expected an object");
  if (json.contains("arithmetic"))
    contract.arithmetic = parse_arithmetic(json["arithmetic"], place + ".arithmetic");
  for (const auto& [key, value] : json.items()) {
    if (key == "arithmetic") continue;
    if (key == "arithmetic_of") {
      contract.arithmetic_of = parse_arithmetic_of(value, place + ".arithmetic_of", contract.arithmetic);
    } else if (key == "roundings") {
      contract.roundings = parse_roundings(value, place);
    } else if (key == "attention" && (value == "exact" || value == "online")) {
      contract.online_softmax = value == "online";
    } else if (key == "lowerings" && value.is_array()) {
      for (const Json& name : value) contract.lowerings.push_back(parse_lowering(name, place + ".lowerings"));
    } else if (key == "rounded_inside") {
      contract.rounded_inside = parse_rounded_inside(value, place + ".rounded_inside");
    } else if (key == "attention") {
      refuse(place, "attention: expected \"exact\" or \"online\"");
    } else {
      refuse(place,
             key == "lowerings" ? "lowerings: expected a list of names" : "unknown key \"" + key + "\"");
    }
  }
  return contract;
}

void declare_node(Contract& contract, const Graph& graph, const Node& node, const RemoteContract& remote) {
  for (const oracle::Lowering* lowering : remote.lowerings)
    oracle::allow_lowering(contract, graph, node, *lowering);
  const auto inside = remote.rounded_inside.find(std::string(info(node.op).name));
  if (inside != remote.rounded_inside.end())
    oracle::allow_inner_roundings(contract, graph, node, inside->second);
}

// The contract of a region, once its nodes are known.
void declare(Region& region, const Graph& graph, const RemoteContract& remote) {
  region.contract.arithmetic = remote.arithmetic;
  region.contract.arithmetic_of = remote.arithmetic_of;
  region.contract.roundings = remote.roundings;
  const auto own = remote.arithmetic_of.find(std::string(info(Op(Sdpa{})).name));
  const Arithmetic& attention = own == remote.arithmetic_of.end() ? remote.arithmetic : own->second;
  for (const int n : region.nodes) {
    const Node& node = graph.nodes()[static_cast<size_t>(n)];
    if (remote.online_softmax && std::holds_alternative<Sdpa>(node.op))
      oracle::declare_online_attention(region.contract, node, graph.type(node.first_output).dtype,
                                       oracle::most_rescales(graph, node), attention.exp);
    declare_node(region.contract, graph, node, remote);
  }
  region.order_varies = oracle::order_varies(graph, region);
}

std::vector<int> parse_nodes(const Graph& graph, const Json& json, const std::string& place) {
  std::vector<int> nodes;
  if (!json.is_array() || json.empty()) refuse(place, "expected a list of names of nodes");
  for (const Json& name : json) {
    const auto node = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                   [&](const Node& n) { return name == n.name; });
    if (node == graph.nodes().end()) refuse(place, "no node is called " + name.dump());
    nodes.push_back(static_cast<int>(node - graph.nodes().begin()));
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

Region parse_region(const Graph& graph, const Json& json, const RemoteContract& general,
                    const std::string& place) {
  if (!json.is_object() || !json.contains("nodes")) refuse(place, "expected an object with \"nodes\"");
  Region region = make_region(graph, parse_nodes(graph, json["nodes"], place + ".nodes"));
  RemoteContract contract = general;
  for (const auto& [key, value] : json.items()) {
    if (key == "contract") {
      contract = parse_contract(value, place + ".contract");
    } else if (key == "patterns" && value.is_array()) {
      for (const Json& pattern : value) {
        if (!pattern.is_string()) refuse(place + ".patterns", "expected names");
        region.patterns.push_back(pattern.get<std::string>());
      }
    } else if (key != "nodes") {
      refuse(place, "unknown key \"" + key + "\"");
    }
  }
  declare(region, graph, contract);
  return region;
}

// Every node once, and nothing read before a region has computed it.
void check_order(const Graph& graph, const std::vector<Region>& regions) {
  std::vector<bool> known(static_cast<size_t>(graph.value_count()));
  std::fill_n(known.begin(), graph.source_count(), true);
  size_t nodes = 0;
  for (size_t r = 0; r < regions.size(); ++r) {
    const std::string place = "regions[" + std::to_string(r) + "]";
    for (const ValueId v : regions[r].inputs) {
      if (!known[static_cast<size_t>(v)])
        refuse(place, "reads '" + graph.name(v) + "', which no region before it computes");
    }
    for (const int n : regions[r].nodes) {
      const Node& node = graph.nodes()[static_cast<size_t>(n)];
      if (known[static_cast<size_t>(node.first_output)])
        refuse(place, "'" + node.name + "' is in two regions");
      std::fill_n(known.begin() + node.first_output, node.output_count, true);
      ++nodes;
    }
  }
  if (nodes != graph.nodes().size())
    refuse("regions", std::to_string(graph.nodes().size() - nodes) + " nodes are in no region");
}

std::vector<int> all_nodes(const Graph& graph) {
  std::vector<int> nodes(graph.nodes().size());
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i);
  return nodes;
}

std::vector<Region> parse_regions(const Graph& graph, const Json& json, const RemoteContract& contract) {
  std::vector<Region> regions;
  if (json == "each_node") {
    for (const int node : all_nodes(graph)) regions.push_back(make_region(graph, {node}));
  } else if (json == "whole_graph") {
    if (graph.nodes().empty()) return regions;
    regions.push_back(make_region(graph, all_nodes(graph)));
    // A compiler does not compute what nobody reads.
    std::erase_if(regions.back().outputs, [&](ValueId v) { return !graph.is_observed(v); });
  } else if (!json.is_array()) {
    refuse("regions", "expected \"each_node\", \"whole_graph\" or a list");
  }
  for (Region& region : regions) declare(region, graph, contract);
  if (!json.is_array()) return regions;
  for (size_t r = 0; r < json.size(); ++r)
    regions.push_back(parse_region(graph, json[r], contract, "regions[" + std::to_string(r) + "]"));
  check_order(graph, regions);
  return regions;
}

}  // namespace

Result<Plan> parse_plan(const Graph& graph, const Json& reply) {
  try {
    const RemoteContract contract =
        reply.contains("contract") ? parse_contract(reply["contract"], "contract") : RemoteContract{};
    if (!reply.contains("regions")) refuse("regions", "missing");
    return Plan{parse_regions(graph, reply["regions"], contract), {}};
  } catch (const Refused& refused) {
    return Problem{"plan: " + refused.what};
  }
}

Json contract_of_functions() {
  return {{"roundings", "any"},
          {"arithmetic",
           {{"exp", 4},
            {"erf", 4},
            {"tanh", 4},
            {"log", 4},
            {"sqrt", 4},
            {"rsqrt", 4},
            {"div", 4},
            {"variance", "two_pass_or_welford"},
            {"means_of_quotients", true}}}};
}

std::string granted_text(const Contract& contract) {
  std::string text = granted_text(contract.arithmetic);
  for (const auto& [op, arithmetic] : contract.arithmetic_of) {
    const std::string own = granted_text(arithmetic);
    if (own != granted_text(contract.arithmetic))
      text += (text.empty() ? "" : "; ") + op + ": " + (own.empty() ? "nothing" : own);
  }
  std::set<std::string> lowerings;
  for (const oracle::Deviation& d : contract.deviations) {
    if (is_lowering(d)) lowerings.insert(d.lowering);
  }
  for (const std::string& name : lowerings) text += (text.empty() ? "" : "; ") + ("lowering " + name);
  return text;
}

}  // namespace fusesmith::backends
