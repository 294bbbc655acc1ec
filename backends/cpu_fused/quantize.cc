// Quantize: the largest magnitude of each group, its scale, and the codes, all in f32.
#include <algorithm>
#include <cmath>

#include "backends/common/float_functions.h"
#include "backends/common/floats.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

class Quantizer {
 public:
  Quantizer(const Quantize& op, const RegionScope& scope)
      : op_(op),
        least_(Floats(scope.at(op.least))[0]),
        signed_(scope.planted("largest_number_for_magnitude")),
        no_least_(scope.planted("zero_block_divided_by_zero")),
        sees_padding_(scope.planted("scale_sees_padding")),
        scale_in_bf16_(scope.planted("scale_rounded_to_bf16")),
        power_down_(scope.planted("scale_exponent_truncated")),
        power_of_bf16_(scope.planted("scale_rounded_twice")),
        top_saturates_(scope.planted("cast_saturates_top_binade")),
        half_up_(scope.planted("cast_rounds_half_up")),
        rounded_twice_(scope.planted("codes_rounded_twice")),
        flushed_(scope.planted("subnormal_codes_flushed")),
        unsaturated_(scope.planted("saturation_left_out")) {}

  float scale_of(std::span<const float> group) const {
    float largest = -std::numeric_limits<float>::infinity();
    for (const float x : group) largest = maximum(largest, signed_ ? x : maximum(x, -x));
    // What a padded row of 16 elements holds behind the last one.
    if (sees_padding_ && group.size() % 16 != 0) largest = maximum(largest, 4.0f);
    if (!no_least_) largest = maximum(largest, least_);
    float scale = largest / static_cast<float>(op_.largest);
    if (!op_.power) return scale_in_bf16_ ? in_bf16(scale) : scale;
    RoundTo to = *op_.power;
    if (power_down_) to.rounding = Rounding::down;
    if (power_of_bf16_) scale = in_bf16(scale);
    return static_cast<float>(to(static_cast<double>(scale)));
  }

  float code_of(float x, float scale) const {
    float quotient = x / scale;
    if (rounded_twice_) quotient = in_bf16(quotient);
    RoundTo to = op_.to;
    if (unsaturated_) to.overflow = Overflow::special;
    const auto largest = static_cast<float>(max_finite(to.dtype));
    const float binade = std::exp2(std::floor(std::log2(largest)));
    if (top_saturates_ && std::fabs(quotient) >= binade) return std::copysign(largest, quotient);
    const auto smallest = std::ldexp(1.0f, min_exponent(to.dtype));
    if (flushed_ && !is_quantized_integer(to.dtype) && std::fabs(quotient) < smallest) return 0;
    if (half_up_) return rounded_half_up(to, quotient);
    return static_cast<float>(to(static_cast<double>(quotient)));
  }

 private:
  // Ties are rounded away from zero, as by adding half a step and cutting off.
  static float rounded_half_up(const RoundTo& to, float x) {
    const int exponent = x == 0 ? -200 : std::ilogb(x);
    const float step = std::ldexp(1.0f, std::max(exponent, min_exponent(to.dtype)) - precision(to.dtype) + 1);
    const float half_up = std::copysign(std::floor(std::fabs(x) / step + 0.5f) * step, x);
    return static_cast<float>(to(static_cast<double>(half_up)));
  }

  const Quantize& op_;
  float least_;
  bool signed_, no_least_, sees_padding_, scale_in_bf16_, power_down_, power_of_bf16_, top_saturates_,
      half_up_, rounded_twice_, flushed_, unsaturated_;
};

}  // namespace

void run_fused(const Quantize& op, const RegionScope& scope, Outputs outs) {
  check(!outs.empty() && outs.size() <= 2, "quantize: expected the codes, and the scales before them");
  const Floats x(scope.at(op.x));
  const Quantizer quantizer(op, scope);
  const auto size = static_cast<size_t>(op.size);
  std::vector<float> scales(static_cast<size_t>(op.groups));
  for (size_t group = 0; group < scales.size(); ++group) {
    const size_t read = scope.planted("scale_of_first_row") ? 0 : group;
    scales[group] = quantizer.scale_of(x.span().subspan(read * size, size));
  }
  if (outs.size() == 2)
    write_floats(*outs[0], [&](std::span<float> y) { std::copy(scales.begin(), scales.end(), y.begin()); });
  write_floats(*outs.back(), [&](std::span<float> y) {
    for (size_t i = 0; i < y.size(); ++i) y[i] = quantizer.code_of(x[i], scales[i / size]);
  });
}

}  // namespace fusesmith::backends
