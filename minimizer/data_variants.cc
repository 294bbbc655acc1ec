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

// Any of the values; or half of the elements are special ones.
Fill drawn_from(const std::vector<double>& values, const TensorType& type, bool more_special, uint64_t key) {
  const std::vector<double> special = more_special ? special_values(values) : values;
  Tensor drawn(type);
  for (int64_t i = 0; i < drawn.size(); ++i) {
    const auto words = philox(key, 0, static_cast<uint64_t>(i));
    const std::vector<double>& from = words[0] % 2 == 0 && !special.empty() ? special : values;
    drawn.set(i, from[words[1] % from.size()]);
  }
  return literal_of(drawn);
}

Fill near(const Tensor& tensor, uint64_t key) {
  Tensor other(tensor.type);
  for (int64_t i = 0; i < other.size(); ++i) {
    const double unit = philox(key, 0, static_cast<uint64_t>(i))[0] * 0x1p-31 - 1;
    other.set(i, tensor.value(i) * (1 + unit / 16));
  }
  return literal_of(other);
}

// Drawn from the values that the origin has in its input of this name.
Fill resampled(const Input& input, const Case& origin, bool more_special, uint64_t seed) {
  for (const Input& original : origin.graph.inputs()) {
    if (original.name != input.name || element_count(original.type) == 0) continue;
    return drawn_from(to_f64(data_of(origin, original)), input.type, more_special,
                      hash_name(input.name) + seed);
  }
  return input.fill;
}

Fill alike(const Input& input, const Case& origin, uint64_t seed) {
  if (const auto* constant = std::get_if<Constant>(&input.fill)) {
    const double size = std::fabs(constant->value);
    if (!is_float(input.type.dtype) || !(size <= kLargestMean)) return input.fill;
    return Normal{constant->value, size == 0 ? 1 : size / 8};
  }
  return is_fixed(input.fill) ? resampled(input, origin, seed % 2 == 1, seed) : input.fill;
}

Fill fill_of(const Case& test_case, const Input& input, const Case& origin, DataKind kind, uint64_t seed) {
  if (input.type.dtype == Dtype::i32) return input.fill;
  if (kind == DataKind::alike) return alike(input, origin, seed);
  if (kind == DataKind::resampled) return resampled(input, origin, true, seed);
  if (!is_float(input.type.dtype)) return input.fill;
  if (kind == DataKind::near) return near(data_of(test_case, input), hash_name(input.name) + seed);
  return Normal{0, kind == DataKind::normal ? 1 : 0.125};
}

}  // namespace

Case with_data(const Case& test_case, const Case& origin, DataKind kind, uint64_t draw) {
  Edits edits;
  for (const Input& input : test_case.graph.inputs()) {
    Fill fill = fill_of(test_case, input, origin, kind, test_case.seed + draw);
    if (!(fill == input.fill)) edits.push_back(SetFill{input.name, std::move(fill)});
  }
  Case other = apply_edits(test_case, edits).value_or(test_case);
  if (kind != DataKind::near) other.seed += draw;
  return other;
}

}  // namespace fusesmith::minimizer
