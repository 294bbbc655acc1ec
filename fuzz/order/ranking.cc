#include "fuzz/order/ranking.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace fusesmith::fuzz {
namespace {

bool has(const std::vector<int64_t>& sorted, int64_t term) {
  return std::binary_search(sorted.begin(), sorted.end(), term);
}

}  // namespace

Ranking::Ranking(std::vector<int64_t> members, int64_t pivot, int64_t outer, int64_t most_units)
    : pivot_(pivot), outer_(outer), most_units_(most_units) {
  std::erase(members, pivot);
  std::sort(members.begin(), members.end());
  parts_.push_back({std::move(members), true});
}

std::vector<Ranking::Class> Ranking::classes() const {
  std::vector<Class> classes;
  for (const Part& part : parts_) classes.push_back({part.members, part.is_beside});
  return classes;
}

// Some members, and `outer`.
Ranking::Terms Ranking::units_of(const Part& part, size_t first, size_t count, size_t step) const {
  std::vector<int64_t> units;
  for (size_t i = first; i < part.members.size() && units.size() < count; i += step)
    units.push_back(part.members[i]);
  if (outer_ >= 0) units.insert(std::upper_bound(units.begin(), units.end(), outer_), outer_);
  return std::make_shared<const std::vector<int64_t>>(std::move(units));
}

void Ranking::ask(std::vector<Probe>& probes) {
  const auto most = static_cast<size_t>(most_units_) - 1;  // beside `outer`
  for (Part& part : parts_) {
    if (part.state == State::known) continue;
    const size_t size = part.members.size();
    part.units.clear();
    if (size <= most) {
      part.units.push_back(units_of(part, 0, size, 1));
      part.state = State::asked;
    } else if (part.state == State::asked_in_parts) {
      for (size_t first = 0; first < size; first += most)
        part.units.push_back(units_of(part, first, most, 1));
    } else {
      part.units.push_back(units_of(part, 0, most, (size + most - 1) / most));
      part.state = State::sampled;
    }
    for (const Terms& units : part.units) {
      for (const int64_t member : part.members) probes.push_back({pivot_, member, units});
    }
  }
}

std::optional<Problem> Ranking::answer(std::span<const double>& results, double unit) {
  std::vector<Part> parts;
  for (const Part& part : parts_) {
    if (part.state == State::known) {
      parts.push_back(part);
      continue;
    }
    std::vector<int64_t> inside(part.members.size(), 0);  // how many units each subtree has
    for (const Terms& units : part.units) {
      for (size_t i = 0; i < part.members.size(); ++i) {
        const int64_t member = part.members[i];
        const int64_t plain = static_cast<int64_t>(units->size()) - has(*units, member);
        const double left = results[i] / unit;
        if (!(left >= 0 && left <= static_cast<double>(plain) && left == std::floor(left)))
          return Problem{"a probe for terms " + std::to_string(pivot_) + " and " + std::to_string(member) +
                         " gave no whole number of units from 0 to " + std::to_string(plain)};
        inside[i] += static_cast<int64_t>(units->size()) - static_cast<int64_t>(left);
      }
      results = results.subspan(part.members.size());
    }
    if (auto problem = split(part, inside, parts)) return problem;
  }
  parts_ = std::move(parts);
  return {};
}

std::optional<Problem> Ranking::split(const Part& part, const std::vector<int64_t>& inside,
                                      std::vector<Part>& parts) const {
  std::map<int64_t, std::vector<int64_t>> by_size;
  for (size_t i = 0; i < inside.size(); ++i) by_size[inside[i]].push_back(part.members[i]);
  int64_t all = 0;
  for (const Terms& units : part.units) all += static_cast<int64_t>(units->size());
  if (part.is_last && outer_ < 0 && by_size.rbegin()->first != all)
    return Problem{
        "units are not lost beside a large number: the sum is exact, or of more than f64's precision"};
  const bool final = part.state != State::sampled;
  for (auto& [size, members] : by_size) {
    Part next{std::move(members), part.is_last && size == by_size.rbegin()->first};
    if (final || (next.members.size() == 1 && !next.is_last)) {
      next.state = State::known;
      next.is_beside = final && next.is_last && outer_ >= 0 && size == all;
    } else if (by_size.size() == 1) {
      next.state = State::asked_in_parts;
    }
    parts.push_back(std::move(next));
  }
  return {};
}

}  // namespace fusesmith::fuzz
