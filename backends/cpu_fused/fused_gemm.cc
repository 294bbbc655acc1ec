// FusedGemm: operands of any layout are packed (rows of a contiguous, b in panels), strips of the result are
// accumulated in f32, and bias, addend and activation are applied to the accumulator before the one rounding.
#include <algorithm>

#include "backends/common/floats.h"
#include "backends/cpu_fused/activate.h"
#include "backends/cpu_fused/offsets.h"
#include "backends/cpu_fused/panels.h"
#include "backends/cpu_fused/round_through.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

constexpr int64_t kStrip = 64;  // rows of the result that are accumulated together

struct Epilogue {
  std::optional<Floats> bias = {}, addend = {};
  std::optional<Activation> activation = {};
  InnerValue product;
  bool probed = false;
  bool relu_drops_nan = false;  // fault
};

// Injected fault: relu turns NaN into 0.
void relu_without_nan(std::span<float> x) {
  for (float& value : x) value = value > 0 ? value : 0;
}

class Gemm {
 public:
  // `split`: number of terms after which a partial sum is rounded to bf16 (injected fault), otherwise
  // `depth`. tf32_a, tf32_b: whether the operand is rounded while it is packed.
  Gemm(const BatchedProduct& product, int64_t depth, int64_t split, Epilogue epilogue, bool tf32_a,
       bool tf32_b)
      : batch_(product.batch),
        m_(product.m),
        n_(product.n),
        k_(product.k),
        depth_(depth),
        split_(split),
        tf32_a_(tf32_a),
        tf32_b_(tf32_b),
        a_(static_cast<size_t>(m_.count * depth)),
        b_(depth, n_.count),
        epilogue_(std::move(epilogue)) {}

  void run(const float* a, const float* b, float* out) {
    std::vector<float> strip(static_cast<size_t>(kStrip * b_.padded_columns()));
    for (int64_t i = 0; i < batch_.count; ++i) {
      pack_a(a + batch_.a[i]);
      if (i == 0 || batch_.b[i] != batch_.b[i - 1]) pack_b(b + batch_.b[i]);
      for (int64_t row = 0; row < m_.count; row += kStrip) {
        const int64_t rows = std::min(kStrip, m_.count - row);
        std::fill(strip.begin(), strip.end(), 0.0f);
        add_product(a_.data() + row * depth_, depth_, rows, b_, 0, split_, strip.data(), b_.padded_columns());
        if (split_ < depth_) {
          round_through(Dtype::bf16, strip);
          add_product(a_.data() + row * depth_ + split_, depth_, rows, b_, split_, depth_ - split_,
                      strip.data(), b_.padded_columns());
        }
        for (int64_t r = 0; r < rows; ++r) finish(i, row + r, strip.data() + r * b_.padded_columns(), out);
      }
    }
  }

 private:
  void pack_a(const float* a) {
    float* to = a_.data();
    for (int64_t i = 0; i < m_.count; ++i) {
      const float* row = a + m_.a[i];
      for (int64_t k = 0; k < depth_; ++k) *to++ = row[k_.a[k]];
    }
    if (tf32_a_) to_tf32(a_);
  }

  void pack_b(const float* b) {
    for (int64_t k = 0; k < depth_; ++k) {
      const float* row = b + k_.b[k];
      for (int64_t j = 0; j < n_.count; ++j) b_.at(k, j) = tf32_b_ ? to_tf32(row[n_.b[j]]) : row[n_.b[j]];
    }
  }

  void finish(int64_t batch, int64_t i, float* row, float* out) const {
    const std::span<float> y(row, static_cast<size_t>(n_.count));
    const int64_t to_row = batch_.out[batch] + m_.out[i];
    for (size_t j = 0; epilogue_.probed && j < y.size(); ++j)
      y[j] = epilogue_.product(static_cast<size_t>(to_row + n_.out[j]), y[j]);
    if (epilogue_.bias) {
      for (size_t j = 0; j < y.size(); ++j) y[j] += (*epilogue_.bias)[j];
    }
    if (epilogue_.addend) {
      const float* addend = epilogue_.addend->data() + batch_.addend[batch] + m_.addend[i];
      for (size_t j = 0; j < y.size(); ++j) y[j] += addend[n_.addend[j]];
    }
    if (epilogue_.activation) {
      if (epilogue_.relu_drops_nan && std::holds_alternative<Relu>(*epilogue_.activation))
        relu_without_nan(y);
      else
        activate(*epilogue_.activation, y);
    }
    float* to = out + to_row;
    for (size_t j = 0; j < y.size(); ++j) to[n_.out[j]] = y[j];
  }

  AxisOffsets batch_, m_, n_, k_;
  int64_t depth_, split_;
  bool tf32_a_, tf32_b_;
  std::vector<float> a_;
  Panels b_;
  Epilogue epilogue_;
};

}  // namespace

SumOrder sum_order(const FusedGemm& gemm, OnCpu) {
  return {.products = blocked_height(extent(gemm.product.k))};
}

void run_fused(const FusedGemm& gemm, const RegionScope& scope, Tensor& out) {
  // Without bias, addend and activation the output is the product.
  Probe* probe = gemm.bias || gemm.addend || gemm.activation ? scope.probe : nullptr;
  Epilogue epilogue{.product = {probe, "product", static_cast<size_t>(out.size())},
                    .probed = probe != nullptr};
  if (gemm.bias) epilogue.bias.emplace(scope.at(*gemm.bias));
  if (gemm.addend) epilogue.addend.emplace(scope.at(*gemm.addend));
  epilogue.activation = gemm.activation;
  if (scope.planted("gelu_tanh_for_erf") && gemm.activation &&
      std::holds_alternative<Gelu>(*gemm.activation)) {
    epilogue.activation = Gelu{Gelu::Form::tanh};
  }
  epilogue.relu_drops_nan = scope.planted("relu_drops_nan");
  int64_t depth = extent(gemm.product.k);
  if (scope.planted("k_tail_skipped") && depth > 8) depth -= depth % 8;
  const Floats a(scope.at(gemm.product.a)), b(scope.at(gemm.product.b));
  const int64_t split = scope.planted("split_k_partials_in_bf16") && depth > 1 ? depth / 2 : depth;
  const auto tf32 = [&](ValueId v) { return reads_tf32(scope.products, scope.at(v).type.dtype); };
  Gemm kernel(gemm.product, depth, split, std::move(epilogue), tf32(gemm.product.a), tf32(gemm.product.b));
  write_floats(out, [&](std::span<float> y) { kernel.run(a.data(), b.data(), y.data()); });
}

}  // namespace fusesmith::backends
