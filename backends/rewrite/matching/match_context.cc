#include "backends/rewrite/matching/match_context.h"

#include <algorithm>

namespace fusesmith::backends {

MatchContext::MatchContext(const Graph& graph, const CompileOptions& options, const Arithmetic& arithmetic)
    : graph_(graph),
      options_(options),
      arithmetic_(arithmetic),
      consumers_(graph.consumers()),
      group_(graph.nodes().size(), -1) {}

bool MatchContext::enabled(std::string_view pattern) const {
  const auto& skipped = options_.skip_patterns;
  return std::find(skipped.begin(), skipped.end(), pattern) == skipped.end();
}

void MatchContext::claim(const std::vector<int>& nodes) {
  for (int n : nodes) {
    check(is_free(n), "rewrite: a node was claimed twice");
    group_[static_cast<size_t>(n)] = groups_;
  }
  ++groups_;
}

bool MatchContext::can_run_together(const std::vector<int>& nodes) const {
  constexpr char kInside = 1, kReached = 2;
  std::vector<char> state(graph_.nodes().size(), 0);
  for (int n : nodes) state[static_cast<size_t>(n)] = kInside;
  std::vector<int> open = nodes;
  while (!open.empty()) {
    const int from = open.back();
    open.pop_back();
    const bool left = state[static_cast<size_t>(from)] == kReached;
    for (int i = 0; i < node(from).output_count; ++i) {
      for (int reader : consumers(node(from).first_output + i)) {
        char& seen = state[static_cast<size_t>(reader)];
        if (seen == kInside && left) return false;
        if (seen != 0) continue;
        seen = kReached;
        open.push_back(reader);
        const int group = group_[static_cast<size_t>(reader)];
        for (size_t other = 0; group >= 0 && other < group_.size(); ++other) {  // they run as one
          if (group_[other] != group || state[other] != 0) continue;
          state[other] = kReached;
          open.push_back(static_cast<int>(other));
        }
      }
    }
  }
  return true;
}

std::vector<std::string_view> MatchContext::take_refusals() const {
  std::vector<std::string_view> guards = std::move(refusals_);
  refusals_.clear();
  std::sort(guards.begin(), guards.end());
  guards.erase(std::unique(guards.begin(), guards.end()), guards.end());
  return guards;
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

}  // namespace fusesmith::backends
