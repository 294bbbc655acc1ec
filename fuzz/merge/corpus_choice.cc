#include "fuzz/merge/corpus_choice.h"

#include <algorithm>
#include <queue>
#include <tuple>

#include "backends/rewrite/rewrite.h"
#include "fuzz/counts/coverage.h"

namespace fusesmith::fuzz {

std::vector<uint32_t> cells_of(const Case& test_case) {
  CoverageEvents events;
  add_graph_events(events, test_case.graph, "");
  Plan plan;
  for (FusedRegion& fused : rewrite(test_case.graph, {}, {}, &plan.refusals))
    plan.regions.push_back(std::move(fused.region));
  add_plan_events(events, test_case.graph, plan);
  std::sort(events.begin(), events.end());
  events.erase(std::unique(events.begin(), events.end()), events.end());
  return events;
}

namespace {

// Of the best case first: what it adds may have become less since it was put into the queue.
struct Candidate {
  size_t adds, index;
  const CorpusCase* test_case;

  bool operator<(const Candidate& other) const {
    return std::tie(adds, other.test_case->bytes, other.test_case->name) <
           std::tie(other.adds, test_case->bytes, test_case->name);
  }
};

}  // namespace

std::vector<size_t> choose_corpus(const std::vector<CorpusCase>& cases) {
  std::vector<size_t> times(coverage_cells().size());  // by cell: chosen cases that have it
  const auto adds = [&](const CorpusCase& one) {
    return static_cast<size_t>(
        std::count_if(one.cells.begin(), one.cells.end(), [&](uint32_t cell) { return times[cell] == 0; }));
  };
  std::priority_queue<Candidate> queue;
  for (size_t i = 0; i < cases.size(); ++i) queue.push({cases[i].cells.size(), i, &cases[i]});
  std::vector<size_t> chosen;
  while (!queue.empty()) {
    Candidate best = queue.top();
    queue.pop();
    const size_t now = adds(*best.test_case);
    if (now == 0) continue;
    if (now < best.adds) {
      best.adds = now;
      queue.push(best);
      continue;
    }
    for (const uint32_t cell : best.test_case->cells) ++times[cell];
    chosen.push_back(best.index);
  }
  std::vector<size_t> kept;
  for (auto it = chosen.rbegin(); it != chosen.rend(); ++it) {
    const std::vector<uint32_t>& cells = cases[*it].cells;
    if (std::any_of(cells.begin(), cells.end(), [&](uint32_t cell) { return times[cell] == 1; }))
      kept.push_back(*it);
    else
      for (const uint32_t cell : cells) --times[cell];
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace fusesmith::fuzz
