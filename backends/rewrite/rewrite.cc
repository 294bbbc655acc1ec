#include "backends/rewrite/rewrite.h"

#include <algorithm>
#include <map>
#include <set>

namespace fusesmith {
namespace {

// The pattern chose how variances are computed, the executor the rest.
FusedRegion region_of(const Graph& graph, Match match, Arithmetic arithmetic) {
  std::sort(match.nodes.begin(), match.nodes.end());
  FusedRegion fused{make_region(graph, std::move(match.nodes)), std::move(match.op)};
  fused.region.patterns = std::move(match.patterns);
  arithmetic.variance = match.contract.arithmetic.variance;
  match.contract.arithmetic = arithmetic;
  fused.region.contract = std::move(match.contract);
  return fused;
}

// Regions may leave several values, at other places than their last node: the first that is ready runs next.
std::vector<FusedRegion> in_order(const Graph& graph, std::vector<FusedRegion> regions) {
  std::vector<int> region_of_node(graph.nodes().size());
  for (size_t r = 0; r < regions.size(); ++r) {
    for (int n : regions[r].region.nodes) region_of_node[static_cast<size_t>(n)] = static_cast<int>(r);
  }
  std::vector<std::set<int>> waits_for(regions.size()), wakes(regions.size());
  for (size_t r = 0; r < regions.size(); ++r) {
    for (ValueId v : regions[r].region.inputs) {
      const auto producer = graph.producer(v);
      if (!producer) continue;
      const int other = region_of_node[static_cast<size_t>(*producer)];
      waits_for[r].insert(other);
      wakes[static_cast<size_t>(other)].insert(static_cast<int>(r));
    }
  }
  std::map<int, int> ready;  // by last node
  const auto last_node = [&](int r) { return regions[static_cast<size_t>(r)].region.nodes.back(); };
  for (size_t r = 0; r < regions.size(); ++r) {
    if (waits_for[r].empty()) ready[last_node(static_cast<int>(r))] = static_cast<int>(r);
  }
  std::vector<FusedRegion> ordered;
  while (!ready.empty()) {
    const int r = ready.begin()->second;
    ready.erase(ready.begin());
    for (int next : wakes[static_cast<size_t>(r)]) {
      auto& waiting = waits_for[static_cast<size_t>(next)];
      waiting.erase(r);
      if (waiting.empty()) ready[last_node(next)] = next;
    }
    ordered.push_back(std::move(regions[static_cast<size_t>(r)]));
  }
  check(ordered.size() == regions.size(), "rewrite: regions that wait for each other");
  return ordered;
}

}  // namespace

std::vector<FusedRegion> rewrite(const Graph& graph, const CompileOptions& options,
                                 const Arithmetic& arithmetic, std::vector<Refusal>* refusals) {
  MatchContext context(graph, options, arithmetic);
  std::vector<FusedRegion> regions;
  const int count = static_cast<int>(graph.nodes().size());
  for (const Pattern& pattern : all_patterns()) {
    if (!context.enabled(pattern.name)) continue;
    for (int n = count - 1; n >= 0; --n) {  // from the end, so that trees are found from their roots
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
  return in_order(graph, std::move(regions));
}

}  // namespace fusesmith
