#include "fuzz/generate/focus.h"

#include <algorithm>

#include "fuzz/generate/focus_gaps.h"
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

constexpr double kFocused = 0.8;  // share of the cases; the others are those of the random engine
constexpr Habits kHabits{.fresh = 0.4, .unit_axis = 0.9, .sizes = {55, 13, 14, 18}, .layouts = 0.7};
constexpr int kLeastWeight = 20;                   // what random cases meet often still fails most often
constexpr int kStyleWeights[] = {60, 20, 10, 10};  // of DataStyle

// What the table does not have is new: nothing is known to meet it.
int gap_of(std::string_view subject) {
  const auto found = std::find_if(kFocusGaps.begin(), kFocusGaps.end(),
                                  [&](const FocusGap& gap) { return gap.subject == subject; });
  return found == kFocusGaps.end() ? 100 : found->percent;
}

}  // namespace

const std::vector<FocusSubject>& focus_subjects() {
  static const std::vector<FocusSubject> subjects = [] {
    std::vector<FocusSubject> all;
    const auto add = [&](std::string name, Focus piece) {
      const int weight = kLeastWeight + gap_of(name);
      all.push_back({std::move(name), weight, std::move(piece)});
    };
    const std::vector<std::string> ops = op_names();
    const auto add_op = [&](const std::string& op) {
      const std::vector<std::string> only = {op};
      add("op " + op, [only](Scene& s) { return add_op_of(s, only); });
    };
    std::for_each(ops.begin(), ops.begin() + kFirstOps, add_op);
    for (const Pattern& pattern : all_patterns()) {
      const std::string name(pattern.name);
      add("example " + name, [&pattern](Scene& s) { return add_example_of(s, pattern); });
      add("near_miss " + name, [&pattern](Scene& s) { return add_near_miss_of(s, pattern); });
    }
    for (const Piece& piece : all_pieces()) {
      if (piece.needs == Piece::Needs::nothing) add("piece " + std::string(piece.name), piece.add);
    }
    std::for_each(ops.begin() + kFirstOps, ops.end(), add_op);  // last, as weighted_of_grown wants them
    return all;
  }();
  return subjects;
}

Focus draw_focus(Scene& s, const GeneratorOptions& options) {
  if (s.exact || !s.flip(kFocused)) return {};
  static const std::vector<int> weights = [] {
    std::vector<int> of;
    for (const FocusSubject& subject : focus_subjects()) of.push_back(subject.weight);
    return of;
  }();
  const size_t old = weights.size() - (std::variant_size_v<OpVariant> - kFirstOps);
  const FocusSubject& subject = focus_subjects()[s.choices.weighted_of_grown(weights, old)];
  s.habits = kHabits;
  s.dtype = s.choices.pick(std::span<const Dtype>(kFloatDtypes));
  if (options.data == DataMix::mixed) s.style = static_cast<DataStyle>(s.choices.weighted(kStyleWeights));
  return subject.add;
}

}  // namespace fusesmith::fuzz
