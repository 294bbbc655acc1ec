#include "fuzz/run/version_range.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <tuple>

#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

struct Comparison {
  std::string_view word;
  bool less, equal, greater;
};

// Longer words first: "<=" also begins with "<".
constexpr Comparison kComparisons[] = {{">=", false, true, true},  {"<=", true, true, false},
                                       {"==", false, true, false}, {"!=", true, false, true},
                                       {">", false, false, true},  {"<", true, false, false}};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

auto order(const ReleaseVersion& a, const ReleaseVersion& b) {
  return std::tuple(a.numbers, !a.before_release) <=> std::tuple(b.numbers, !b.before_release);
}

}  // namespace

std::optional<ReleaseVersion> parse_version(std::string_view text) {
  ReleaseVersion version;
  const char *at = text.data(), *end = text.data() + text.size();
  for (bool more = true; more;) {
    uint32_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return {};
    version.numbers.push_back(number);
    at = rest;
    more = end - at >= 2 && *at == '.' && at[1] >= '0' && at[1] <= '9';
    at += more;
  }
  const std::string_view rest(at, static_cast<size_t>(end - at));
  version.before_release = !rest.empty() && !rest.starts_with('+') && !rest.starts_with(".post");
  while (!version.numbers.empty() && version.numbers.back() == 0) version.numbers.pop_back();
  return version;
}

Result<VersionRange> VersionRange::parse(const std::string& text) {
  VersionRange range;
  range.text_ = text;
  for (std::string_view rest = text; !rest.empty() || range.conditions_.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = trimmed(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto* comparison = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                                          [&](const Comparison& one) { return part.starts_with(one.word); });
    const bool found = comparison != std::end(kComparisons);
    const std::string_view number = found ? trimmed(part.substr(comparison->word.size())) : "";
    const auto version = parse_version(number);
    // A forgotten comma would be read as a suffix of the version.
    const bool is_one = number.find_first_of(" <>=!") == std::string_view::npos && !text.ends_with(',');
    if (!version || !is_one)
      return Problem{"expected a range of versions like \">=1.20,<2\", got \"" + shortened(text) + "\""};
    range.conditions_.push_back({comparison->less, comparison->equal, comparison->greater, *version});
  }
  return range;
}

bool VersionRange::contains(std::string_view version) const {
  const auto parsed = parse_version(version);
  return parsed && std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
           const auto result = order(*parsed, condition.version);
           return result < 0 ? condition.less : result > 0 ? condition.greater : condition.equal;
         });
}

}  // namespace fusesmith::fuzz
