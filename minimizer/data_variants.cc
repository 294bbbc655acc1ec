#include "minimizer/data_variants.h"

#include <algorithm>
#include <cmath>

#include "graph/philox.h"
#include "minimizer/edit.h"

namespace fusesmith::minimizer {
namespace {

using graph::hash_name;
using graph::philox;

constexpr double kLargestMean = 1e6;  // that Normal takes

// NaN, infinities, zeros of both signs and the largest magnitude, each once if it is there.
std::vector<double> special_values(const std::vector<double>& values) {
  std::vector<double> found;
  const auto add_first = [&](const auto& is_wanted) {
    const auto value = std::find_if(values.begin(), values.end(), is_wanted);
    if (value != values.end()) found.push_back(*value);
  };
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  add_first([](double value) { return std::isnan(value); });
  for (const bool negative : {false, true}) {
    add_first([&](double value) { return std::isinf(value) && std::signbit(value) == negative; });
    add_first([&](double value) { return value == 0 && std::signbit(value) == negative; });
    add_first([&](double value) { return largest > 0 && value == (negative ? -largest : largest); });
  }
  return found;
}

// Half of the elements are special values, the others any.
Fill drawn_from(const std::vector<double>& values, const TensorType& type, uint64_t key) {
  const std::vector<double> special = special_values(values);
  Tensor drawn(type);
  for (int64_t i = 0; i < drawn.size(); ++i) {
    const auto words = philox(key, 0, static_cast<uint64_t>(i));
    const std::vector<double>& from = words[0] % 2 == 0 && !special.empty() ? special : values;
    drawn.set(i, from[words[1] % from.size()]);
  }
  return literal_of(drawn);
}

bool is_fixed(const Fill& fill) {
  return std::holds_alternative<Literal>(fill) || std::holds_alternative<OneHot>(fill);
}

// The fill that gives other data like that of the origin's input, with another seed.
Fill fill_alike(const Input& input, const Case& origin, uint64_t seed) {
  if (input.type.dtype == Dtype::i32) return input.fill;
  if (const auto* constant = std::get_if<Constant>(&input.fill)) {
    const double size = std::fabs(constant->value);
    if (!is_float(input.type.dtype) || !(size <= kLargestMean)) return input.fill;
    return Normal{constant->value, size == 0 ? 1 : size / 8};
  }
  for (const Input& original : origin.graph.inputs()) {
    if (original.name != input.name || !is_fixed(original.fill) || element_count(original.type) == 0)
      continue;
    return drawn_from(to_f64(data_of(origin, original)), input.type, hash_name(input.name) + seed);
  }
  return input.fill;
}

}  // namespace

Case with_data(const Case& test_case, const Case& origin, DataKind kind, uint64_t draw) {
  Edits edits;
  for (const Input& input : test_case.graph.inputs()) {
    Fill fill = input.fill;
    if (kind == DataKind::alike)
      fill = fill_alike(input, origin, test_case.seed + draw);
    else if (is_float(input.type.dtype))
      fill = Normal{0, kind == DataKind::normal ? 1 : 0.125};
    if (!(fill == input.fill)) edits.push_back(SetFill{input.name, std::move(fill)});
  }
  Case other = apply_edits(test_case, edits).value_or(test_case);
  other.seed += draw;
  return other;
}

}  // namespace fusesmith::minimizer
