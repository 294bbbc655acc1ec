#include "backends/rewrite/rewrite.h"

#include <algorithm>

#include "backends/rewrite/matching/region_order.h"

namespace fusesmith::backends {
namespace {

// The pattern determines how variances are computed; the executor determines the rest.
FusedRegion region_of(const Graph& graph, Match match, Arithmetic arithmetic) {
  std::sort(match.nodes.begin(), match.nodes.end());
  FusedRegion fused{make_region(graph, std::move(match.nodes)), std::move(match.op)};
  fused.region.patterns = std::move(match.patterns);
  arithmetic.variance = match.contract.arithmetic.variance;
  match.contract.arithmetic = arithmetic;
  fused.region.contract = std::move(match.contract);
  return fused;
}

constexpr std::string_view kLostOldValue = "new_state_seen_by_old_readers";

// Splits a state update into single nodes if the region would have to wait for itself.
void split_update(const Graph& graph, const Arithmetic& arithmetic, const std::vector<size_t>& order,
                  std::vector<FusedRegion>& regions, std::vector<Refusal>* refusals) {
  for (size_t r = 0; r < regions.size(); ++r) {
    if (!overwritten_state(regions[r]) || std::find(order.begin(), order.end(), r) != order.end()) continue;
    const Region region = std::move(regions[r].region);
    regions.erase(regions.begin() + static_cast<std::ptrdiff_t>(r));
    for (int n : region.nodes) regions.push_back(region_of(graph, {{n}, {}, {}, SingleNode{n}}, arithmetic));
    if (refusals) refusals->push_back({region.patterns.front(), "old_state_read_later", region.nodes.back()});
    return;
  }
  check(false, "rewrite: regions that wait for each other");
}

// Injected fault: an update that did not wait for readers of the old state makes them read overwritten
// memory.
void lose_old_values(std::vector<FusedRegion>& regions) {
  for (size_t r = 0; r < regions.size(); ++r) {
    auto* update = std::get_if<CacheUpdate>(&regions[r].op);
    if (!update) continue;
    for (size_t later = r + 1; later < regions.size(); ++later) {
      const auto& inputs = regions[later].region.inputs;
      if (std::find(inputs.begin(), inputs.end(), update->cache) != inputs.end())
        update->old_value_lost = true;
    }
  }
}

}  // namespace

std::vector<FusedRegion> rewrite(const Graph& graph, const CompileOptions& options,
                                 const Arithmetic& arithmetic, std::vector<Refusal>* refusals) {
  MatchContext context(graph, options, arithmetic);
  std::vector<FusedRegion> regions;
  const int count = static_cast<int>(graph.nodes().size());
  for (const Pattern& pattern : all_patterns()) {
    if (!context.enabled(pattern.name)) continue;
    for (int n = count - 1; n >= 0; --n) {  // from the end, so that trees are matched at their roots
      if (!context.is_free(n)) continue;
      auto match = pattern.match(context, n);
      const auto guards = context.take_refusals();
      if (match) {
        context.claim(match->nodes);
        regions.push_back(region_of(graph, std::move(*match), arithmetic));
      } else if (refusals) {
        for (std::string_view guard : guards)
          refusals->push_back({std::string(pattern.name), std::string(guard), n});
      }
    }
  }
  for (int n = 0; n < count; ++n) {
    if (context.is_free(n)) regions.push_back(region_of(graph, {{n}, {}, {}, SingleNode{n}}, arithmetic));
  }
  const bool old_values_lost = options.faults.has(kLostOldValue);
  auto order = runnable_order(graph, regions, old_values_lost);
  while (order.size() < regions.size()) {
    split_update(graph, arithmetic, order, regions, refusals);
    order = runnable_order(graph, regions, old_values_lost);
  }
  std::vector<FusedRegion> ordered;
  for (size_t r : order) ordered.push_back(std::move(regions[r]));
  if (old_values_lost) lose_old_values(ordered);
  return ordered;
}

}  // namespace fusesmith::backends
