// Ranking: terms in the order of the smallest subtrees that have them and a given term, the pivot.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fuzz/order/sum_kernel.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

class Ranking {
 public:
  // Terms whose smallest subtree with the pivot is the same.
  struct Class {
    std::vector<int64_t> members;
    bool is_beside = false;  // that subtree also has the term `outer`
  };

  // `members` with the pivot. `outer`: -1 if there is none; then some subtree must have all members. Probes
  // have at most `most_units` units: larger classes are first divided by a sample.
  Ranking(std::vector<int64_t> members, int64_t pivot, int64_t outer, int64_t most_units);

  int64_t pivot() const { return pivot_; }
  // From the smallest subtree to the largest, when nothing is asked any more.
  std::vector<Class> classes() const;

  // Appends the probes that are needed next.
  void ask(std::vector<Probe>& probes);
  // Takes the results of these from the front of `results`. `unit`: the result of one unit.
  std::optional<Problem> answer(std::span<const double>& results, double unit);

 private:
  using Terms = std::shared_ptr<const std::vector<int64_t>>;
  enum class State : uint8_t { asked, sampled, asked_in_parts, known };
  struct Part {
    std::vector<int64_t> members;
    bool is_last;  // only these may be beside the pivot
    State state = State::asked;
    std::vector<Terms> units = {};
    bool is_beside = false;
  };

  Terms units_of(const Part& part, size_t first, size_t count, size_t step) const;
  std::optional<Problem> split(const Part& part, const std::vector<int64_t>& inside,
                               std::vector<Part>& parts) const;

  int64_t pivot_, outer_, most_units_;
  std::vector<Part> parts_;
};

}  // namespace fusesmith::fuzz
