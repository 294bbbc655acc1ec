#include "backends/rewrite/matching/region_order.h"

#include <algorithm>
#include <map>
#include <set>

namespace fusesmith::backends {
namespace {

using Places = std::vector<std::set<size_t>>;  // by region

// For each region those that must be done before it.
Places predecessors(const Graph& graph, const std::vector<FusedRegion>& regions, bool old_values_lost) {
  std::vector<size_t> region_of_node(graph.nodes().size());
  std::map<ValueId, size_t> overwriting;  // by state
  for (size_t r = 0; r < regions.size(); ++r) {
    for (int n : regions[r].region.nodes) region_of_node[static_cast<size_t>(n)] = r;
    if (const auto state = overwritten_state(regions[r]); state && !old_values_lost) overwriting[*state] = r;
  }
  Places before(regions.size());
  for (size_t r = 0; r < regions.size(); ++r) {
    for (ValueId v : regions[r].region.inputs) {
      if (const auto producer = graph.producer(v))
        before[r].insert(region_of_node[static_cast<size_t>(*producer)]);
      if (const auto at = overwriting.find(v); at != overwriting.end() && at->second != r)
        before[at->second].insert(r);
    }
  }
  return before;
}

}  // namespace

std::optional<ValueId> overwritten_state(const FusedRegion& fused) {
  const auto* update = std::get_if<CacheUpdate>(&fused.op);
  return update ? std::optional(update->cache) : std::nullopt;
}

std::vector<size_t> runnable_order(const Graph& graph, const std::vector<FusedRegion>& regions,
                                   bool old_values_lost) {
  Places waits_for = predecessors(graph, regions, old_values_lost), wakes(regions.size());
  std::map<int, size_t> ready;  // by last node
  const auto may_run = [&](size_t r) { ready[regions[r].region.nodes.back()] = r; };
  for (size_t r = 0; r < regions.size(); ++r) {
    for (size_t other : waits_for[r]) wakes[other].insert(r);
    if (waits_for[r].empty()) may_run(r);
  }
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t r = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(r);
    for (size_t next : wakes[r]) {
      waits_for[next].erase(r);
      if (waits_for[next].empty()) may_run(next);
    }
  }
  return order;
}

}  // namespace fusesmith::backends
