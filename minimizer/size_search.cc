#include "minimizer/size_search.h"

#include <algorithm>
#include <limits>

#include "minimizer/dimensions.h"

namespace fusesmith::minimizer {
namespace {

constexpr int64_t kFirstSizes[] = {1, 16, 32, 64, 8};  // of each dimension, before the others
constexpr int64_t kSizes[] = {1,  2,  3,  4,  5,  7,  8,  9,  15,  16,  17,
                              24, 31, 32, 33, 48, 63, 64, 65, 127, 128, 129};
constexpr int64_t kSmall = 129;     // sizes that are tried, however long they take
constexpr double kSlow = 0.02;      // of the limit of time
constexpr int kRounds = 16;         // of sizes asked for by what is known so far
constexpr size_t kFewestKnown = 4;  // sizes after which one that fails alone may be bound to another axis
constexpr int kAttempts = 4;        // to find a rule that other data agrees with
constexpr size_t kMostInside = 6;   // sizes that pass within the limits and are tried with other data

using Draws = NeighbourTrials::Draws;
constexpr Draws kMostFail{3, 3};  // of five draws
constexpr int kDraws = 8;         // of data for a size that passes; fewer where all data fails at other sizes
constexpr int kFewDraws = 4, kManyDraws = 24;

struct Axes {
  std::vector<Dimension> dimensions;  // that get other sizes together
  SizeNeighbours found = {};
  std::set<int64_t> asked = {};
  int64_t largest = std::numeric_limits<int64_t>::max();  // larger ones take too long
  bool is_done = false;
};

enum class Reading { holds, refuted, depends_on_data, no_time };

class SizeSearch {
 public:
  explicit SizeSearch(NeighbourTrials& trials) : trials_(trials) {}

  std::vector<SizeNeighbours> run(std::vector<std::string>& untried) {
    for (const Dimension& d : Dimensions(trials_.graph()).all()) all_.push_back(axes_of({d}));
    explore();
    for (const bool mixed : {true, false}) {
      for (Axes& axes : all_) {
        if (!axes.is_done && has_passing(axes) == mixed) finish(axes);
      }
    }
    bind_together();
    std::vector<SizeNeighbours> found;
    for (Axes& axes : all_) {
      if (!axes.is_done) untried.insert(untried.end(), axes.found.axes.begin(), axes.found.axes.end());
      if (!has_passing(axes)) axes.found.depends_on_data = false;
      if (!has_passing(axes) && axes.found.tried.size() > 1) axes.found.rule = infer_rule(axes.found.tried);
      if (known(axes) > 1) found.push_back(std::move(axes.found));
    }
    return found;
  }

 private:
  Axes axes_of(std::vector<Dimension> dimensions) const {
    Axes axes{std::move(dimensions)};
    for (const Dimension& d : axes.dimensions)
      axes.found.axes.push_back(trials_.graph().name(d.value) + " axis " + std::to_string(d.axis));
    const int64_t size = axes.found.size = axes.dimensions[0].size;
    axes.found.tried[size] = true;
    axes.asked.insert(size);
    return axes;
  }

  static size_t known(const Axes& axes) { return axes.found.tried.size() + axes.found.not_applied.size(); }

  static bool has_passing(const Axes& axes) {
    return std::any_of(axes.found.tried.begin(), axes.found.tried.end(),
                       [](const auto& tried) { return !tried.second; });
  }

  static bool fails_once(const Axes& axes) {
    return std::count_if(axes.found.tried.begin(), axes.found.tried.end(),
                         [](const auto& tried) { return tried.second; }) == 1;
  }

  Edits resized(const Axes& axes, int64_t size) const {
    Edits edits;
    for (const Dimension& d : axes.dimensions)
      edits.push_back(Resize{trials_.graph().name(d.value), d.axis, size});
    return edits;
  }

  void ask(Axes& axes, int64_t size) {
    if (size < 1 || size > axes.largest || axes.asked.count(size) > 0) return;
    const double begun = trials_.seconds();
    const auto outcome = trials_.outcome_of(resized(axes, size));
    if (size > kSmall && trials_.seconds() - begun > kSlow * trials_.max_seconds()) axes.largest = size;
    if (!trials_.exhausted()) axes.asked.insert(size);
    if (outcome == Outcome::not_applied) axes.found.not_applied.insert(size);
    if (outcome == Outcome::fails || outcome == Outcome::passes)
      axes.found.tried[size] = outcome == Outcome::fails;
  }

  // One size of each dimension in turn.
  void explore() {
    for (const int64_t step : {-1, 1}) {
      for (Axes& axes : all_) ask(axes, axes.found.size + step);
    }
    for (const int64_t size : kFirstSizes) {
      for (Axes& axes : all_) ask(axes, size);
    }
  }

  void finish(Axes& axes) {
    for (const int64_t step : {-2, 2}) ask(axes, axes.found.size + step);
    for (const int64_t size : kSizes) ask(axes, size);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      refine(axes);
      const Reading reading = read(axes);
      axes.found.depends_on_data = reading == Reading::depends_on_data || reading == Reading::refuted;
      if (reading != Reading::holds) axes.found.rule.reset();
      if (reading == Reading::refuted) continue;
      axes.is_done = reading != Reading::no_time && !trials_.exhausted();
      return;
    }
    axes.is_done = true;
  }

