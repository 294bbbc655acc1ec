#include "minimizer/minimize.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <unordered_set>

#include "graph/subgraph.h"
#include "minimizer/fingerprint.h"

namespace fusesmith::minimizer {
namespace {

constexpr size_t kKept = 4;  // earlier cases to fall back on when the last one does not fail again
constexpr int kMaxGrowth =
    3;  // times that the failing region is extended by what it reads, if it does not fail alone

class Engine {
 public:
  Engine(const Case& start, const Predicate& predicate, const MinimizeOptions& options)
      : predicate_(predicate), options_(options), case_(start), measure_(measure(start)) {}

  MinimizeResult run(std::optional<Probe> probe) {
    result_.before = result_.after = measure_;
    if (!probe && options_.max_queries > 0) probe = ask(case_);
    if (!probe) return finish();
    result_.fails = true;
    result_.signature = probe->signature;
    probe_ = std::move(*probe);
    signatures_.insert(probe_.signature);
    if (!options_.fixed_graph) extract();
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (const Reduction& reduction : all_reductions()) {
        if (options_.fixed_graph && !reduction.keeps_graph) continue;
        if (options_.keep_sizes && reduction.changes_sizes) continue;
        while (reduce(reduction)) smaller = true;
      }
    }
    verify();
    return finish();
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  std::optional<Probe> ask(const Case& candidate) {
    ++result_.queries;
    tried_.insert(fingerprint(candidate));
    return predicate_(candidate);
  }

  // Whether the candidate is smaller and fails in the same way; then it becomes the case. One query is kept
  // for the last check.
  bool take(std::string_view reduction, const std::string& edit, Case candidate) {
    const Measure size = measure(candidate);
    if (!(size < measure_)) return false;
    if (tried_.count(fingerprint(candidate)) > 0) return false;
    if (result_.queries + 1 >= options_.max_queries || seconds() >= options_.max_seconds) {
      result_.exhausted = true;
      return false;
    }
    auto probe = ask(candidate);
    if (!probe) return false;
    if (probe->signature != result_.signature) {
      const bool is_new = signatures_.insert(probe->signature).second;
      if (is_new && options_.on_other) options_.on_other(probe->signature, candidate);
      return false;
    }
    earlier_.push_back(std::move(case_));
    earlier_edits_.push_back(result_.edits.size());
    if (earlier_.size() > kKept) {
      earlier_.erase(earlier_.begin() + 1);  // the start is always kept
      earlier_edits_.erase(earlier_edits_.begin() + 1);
    }
    case_ = std::move(candidate);
    probe_ = std::move(*probe);
    measure_ = size;
    result_.edits.push_back(edit);
    if (options_.on_progress) options_.on_progress({reduction, edit, result_.queries, measure_});
    return true;
  }

  // The failing region alone, on the inputs it got; if that does not fail, with more and more of what it
  // reads.
  void extract() {
    std::vector<int> nodes = probe_.failing_nodes;
    for (int growth = 0; growth <= kMaxGrowth && !nodes.empty() && !result_.exhausted; ++growth) {
      auto candidate = extract_region(case_, nodes, probe_.values);
      const std::string edit = "extract the region of " + std::to_string(nodes.size()) + " nodes";
      if (candidate && take("extract_region", edit, std::move(*candidate))) return;
      std::vector<int> grown = with_producers(case_.graph, nodes);
      if (grown.size() == nodes.size()) return;
      nodes = std::move(grown);
    }
  }

  // One that changes the type as well holds the same data.
  bool replaces_kept_data(const Edit& edit) const {
    const auto* fill = std::get_if<SetFill>(&edit);
    return fill && !fill->type &&
           std::ranges::find(options_.keep_data, fill->source) != options_.keep_data.end();
  }

  bool reduce(const Reduction& reduction) {
    if (result_.exhausted) return false;
    std::vector<Edits> proposals = reduction.propose({case_, probe_});
    bool smaller = false;
    for (Edits& edits : proposals) {
      std::erase_if(edits, [&](const Edit& edit) { return replaces_kept_data(edit); });
      if (edits.empty()) continue;
      auto candidate = apply_edits(case_, edits);
      if (candidate && take(reduction.name, to_string(edits), std::move(*candidate))) smaller = true;
      if (result_.exhausted) break;
    }
    return smaller;
  }

  // The result must fail a second time; one that does not is replaced by an earlier case.
  void verify() {
    while (!result_.edits.empty()) {
      if (result_.queries >= options_.max_queries) break;
      const auto probe = ask(case_);
      if (probe && probe->signature == result_.signature) break;
      result_.flaky = true;
      case_ = std::move(earlier_.back());
      result_.edits.resize(earlier_edits_.back());
      earlier_.pop_back();
      earlier_edits_.pop_back();
    }
  }

  MinimizeResult finish() {
    result_.after = measure(case_);
    result_.seconds = seconds();
    result_.test_case = std::move(case_);
    return std::move(result_);
  }

  const Predicate& predicate_;
  const MinimizeOptions& options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Case case_;
  Measure measure_;
  Probe probe_;  // of case_
  std::vector<Case> earlier_;
  std::vector<size_t> earlier_edits_;
  std::unordered_set<uint64_t> tried_;
  std::set<std::string> signatures_;
  MinimizeResult result_;
};

}  // namespace

MinimizeResult minimize(const Case& start, const Predicate& predicate, const MinimizeOptions& options,
                        std::optional<Probe> seen) {
  return Engine(start, predicate, options).run(std::move(seen));
}

}  // namespace fusesmith::minimizer
