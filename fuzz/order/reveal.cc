#include "fuzz/order/reveal.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "fuzz/order/ranking.h"

namespace fusesmith::fuzz {
namespace {

// Terms that are descendants of the operation `target`, but not of its operand that has the term `outer`.
struct Task {
  std::vector<int64_t> members;
  int64_t outer;  // none: -1
  int target;
  bool random_pivot;
};

class Revealing {
 public:
  Revealing(SumKernel& kernel, const RevealOptions& options)
      : kernel_(kernel), options_(options), dtype_(probe_dtype(kernel.dtype())), random_(options.seed) {}

  Result<Revealed> run() {
    std::vector<int64_t> all(static_cast<size_t>(kernel_.terms()));
    for (size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int64_t>(k);
    tree_.nodes.emplace_back();  // holds the root alone
    std::vector<Task> tasks = {{std::move(all), -1, 0, options_.other_probes}};
    while (!tasks.empty()) {
      std::vector<Task> next;
      if (const auto problem = take_apart(std::move(tasks), next)) return *problem;
      tasks = std::move(next);
    }
    const RawTree::Node& top = tree_.nodes[0];
    if (top.nodes.size() + top.terms.size() != 1) return Problem{"the probes fit no tree"};
    tree_.root = top.nodes.empty() ? 0 : top.nodes[0];
    std::vector<ProductUse> uses(static_cast<size_t>(kernel_.terms()));
    if (kernel_.has_products() && kernel_.dtype() == Dtype::f32) {
      if (const auto problem = probe_products(uses)) return *problem;
    }
    return Revealed{compress(tree_, uses), probes_, calls_};
  }

 private:
  // Runs the probes in as many calls as they need.
  Result<std::vector<double>> run_all(const std::vector<Probe>& probes, const ProbeValues& values) {
    std::vector<double> results;
    const auto capacity = static_cast<size_t>(kernel_.capacity());
    probes_ += static_cast<int64_t>(probes.size());
    if (probes_ > options_.most_probes)
      return Problem{"more than " + std::to_string(options_.most_probes) + " probes are needed"};
    for (size_t first = 0; first < probes.size(); first += capacity) {
      const size_t end = std::min(probes.size(), first + capacity);
      const auto some = kernel_.run({probes.begin() + static_cast<std::ptrdiff_t>(first),
                                     probes.begin() + static_cast<std::ptrdiff_t>(end)},
                                    values, options_.other_probes);
      ++calls_;
      if (!some) return Problem{"equal sums in different places have different results"};
      results.insert(results.end(), some->begin(), some->end());
    }
    return results;
  }

  int64_t pivot_of(const Task& task) {
    if (!task.random_pivot) return task.members[0];
    return task.members[std::uniform_int_distribution<size_t>(0, task.members.size() - 1)(random_)];
  }

  // Ranks the members of each task by the smallest subtree that has them and the pivot.
  std::optional<Problem> take_apart(std::vector<Task> tasks, std::vector<Task>& next) {
    std::vector<Ranking> rankings;
    std::vector<const Task*> ranked;
    for (const Task& task : tasks) {
      if (task.members.size() == 1) {
        tree_.nodes[static_cast<size_t>(task.target)].terms.push_back(task.members[0]);
        continue;
      }
      rankings.emplace_back(task.members, pivot_of(task), task.outer, dtype_.most_units);
      ranked.push_back(&task);
    }
    while (true) {
      std::vector<Probe> probes;
      for (Ranking& ranking : rankings) ranking.ask(probes);
      if (probes.empty()) break;
      const auto results = run_all(probes, dtype_.values);
      if (!results) return Problem{results.problem()};
      std::span<const double> rest = *results;
      const double unit = dtype_.values.unit_product();
      for (Ranking& ranking : rankings) {
        if (auto problem = ranking.answer(rest, unit)) return problem;
      }
    }
    for (size_t i = 0; i < rankings.size(); ++i) grow(*ranked[i], rankings[i], next);
    return {};
  }

  // The operations from the pivot up to the target.
  void grow(const Task& task, const Ranking& ranking, std::vector<Task>& next) {
    int current = -1;  // so far only the pivot
    for (const auto& [members, is_beside] : ranking.classes()) {
      const bool random = options_.other_probes || members.size() > task.members.size() / 2;
      if (is_beside) {
        next.push_back({members, task.outer, task.target, random});
        continue;
      }
      const auto node = static_cast<int>(tree_.nodes.size());
      tree_.nodes.emplace_back();
      put(node, current, ranking.pivot());
      next.push_back({members, ranking.pivot(), node, random});
      current = node;
    }
    put(task.target, current, ranking.pivot());
  }

  void put(int node, int child, int64_t term) {
    RawTree::Node& to = tree_.nodes[static_cast<size_t>(node)];
    if (child >= 0)
      to.nodes.push_back(child);
    else
      to.terms.push_back(term);
  }

  // For each operation with a product and another operand.
  std::optional<Problem> probe_products(std::vector<ProductUse>& uses) {
    std::vector<int64_t> some_term(tree_.nodes.size(), -1);
    std::vector<Probe> probes;
    for (const int at : bottom_up(tree_)) {
      const RawTree::Node& node = tree_.nodes[static_cast<size_t>(at)];
      some_term[static_cast<size_t>(at)] =
          node.terms.empty() ? some_term[static_cast<size_t>(node.nodes[0])] : node.terms[0];
      if (node.terms.empty() || node.terms.size() + node.nodes.size() != 2) continue;
      const int64_t other =
          node.nodes.empty() ? node.terms[1] : some_term[static_cast<size_t>(node.nodes[0])];
      probes.push_back({node.terms[0], other, nullptr});
      if (node.terms.size() == 2) probes.push_back({other, node.terms[0], nullptr});
    }
    const auto results = run_all(probes, kProductProbe);
    if (!results) return Problem{results.problem()};
    // What is left is positive where the product of `plus` was not rounded. Negative results are not looked
    // at: a relu hides them.
    for (size_t i = 0; i < probes.size(); ++i)
      uses[static_cast<size_t>(probes[i].plus)].rounded = (*results)[i] <= 0;
    return {};
  }

  SumKernel& kernel_;
  const RevealOptions options_;
  const ProbeDtype dtype_;
  std::mt19937_64 random_;
  RawTree tree_;
  int64_t probes_ = 0, calls_ = 0;
};

}  // namespace

Result<Revealed> reveal(SumKernel& kernel, const RevealOptions& options) {
  return Revealing(kernel, options).run();
}

}  // namespace fusesmith::fuzz
