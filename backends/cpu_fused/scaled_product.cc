// ScaledProduct: the products of all blocks in f32, each scaled as it is added to the sum.
#include <algorithm>

#include "backends/common/floats.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

// [blocks, rows, columns] as [blocks, columns, rows].
std::vector<float> transposed(const std::vector<float>& x, int64_t blocks, int64_t rows, int64_t columns) {
  std::vector<float> y(x.size());
  size_t from = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column)
        y[static_cast<size_t>((block * columns + column) * rows + row)] = x[from++];
    }
  }
  return y;
}

// The numbers of codes, as the kernel reads them.
std::vector<float> decoded(const RegionScope& scope, ValueId value, Dtype format) {
  const Tensor& codes = scope.at(value);
  std::vector<float> numbers(static_cast<size_t>(codes.size()));
  load_floats(scope.planted("right_codes_in_left_format") ? format : codes.type.dtype, codes.bytes.data(),
              numbers);
  if (scope.planted("subnormal_codes_read_as_zero")) {
    const float smallest = std::ldexp(1.0f, min_exponent(codes.type.dtype));
    for (float& x : numbers) x = std::fabs(x) < smallest ? 0 : x;
  }
  return numbers;
}

// [blocks, rows, columns].
std::vector<float> products(const ScaledProduct& op, const RegionScope& scope) {
  const Dtype left = scope.at(op.a).type.dtype;
  std::vector<float> a = decoded(scope, op.a, left), b = decoded(scope, op.b, left);
  if (Probe* const probe = detailed(scope.probe)) {  // the right operand as [depth, columns]
    InnerValue(probe, "left of product", a.size())(0, a);
    b = transposed(b, op.blocks, op.columns, op.depth);
    InnerValue(probe, "right of product", b.size())(0, b);
    b = transposed(b, op.blocks, op.depth, op.columns);
  }
  const auto depth = static_cast<size_t>(op.depth);
  const size_t read = scope.planted("code_tail_not_read") && depth > 16 ? depth / 16 * 16 : depth;
  std::vector<float> product(static_cast<size_t>(op.blocks * op.rows * op.columns));
  size_t at = 0;
  for (int64_t row = 0; row < op.blocks * op.rows; ++row) {
    for (int64_t column = 0; column < op.columns; ++column) {
      const float* x = a.data() + row * op.depth;
      const float* y = b.data() + (row / op.rows * op.columns + column) * op.depth;
      float sum = 0;
      for (size_t k = 0; k < read; ++k) sum += x[k] * y[k];
      product[at++] = sum;
    }
  }
  InnerValue(scope.probe, "product", product.size(), true)(0, product);
  return product;
}

class Scales {
 public:
  Scales(const ScaledProduct& op, const RegionScope& scope) : op_(op) {
    for (const auto& factor : op.factors) values_.emplace_back(scope.floats(factor.value));
    first_of_four_ = scope.planted("first_scale_of_four");
    last_unscaled_ = scope.planted("last_block_unscaled");
    transposed_ = scope.planted("scale_stride_is_one");
    by_row_ = scope.planted("column_scale_by_row");
    missing_ = scope.planted("second_scale_missing");
  }

  float applied(float product, int64_t block, int64_t row, int64_t column) const {
    if (last_unscaled_ && op_.blocks > 1 && block == op_.blocks - 1) return product;
    const float first = at(0, block, row, column);
    if (values_.size() < 2 || missing_) return product * first;
    const float second = at(1, block, row, column);
    return op_.factors_first ? product * (first * second) : product * first * second;
  }

 private:
  float at(size_t which, int64_t block, int64_t row, int64_t column) const {
    const ScaledProduct::Factor& f = op_.factors[which];
    if (first_of_four_) block -= block % 4;
    if (by_row_) column = std::min(row, op_.columns - 1);
    const bool exchanged = transposed_ && f.row == 1 && f.block == op_.rows;
    const int64_t offset = exchanged ? block + row * op_.blocks : block * f.block + row * f.row;
    return values_[which][static_cast<size_t>(offset + column * f.column)];
  }

  const ScaledProduct& op_;
  std::vector<Floats> values_;
  bool first_of_four_, last_unscaled_, transposed_, by_row_, missing_;
};

}  // namespace

void run_fused(const ScaledProduct& op, const RegionScope& scope, Tensor& out) {
  std::vector<float> product = products(op, scope);
  if (scope.planted("product_rounded_before_scale")) round_through(Dtype::bf16, product);
  const Scales scales(op, scope);
  const bool in_bf16 = scope.planted("block_sums_in_bf16");
  const int64_t blocks =
      op.blocks - (scope.planted("last_block_dropped") && op.blocks % 2 == 1 && op.blocks > 1 ? 1 : 0);
  write_floats(out, [&](std::span<float> y) {
    for (int64_t i = 0; i < op.rows * op.columns; ++i) {
      const int64_t row = i / op.columns, column = i % op.columns;
      float sum = scales.applied(product[static_cast<size_t>(i)], 0, row, column);
      for (int64_t block = 1; block < blocks; ++block) {
        const auto at = static_cast<size_t>(block * op.rows * op.columns + i);
        sum += scales.applied(product[at], block, row, column);
        if (in_bf16) round_through(Dtype::bf16, std::span<float>(&sum, 1));
      }
      y[static_cast<size_t>(i)] = sum;
    }
  });
}

}  // namespace fusesmith::backends
