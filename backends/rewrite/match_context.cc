#include "backends/rewrite/match_context.h"

#include <algorithm>

namespace fusesmith {

MatchContext::MatchContext(const Graph& graph, const CompileOptions& options, const Arithmetic& arithmetic)
    : graph_(graph),
      options_(options),
      arithmetic_(arithmetic),
      consumers_(graph.consumers()),
      claimed_(graph.nodes().size(), false) {}

bool MatchContext::enabled(std::string_view pattern) const {
  const auto& skipped = options_.skip_patterns;
  return std::find(skipped.begin(), skipped.end(), pattern) == skipped.end();
}

void MatchContext::claim(const std::vector<int>& nodes) {
  for (int n : nodes) {
    check(is_free(n), "rewrite: a node was claimed twice");
    claimed_[static_cast<size_t>(n)] = true;
  }
}

bool MatchContext::is_inner(ValueId value) const {
  return consumers(value).size() == 1 && !graph_.is_observed(value);
}

std::optional<int> MatchContext::sole_consumer(ValueId value) const {
  if (!is_inner(value) || !is_free(consumers(value).front())) return std::nullopt;
  return consumers(value).front();
}

std::optional<int> MatchContext::inner_producer(ValueId value) const {
  const auto n = graph_.producer(value);
  if (!n || !is_inner(value) || !is_free(*n) || node(*n).output_count != 1) return std::nullopt;
  return n;
}

}  // namespace fusesmith
