#include "backends/remote/remote_plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

namespace fusesmith::backends {
namespace {

using Json = nlohmann::json;

constexpr double kLargestError = 0x1p14;  // of a function, in units of 2^-24: relative 2^-10

struct Refused {
  std::string what;
};

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
  throw Refused{place + ": " + what};
}

// The functions whose errors a contract may state.
const std::map<std::string, double Arithmetic::*>& function_errors() {
  static const std::map<std::string, double Arithmetic::*> errors = {
      {"exp", &Arithmetic::exp}, {"erf", &Arithmetic::erf},     {"tanh", &Arithmetic::tanh},
      {"log", &Arithmetic::log}, {"rsqrt", &Arithmetic::rsqrt}, {"div", &Arithmetic::div},
  };
  return errors;
}

Arithmetic parse_arithmetic(const Json& json, const std::string& place) {
  Arithmetic arithmetic;
  if (!json.is_object()) refuse(place, "expected an object");
  for (const auto& [key, value] : json.items()) {
    const auto function = function_errors().find(key);
    if (function != function_errors().end()) {
      if (!value.is_number() || !(value >= 0.0) || !(value <= kLargestError))
        refuse(place + "." + key, "expected a number between 0 and 2^14, in units of 2^-24");
      arithmetic.*function->second = value.get<double>();
    } else if (key == "tf32" && value.is_boolean()) {
      arithmetic.tf32 = value.get<bool>();
    } else if (key == "variance") {
      using Variance = Arithmetic::Variance;
      const std::map<Json, Variance> forms = {
          {"two_pass", Variance::two_pass}, {"welford", Variance::welford}, {"moments", Variance::moments}};
      const auto form = forms.find(value);
      if (form == forms.end()) refuse(place + ".variance", "expected two_pass, welford or moments");
      arithmetic.variance = form->second;
    } else {
      refuse(place, "unknown key \"" + key + "\"");
    }
  }
  return arithmetic;
}

struct RemoteContract {
  Arithmetic arithmetic;
  bool any_rounding = false;
};

RemoteContract parse_contract(const Json& json, const std::string& place) {
  RemoteContract contract;
  if (!json.is_object()) refuse(place, "expected an object");
  for (const auto& [key, value] : json.items()) {
    if (key == "arithmetic") {
      contract.arithmetic = parse_arithmetic(value, place + ".arithmetic");
    } else if (key == "roundings" && (value == "kept" || value == "any")) {
      contract.any_rounding = value == "any";
    } else {
      refuse(place,
             key == "roundings" ? "roundings: expected \"kept\" or \"any\"" : "unknown key \"" + key + "\"");
    }
  }
  return contract;
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
                    const std::string& place, bool& any_rounding) {
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
  region.contract.arithmetic = contract.arithmetic;
  any_rounding = contract.any_rounding;
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
  for (Region& region : regions) {
    region.contract.arithmetic = contract.arithmetic;
    region.contract.any_rounding = contract.any_rounding;
  }
  if (!json.is_array()) return regions;
  for (size_t r = 0; r < json.size(); ++r) {
    bool any_rounding = false;
    regions.push_back(
        parse_region(graph, json[r], contract, "regions[" + std::to_string(r) + "]", any_rounding));
    regions.back().contract.any_rounding = any_rounding;
  }
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

}  // namespace fusesmith::backends
