#include "minimizer/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "minimizer/edit.h"

namespace fusesmith::minimizer {
namespace {

constexpr int kExponents[] = {-24, -16, -12, -8, -6, -4, -3, -2, -1, 1, 2, 3, 4, 6, 8, 12, 16, 24};
constexpr int kBisections = 24;
constexpr double kCloseEnough = 1 + 1.0 / 8192;  // ratio of the two magnitudes at which a bisection ends
constexpr int kFewestOnASide = 3;  // magnitudes on each side, or the data may decide and not its size

class MagnitudeSearch {
 public:
  MagnitudeSearch(const Case& test_case, const Input& input, const Fails& fails)
      : case_(test_case), input_(input), fails_(fails), values_(to_f64(drawn())) {
    for (const double value : values_) rule_.here = std::max(rule_.here, std::fabs(value));
    rule_.input = input.name;
  }

  std::optional<MagnitudeRule> run() {
    const auto is_finite = [](double value) { return std::isfinite(value); };
    if (rule_.here == 0 || !std::all_of(values_.begin(), values_.end(), is_finite)) return {};
    rule_.tried[rule_.here] = true;
    for (const int exponent : kExponents) ask(std::ldexp(rule_.here, exponent));
    if (count(true) < kFewestOnASide || count(false) < kFewestOnASide || !is_one_interval()) return {};
    narrow();
    if (!is_one_interval()) return {};
    const auto failing = [](const auto& tried) { return tried.second; };
    const auto first = std::find_if(rule_.tried.begin(), rule_.tried.end(), failing);
    const auto last = std::find_if(rule_.tried.rbegin(), rule_.tried.rend(), failing);
    if (first != rule_.tried.begin()) rule_.lo = first->first;
    if (last != rule_.tried.rbegin()) rule_.hi = last->first;
    return std::move(rule_);
  }

 private:
  Tensor drawn() const {
    for (size_t i = 0; i < case_.graph.inputs().size(); ++i) {
      if (case_.graph.inputs()[i].name == input_.name) return std::move(make_inputs(case_)[i]);
    }
    return Tensor(input_.type);
  }

  // Tries data with about this magnitude: rounding changes it. False if nothing new was learnt.
  bool ask(double magnitude) {
    const Dtype dtype = input_.type.dtype;
    if (magnitude > max_finite(dtype) || magnitude < std::ldexp(1, min_exponent(dtype))) return false;
    Tensor scaled(input_.type);
    double largest = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      scaled.set(static_cast<int64_t>(i), values_[i] / rule_.here * magnitude);
      largest = std::max(largest, std::fabs(scaled.value(static_cast<int64_t>(i))));
    }
    if (rule_.tried.count(largest) > 0 || !std::isfinite(largest)) return false;
    const auto candidate = apply_edit(case_, SetFill{input_.name, literal_of(scaled)});
    const auto fails = candidate ? fails_(*candidate) : std::nullopt;
    if (fails) rule_.tried[largest] = *fails;
    return fails.has_value();
  }

  int64_t count(bool failing) const {
    return std::count_if(rule_.tried.begin(), rule_.tried.end(),
                         [&](const auto& tried) { return tried.second == failing; });
  }

  // Neighbours of which one fails and the other passes, the smaller first.
  std::map<double, double> edges() const {
    std::map<double, double> edges;
    for (auto below = rule_.tried.begin(); below != rule_.tried.end(); ++below) {
      const auto above = std::next(below);
      if (above != rule_.tried.end() && above->second != below->second) edges[below->first] = above->first;
    }
    return edges;
  }

  bool is_one_interval() const {
    const size_t changes = edges().size();
    return changes == 1 || (changes == 2 && !rule_.tried.begin()->second);
  }

  void narrow() {
    for (int round = 0; round < kBisections; ++round) {
      bool asked = false;
      for (const auto& [below, above] : edges())
        if (above / below > kCloseEnough) asked |= ask(std::sqrt(below) * std::sqrt(above));
      if (!asked) return;
    }
  }

  const Case& case_;
  const Input& input_;
  const Fails& fails_;
  const std::vector<double> values_;
  MagnitudeRule rule_;
};

std::string digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

}  // namespace

std::string MagnitudeRule::text() const {
  const std::string what = "max |" + input + "|";
  if (lo && hi) return digits(*lo) + " <= " + what + " <= " + digits(*hi);
  return what + (lo ? " >= " + digits(*lo) : " <= " + digits(*hi));
}

std::optional<MagnitudeRule> find_magnitude(const Case& test_case, const std::string& input,
                                            const Fails& fails) {
  for (const Input& given : test_case.graph.inputs()) {
    if (given.name == input && is_float(given.type.dtype))
      return MagnitudeSearch(test_case, given, fails).run();
  }
  return {};
}

}  // namespace fusesmith::minimizer
