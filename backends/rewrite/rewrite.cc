#include "backends/rewrite/rewrite.h"

#include <algorithm>

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

}  // namespace

std::vector<FusedRegion> rewrite(const Graph& graph, const CompileOptions& options,
                                 const Arithmetic& arithmetic) {
  MatchContext context(graph, options, arithmetic);
  std::vector<FusedRegion> regions;
  const int count = static_cast<int>(graph.nodes().size());
  for (const Pattern& pattern : all_patterns()) {
    if (!context.enabled(pattern.name)) continue;
    for (int n = count - 1; n >= 0; --n) {  // from the end, so that trees are found from their roots
      if (!context.is_free(n)) continue;
      if (auto match = pattern.match(context, n)) {
        context.claim(match->nodes);
        regions.push_back(region_of(graph, std::move(*match), arithmetic));
      }
    }
  }
  for (int n = 0; n < count; ++n) {
    if (context.is_free(n)) regions.push_back(region_of(graph, {{n}, {}, {}, SingleNode{n}}, arithmetic));
  }
  std::sort(regions.begin(), regions.end(), [](const FusedRegion& a, const FusedRegion& b) {
    return a.region.nodes.back() < b.region.nodes.back();
  });
  return regions;
}

}  // namespace fusesmith
