#include "fuzz/report/definitions.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "fuzz/base/table.h"
#include "fuzz/report/verdict_json.h"
#include "graph/attributes.h"
#include "minimizer/edit.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

const Node& producer(const Graph& graph, const std::string& value) {
  return graph.nodes()[static_cast<size_t>(*graph.producer(*graph.find(value)))];
}

// `op` with one attribute of `other`, which is of the same kind.
struct Change {
  Op op;
  std::string attribute;
};

std::vector<Change> changes_towards(const Op& op, const Op& other) {
  std::vector<Change> changes;
  std::visit(
      [&]<class T>(const T& from) {
        const T* to = std::get_if<T>(&other);
        if (!to) return;
        for_each_field<T>([&](const auto& field) {
          if (from.*field.member == to->*field.member) return;
          T changed = from;
          changed.*field.member = to->*field.member;
          changes.push_back(
              {changed, std::string(field.name) + "=" + attribute_text(to->*field.member, field.domain)});
        });
      },
      op);
  return changes;
}

// The definitions of one stand-in, run by one backend.
class Definitions {
 public:
  Definitions(const Case& test_case, const CaseRun& run, const Backend& backend, const RunOptions& options)
      : case_(test_case), run_(run), backend_(backend), options_(options) {}

  // How far the value, defined by `op`, is from its stand-in; nothing where the backend does not run it.
  std::optional<Difference> left(const StandIn& pair, const Op& op) const {
    const int operands = static_cast<int>(producer(case_.graph, pair.value).inputs.size());
    const auto changed = apply_edit(case_, SetOp{pair.value, op, operands});
    if (!changed) return std::nullopt;
    auto program =
        backend_.compile(changed->graph, {case_.policy.skip_patterns, options_.faults, case_.policy.tf32});
    if (!program) return std::nullopt;
    const auto sources =
        std::span(run_.candidate_trace.values).first(static_cast<size_t>(case_.graph.source_count()));
    const Trace trace = (*program)->run(sources);
    return difference(*trace.values[static_cast<size_t>(*changed->graph.find(pair.value))],
                      *run_.candidate_trace.values[static_cast<size_t>(*case_.graph.find(pair.by))]);
  }

 private:
  const Case& case_;
  const CaseRun& run_;
  const Backend& backend_;
  const RunOptions& options_;
};

}  // namespace

std::vector<DefinitionDifference> definition_differences(const Case& test_case, const CaseRun& run,
                                                         const Backend& backend, const RunOptions& options) {
  std::vector<DefinitionDifference> found;
  if (!run.candidate) return found;
  const Definitions definitions(test_case, run, backend, options);
  for (const StandIn& pair : test_case.stand_ins) {
    if (!test_case.graph.producer(*test_case.graph.find(pair.by))) continue;
    const Node &node = producer(test_case.graph, pair.value), &other = producer(test_case.graph, pair.by);
    if (node.op.index() != other.op.index() || node.inputs != other.inputs) continue;
    DefinitionDifference result{pair, {}};
    const auto add = [&](std::vector<std::string> attributes, const Op& op) {
      if (const auto left = definitions.left(pair, op))
        result.takeovers.push_back({std::move(attributes), *left});
    };
    add({}, node.op);
    std::vector<std::string> all;
    for (const Change& change : changes_towards(node.op, other.op)) {
      add({change.attribute}, change.op);
      all.push_back(change.attribute);
    }
    if (all.size() > 1) add(all, other.op);
    found.push_back(std::move(result));
  }
  return found;
}

std::string stand_in_text(const Case& test_case, const std::vector<DefinitionDifference>& differences) {
  std::string text;
  for (const StandIn& pair : test_case.stand_ins) {
    text += "The candidate delivers '" + pair.by + "' where the graph says '" + pair.value + "'.\n";
    for (const DefinitionDifference& found : differences) {
      if (!(found.pair == pair)) continue;
      Table table(
          {"'" + pair.value + "' defined", "unequal to '" + pair.by + "'", "elements", "largest difference"});
      for (const Takeover& takeover : found.takeovers) {
        table.add(
            {takeover.attributes.empty() ? "as the graph says" : "with " + list_text(takeover.attributes),
             std::to_string(takeover.left.unequal), std::to_string(takeover.left.elements),
             short_number(takeover.left.largest)});
      }
      text += table.text(2);
    }
  }
  return text;
}

Json to_json(const std::vector<DefinitionDifference>& differences) {
  Json list = Json::array();
  for (const DefinitionDifference& found : differences) {
    Json takeovers = Json::array();
    for (const Takeover& takeover : found.takeovers) {
      takeovers.push_back({{"attributes", takeover.attributes},
                           {"unequal", takeover.left.unequal},
                           {"elements", takeover.left.elements},
                           {"largest_difference", json_number(takeover.left.largest)}});
    }
    list.push_back({{"value", found.pair.value}, {"by", found.pair.by}, {"takeovers", std::move(takeovers)}});
  }
  return list;
}

}  // namespace fusesmith::fuzz
