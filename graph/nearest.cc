#include "graph/nearest.h"

#include <algorithm>
#include <vector>

namespace fusesmith::graph {
namespace {

constexpr size_t kLongest = 64;  // longer words are not names

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view text, std::span<const std::string_view> choices) {
  if (text.size() > kLongest) return {};
  size_t best = std::min(text.size(), text.size() / 3 + 2);  // more distant names do not help
  std::string_view nearest;
  for (std::string_view choice : choices) {
    const size_t distance = edit_distance(text, choice.substr(0, kLongest));
    if (distance >= best) continue;
    best = distance;
    nearest = choice;
  }
  return nearest;
}

}  // namespace fusesmith::graph
