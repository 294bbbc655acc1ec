// DequantizedProduct: each row of codes, two of 4 bits in a byte as such weights are stored, becomes a row of
// numbers in f32, which is multiplied with all rows of x.
#include <algorithm>

#include "backends/common/floats.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

bool is_packed(Dtype dtype) { return dtype == Dtype::s4 || dtype == Dtype::f4e2m1; }

// Two codes of 4 bits in a byte, the first one in the lower half.
std::vector<uint8_t> packed(std::span<const uint8_t> codes) {
  std::vector<uint8_t> bytes((codes.size() + 1) / 2);
  for (size_t i = 0; i < codes.size(); ++i) bytes[i / 2] |= static_cast<uint8_t>(codes[i] << (i % 2 * 4));
  return bytes;
}

class Weight {
 public:
  Weight(const DequantizedProduct& op, const RegionScope& scope)
      : op_(op),
        dtype_(scope.at(op.codes).type.dtype),
        codes_(scope.at(op.codes).as<uint8_t>()),
        scale_(scope.at(op.scale)),
        exchanged_(scope.planted("nibbles_exchanged")),
        unsigned_(scope.planted("codes_read_as_unsigned")),
        first_group_(scope.planted("scale_group_truncates_to_zero")),
        next_group_(scope.planted("scale_of_next_group")),
        clamps_negative_(scope.planted("dequantize_clamps_negative")),
        last_unscaled_(scope.planted("last_group_unscaled")) {}

  // The numbers of one column of the result.
  void read(int64_t column, std::span<float> numbers) const {
    std::span<const uint8_t> codes =
        codes_.subspan(static_cast<size_t>(column * op_.depth), static_cast<size_t>(op_.depth));
    std::vector<uint8_t> bytes;
    if (is_packed(dtype_)) bytes = packed(codes);
    for (size_t k = 0; k < numbers.size(); ++k) {
      const size_t half = exchanged_ ? 1 - k % 2 : k % 2;
      const int code = bytes.empty() ? codes[k] : bytes[k / 2] >> (half * 4) & 15;
      numbers[k] = number(code) * scale(column, static_cast<int64_t>(k));
    }
  }

 private:
  float number(int code) const {
    const float x = unsigned_ && is_quantized_integer(dtype_)
                        ? static_cast<float>(code)
                        : decode_quantized(dtype_, static_cast<uint8_t>(code));
    return clamps_negative_ ? std::max(x, 0.0f) : x;
  }

  float scale(int64_t column, int64_t k) const {
    int64_t group = k / (op_.depth / op_.groups);
    if (last_unscaled_ && op_.groups > 1 && group == op_.groups - 1) return 1;
    // The number of a group is computed from a quotient that is 0 for groups larger than 32.
    if (first_group_ && op_.depth / op_.groups > 32) group = 0;
    if (next_group_) group = std::min(group + 1, op_.groups - 1);
    return scale_[static_cast<size_t>(column * op_.groups + group)];
  }

  const DequantizedProduct& op_;
  Dtype dtype_;
  std::span<const uint8_t> codes_;
  Floats scale_;
  bool exchanged_, unsigned_, first_group_, next_group_, clamps_negative_, last_unscaled_;
};

}  // namespace

void run_fused(const DequantizedProduct& op, const RegionScope& scope, Tensor& out) {
  const Floats x(scope.at(op.x));
  const Weight weight(op, scope);
  const auto depth = static_cast<size_t>(op.depth), columns = static_cast<size_t>(op.columns);
  std::vector<float> row(depth);
  const InnerValue shown(scope.probe, "product", static_cast<size_t>(out.size()), true);
  write_floats(out, [&](std::span<float> y) {
    for (size_t column = 0; column < columns; ++column) {
      weight.read(static_cast<int64_t>(column), row);
      for (size_t r = 0; r < static_cast<size_t>(op.rows); ++r) {
        float sum = 0;
        for (size_t k = 0; k < depth; ++k) sum += x[r * depth + k] * row[k];
        y[r * columns + column] = sum;
      }
    }
    shown(0, y);
  });
}

}  // namespace fusesmith::backends
