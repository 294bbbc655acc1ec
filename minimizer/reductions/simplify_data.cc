// Simplify the data: literals become recipes, recipes become simpler ones (of all inputs at once, then of
// each), and in the remaining literals more elements become zero.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "minimizer/measure.h"
#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

constexpr int64_t kMaxZeroed = 4096;  // elements of a literal in which some are set to zero
constexpr int64_t kMaxSingles = 64;   // elements up to which each is tried alone

double one_digit(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0e", x);
  return std::strtod(text, nullptr);
}

// Normal data of about the mean and spread that given elements have.
Fill like(const Tensor& tensor) {
  const std::vector<double> values = to_f64(tensor);
  double sum = 0, squares = 0, count = 0;
  for (double x : values) {
    if (!std::isfinite(x)) continue;
    sum += x;
    squares += x * x;
    ++count;
  }
  const double mean = count > 0 ? sum / count : 0;
  const double variance = count > 0 ? std::max(0.0, squares / count - mean * mean) : 0;
  const double stddev = one_digit(std::sqrt(variance));
  return Normal{std::fabs(mean) < stddev / 4 ? 0 : one_digit(mean), stddev};
}

// Recipes that may replace this one, the simplest first.
std::vector<Fill> simpler(const Fill& fill, const TensorType& type) {
  std::vector<Fill> fills;
  fills.emplace_back(Constant{0});
  fills.emplace_back(Constant{1});
  fills.emplace_back(OneHot{});
  if (is_rounded(type.dtype)) {
    fills.emplace_back(Lattice{});
    fills.emplace_back(Hadamard{});
    fills.emplace_back(Normal{});
    fills.emplace_back(Uniform{});
    fills.emplace_back(Uniform{-1, 1});
    if (has_elements(fill)) fills.push_back(like(materialize(fill, type, 0, "", 0)));
  } else if (type.dtype == Dtype::boolean) {
    fills.emplace_back(Bernoulli{});
  } else {
    fills.emplace_back(Tokens{std::max<int64_t>(1, integer_range(fill, type).hi + 1)});
  }
  if (std::holds_alternative<FileData>(fill) && element_count(type) <= kMaxZeroed)
    fills.emplace_back(literal_of(materialize(fill, type, 0, "", 0)));
  const int64_t complexity = data_complexity(fill);
  const auto no_simpler = [&](const Fill& other) {
    return data_complexity(other) >= complexity || check_fill(other, type);
  };
  fills.erase(std::remove_if(fills.begin(), fills.end(), no_simpler), fills.end());
  std::stable_sort(fills.begin(), fills.end(),
                   [](const Fill& a, const Fill& b) { return data_complexity(a) < data_complexity(b); });
  return fills;
}

struct Source {
  std::string name;
  TensorType type;
  Fill fill;
};

std::vector<Source> sources_of(const Graph& graph) {
  std::vector<Source> sources;
  for (const Input& input : graph.inputs()) sources.push_back({input.name, input.type, input.fill});
  for (const State& state : graph.states()) sources.push_back({state.name, state.type, state.fill});
  return sources;
}

// Halves, quarters, ... of a literal's elements; each alone only where they are few.
void thin_out(const Source& source, std::vector<Edits>& proposals) {
  const int64_t count = element_count(source.type);
  if (!std::holds_alternative<Literal>(source.fill) || count > kMaxZeroed) return;
  for (int64_t pieces = 2; pieces < 2 * count && pieces <= 2 * kMaxSingles; pieces *= 2) {
    const int64_t length = (count + pieces - 1) / pieces;
    for (int64_t begin = 0; begin < count; begin += length) {
      proposals.push_back({ZeroElements{source.name, begin, std::min(begin + length, count)}});
    }
  }
}

std::vector<Edits> propose_simplify_data(const Situation& now) {
  const std::vector<Source> sources = sources_of(now.test_case.graph);
  std::vector<std::vector<Fill>> fills;
  size_t most = 0;
  for (const Source& source : sources) {
    fills.push_back(simpler(source.fill, source.type));
    most = std::max(most, fills.back().size());
  }
  std::vector<Edits> proposals;
  for (size_t level = 0; level < most && sources.size() > 1; ++level) {  // all at once
    Edits edits;
    for (size_t i = 0; i < sources.size(); ++i) {
      if (!fills[i].empty())
        edits.push_back(SetFill{sources[i].name, fills[i][std::min(level, fills[i].size() - 1)]});
    }
    proposals.push_back(std::move(edits));
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    for (const Fill& fill : fills[i]) proposals.push_back({SetFill{sources[i].name, fill}});
  }
  for (const Source& source : sources) thin_out(source, proposals);
  return proposals;
}

}  // namespace

const Reduction kSimplifyData{
    "simplify_data", "Replace literals by recipes, recipes by simpler ones, elements of literals by zero.",
    propose_simplify_data, true};

}  // namespace fusesmith::minimizer