  void refine(Axes& axes) {
    SizeNeighbours& found = axes.found;
    for (int round = 0; round < kRounds; ++round) {
      const size_t before = found.tried.size();
      for (const int64_t size : next_sizes(found.tried)) ask(axes, size);
      if (found.tried.size() == before) break;
    }
    if (found.tried.size() > 1) found.rule = infer_rule(found.tried);
    if (found.tried.size() > 1 && !found.rule) retry_odd_size(axes);
  }

  // One size that passes while the others follow a rule by which it fails is tried on more data.
  void retry_odd_size(Axes& axes) {
    for (const auto& [size, fails] : axes.found.tried) {
      if (fails) continue;
      SizeOutcomes others = axes.found.tried;
      others[size] = true;
      const auto rule = infer_rule(others);
      if (!rule) continue;
      for (const DataKind kind : {DataKind::normal, DataKind::small}) {
        const auto draws = trials_.draw(resized(axes, size), kind, {1, kDraws});
        if (!draws) return;
        if (draws->failing == 0) continue;
        axes.found.tried = std::move(others);
        axes.found.rule = rule;
        return;
      }
      return;
    }
  }

  // Whether other data says the same of sizes that pass and of those that fail. A size that fails with other
  // data fails from then on: "refuted".
  Reading read(Axes& axes) {
    if (!has_passing(axes)) return Reading::holds;
    const auto sizes = failing_to_retry(axes);
    for (const DataKind kind : {DataKind::alike, DataKind::normal, DataKind::small, DataKind::near}) {
      bool most = true, all = true;
      for (const int64_t size : sizes) {
        const auto draws = trials_.draw(resized(axes, size), kind, kMostFail);
        if (!draws) return Reading::no_time;
        most = draws->failing > draws->passing;
        all &= draws->passing == 0;
        if (!most) break;
      }
      if (most) return passing_agree(axes, kind, all ? kFewDraws : kDraws);
    }
    return Reading::depends_on_data;
  }

  // Where only data near that of the case fails, a size may pass because it has not all of that data.
  Reading passing_agree(Axes& axes, DataKind kind, int draws) {
    std::map<DataKind, int> tries = {{kind, draws}, {DataKind::resampled, draws}};
    if (kind == DataKind::near)
      tries = {{kind, kDraws}, {DataKind::resampled, kDraws}, {DataKind::alike, kManyDraws}};
    Reading reading = Reading::holds;
    for (const int64_t size : passing_to_retry(axes)) {
      for (const auto& [other, count] : tries) {
        const auto found = trials_.draw(resized(axes, size), other, {1, count});
        if (!found) return Reading::no_time;
        if (found->failing == 0) continue;
        axes.found.tried[size] = true;
        reading = Reading::refuted;
        break;
      }
    }
    return reading;
  }

  // The case's own, the smallest, one in the middle and the largest.
  static std::set<int64_t> failing_to_retry(const Axes& axes) {
    std::vector<int64_t> failing;
    for (const auto& [size, fails] : axes.found.tried) {
      if (fails) failing.push_back(size);
    }
    return {axes.found.size, failing.front(), failing[failing.size() / 2], failing.back()};
  }

  // Those next to the limits, and some of those between them.
  static std::vector<int64_t> passing_to_retry(const Axes& axes) {
    std::vector<int64_t> below, inside, above;
    const auto& tried = axes.found.tried;
    const auto fails = [](const auto& one) { return one.second; };
    const int64_t first = std::find_if(tried.begin(), tried.end(), fails)->first,
                  last = std::find_if(tried.rbegin(), tried.rend(), fails)->first;
    for (const auto& [size, size_fails] : tried) {
      if (!size_fails) (size < first ? below : size > last ? above : inside).push_back(size);
    }
    if (inside.size() > kMostInside)
      inside.erase(inside.begin() + kMostInside / 2, inside.end() - kMostInside / 2);
    constexpr size_t kAtALimit = 2;
    inside.insert(inside.end(), below.end() - std::min(below.size(), kAtALimit), below.end());
    inside.insert(inside.end(), above.begin(), above.begin() + std::min(above.size(), kAtALimit));
    return inside;
  }

  // Where axes that fail at one size alone fail at other sizes together, that says more than each alone.
  void bind_together() {
    std::map<int64_t, std::vector<Dimension>> bound;
    for (const Axes& axes : all_) {
      if (known(axes) >= kFewestKnown && fails_once(axes))
        bound[axes.found.size].push_back(axes.dimensions[0]);
    }
    for (const auto& [size, dimensions] : bound) {
      if (dimensions.size() < 2) continue;
      Axes together = axes_of(dimensions);
      finish(together);
      if (fails_once(together)) continue;
      const auto& names = together.found.axes;
      std::erase_if(all_, [&](const Axes& axes) {
        return std::find(names.begin(), names.end(), axes.found.axes[0]) != names.end();
      });
      all_.push_back(std::move(together));
    }
  }

  NeighbourTrials& trials_;
  std::vector<Axes> all_;
};

}  // namespace

std::vector<SizeNeighbours> find_sizes(NeighbourTrials& trials, std::vector<std::string>& untried) {
  return SizeSearch(trials).run(untried);
}

}  // namespace fusesmith::minimizer
