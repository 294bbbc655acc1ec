// FusedGemm: operands of any layout are packed (rows of a contiguous, b in panels), strips of the result are
// accumulated in f32, and bias, addend and activation are applied to the accumulator before the one rounding.
#include <algorithm>

#include "backends/common/floats.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/activate.h"
#include "backends/cpu_fused/offsets.h"
#include "backends/cpu_fused/panels.h"
#include "backends/cpu_fused/run_fused.h"
#include "backends/cpu_fused/step_names.h"

namespace fusesmith::backends {
namespace {

// Rows of the result that are accumulated together.
constexpr int64_t kStrip = cpu_tile("gemm_bias_act", "rows");

// What the kernel shows: its operands as they are packed, and each step of its epilogue.
struct GemmValues {
  InnerValue left, right, product, bias, biased, addend, sum, activated;
  // Results are counted in the order of the product's axes, as its result is moved before it is stored.
  bool before_move = false;

  GemmValues(const FusedGemm& gemm, const RegionScope& scope, size_t size) {
    Probe* const probe = detailed(scope.probe);
    const StepNames names(scope);
    before_move = names.result_moves();
    if (probe) show_operands(probe, gemm.product, batches_of(names.find<Matmul>(), *scope.graph));
    // An einsum's result has its axes in any order.
    if (before_move && names.find<Einsum>()) return;
    const bool has_epilogue = gemm.bias || gemm.addend || gemm.activation;
    product = InnerValue(has_epilogue ? scope.probe : probe, "product", size, !gemm.bias);
    if (gemm.bias) bias = InnerValue(probe, "bias of product", size);
    if (gemm.bias) biased = InnerValue(probe, "linear", size, true);
    if (gemm.addend) addend = InnerValue(probe, names.operand_from_memory<Add>(), size);
    if (gemm.addend) sum = InnerValue(probe, "add", size, true);
    if (!gemm.activation) return;
    const auto step =
        std::visit([](const auto& op) { return std::decay_t<decltype(op)>::info.name; }, *gemm.activation);
    activated = InnerValue(probe, step, size, true);
  }

 private:
  enum class Batches : uint8_t { same, of_left, of_right, mixed };

  // Which operands of a matmul have batch axes. Those of one operand alone count as its rows or columns.
  static Batches batches_of(const Node* matmul, const Graph& graph) {
    if (!matmul) return Batches::same;
    const auto batch = [&](size_t i) {
      const Shape& shape = graph.type(matmul->inputs[i]).shape;
      return Shape(shape.begin(), shape.end() - 2);
    };
    const Shape left = batch(0), right = batch(1);
    if (left == right) return Batches::same;
    if (element_count(right) == 1) return Batches::of_left;
    return element_count(left) == 1 ? Batches::of_right : Batches::mixed;
  }

  // Those that are read in the order of the graph's product.
  void show_operands(Probe* probe, const BatchedProduct& of, Batches batches) {
    const int64_t depth = extent(of.batch) * extent(of.k);
    if (batches != Batches::mixed)
      left = InnerValue(probe, "left of product", static_cast<size_t>(extent(of.m) * depth));
    if (batches == Batches::same || batches == Batches::of_left)
      right = InnerValue(probe, "right of product", static_cast<size_t>(extent(of.n) * depth));
  }
};

struct Epilogue {
  std::optional<Floats> bias = {}, addend = {};
  std::optional<Activation> activation = {};
  GemmValues shown;
  bool relu_drops_nan = false, bias_twice = false, lone_column_dropped = false,
       overhang_stored = false;  // faults
};

// How the depth of a product is divided (injected faults): after `at` terms, the partial sum is rounded to
// bf16 or activated.
struct Split {
  int64_t at;
  bool rounded = false, activated = false;
};

// Injected fault: relu turns NaN into 0.
void relu_without_nan(std::span<float> x) {
  for (float& value : x) value = value > 0 ? value : 0;
}

class Gemm {
 public:
  // tf32_a, tf32_b: whether the operand is rounded while it is packed.
  Gemm(const BatchedProduct& product, int64_t depth, Split split, Epilogue epilogue, bool tf32_a, bool tf32_b)
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
      const bool other_b = i == 0 || batch_.b[i] != batch_.b[i - 1];
      if (other_b || epilogue_.shown.right.shown()) pack_b(b + batch_.b[i]);
      if (epilogue_.shown.left.shown()) show_operands(i);
      for (int64_t row = 0; row < m_.count; row += kStrip) {
        const int64_t rows = std::min(kStrip, m_.count - row);
        std::fill(strip.begin(), strip.end(), 0.0f);
        add_product(a_.data() + row * depth_, depth_, rows, b_, 0, split_.at, strip.data(),
                    b_.padded_columns());
        if (split_.at < depth_) {
          if (split_.rounded) round_through(Dtype::bf16, strip);
          if (split_.activated) activate(*epilogue_.activation, strip);
          add_product(a_.data() + row * depth_ + split_.at, depth_, rows, b_, split_.at, depth_ - split_.at,
                      strip.data(), b_.padded_columns());
        }
        for (int64_t r = 0; r < rows; ++r) finish(i, row + r, strip.data() + r * b_.padded_columns(), out);
        for (int64_t r = 0; epilogue_.overhang_stored && r + 1 < rows; ++r)
          store_overhang(i, row + r, strip.data() + r * b_.padded_columns(), out);
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

  void show_operands(int64_t batch) {
    const GemmValues& shown = epilogue_.shown;
    for (int64_t i = 0; i < m_.count; ++i) {
      const auto first = static_cast<size_t>((batch * m_.count + i) * k_.count);
      shown.left(first, {a_.data() + i * depth_, static_cast<size_t>(depth_)});
    }
    for (int64_t k = 0; k < depth_; ++k) {
      for (int64_t j = 0; j < n_.count; ++j) {
        const auto at = static_cast<size_t>((batch * k_.count + k) * n_.count + j);
        b_.at(k, j) = shown.right(at, b_.at(k, j));
      }
    }
  }

  // Row i of the result, or of what is read for it, goes through the probe.
  void show(const InnerValue& value, int64_t batch, int64_t i, std::span<float> y) const {
    if (!value.shown()) return;
    const auto in_order = static_cast<size_t>((batch * m_.count + i) * n_.count);
    const int64_t to_row = batch_.out[batch] + m_.out[i];
    for (size_t j = 0; j < y.size(); ++j)
      y[j] =
          value(epilogue_.shown.before_move ? in_order + j : static_cast<size_t>(to_row + n_.out[j]), y[j]);
  }

  void add(const InnerValue& read, int64_t batch, int64_t i, std::span<float> y, auto addend) const {
    if (!read.shown()) {
      for (size_t j = 0; j < y.size(); ++j) y[j] += addend(j);
      return;
    }
    std::vector<float> row(y.size());
    for (size_t j = 0; j < row.size(); ++j) row[j] = addend(j);
    show(read, batch, i, row);
    for (size_t j = 0; j < y.size(); ++j) y[j] += row[j];
  }

  void finish(int64_t batch, int64_t i, float* row, float* out) const {
    const std::span<float> y(row, static_cast<size_t>(n_.count));
    const GemmValues& shown = epilogue_.shown;
    const bool lone = n_.count > 1 && n_.count % kPanelColumns == 1;
    if (epilogue_.lone_column_dropped && lone) y.back() = 0;
    show(shown.product, batch, i, y);
    if (epilogue_.bias) {
      const float* bias = epilogue_.bias->data();
      add(shown.bias, batch, i, y, [&](size_t j) { return epilogue_.bias_twice ? 2 * bias[j] : bias[j]; });
      show(shown.biased, batch, i, y);
    }
    if (epilogue_.addend) {
      const float* addend = epilogue_.addend->data() + batch_.addend[batch] + m_.addend[i];
      add(shown.addend, batch, i, y, [&](size_t j) { return addend[n_.addend[j]]; });
      show(shown.sum, batch, i, y);
    }
    if (epilogue_.activation) {
      if (epilogue_.relu_drops_nan && std::holds_alternative<Relu>(*epilogue_.activation))
        relu_without_nan(y);
      else
        activate(*epilogue_.activation, y);
      show(shown.activated, batch, i, y);
    }
    float* to = out + batch_.out[batch] + m_.out[i];
    for (size_t j = 0; j < y.size(); ++j) to[n_.out[j]] = y[j];
  }

  // Injected fault: the columns of the last tile that do not exist land in the next row.
  void store_overhang(int64_t batch, int64_t i, const float* row, float* out) const {
    float* to = out + batch_.out[batch] + m_.out[i + 1];
    const int64_t columns = std::min(b_.padded_columns() - n_.count, n_.count);
    for (int64_t j = 0; j < columns; ++j) to[n_.out[j]] = row[n_.count + j];
  }

  AxisOffsets batch_, m_, n_, k_;
  int64_t depth_;
  Split split_;
  bool tf32_a_, tf32_b_;
  std::vector<float> a_;
  Panels b_;
  Epilogue epilogue_;
};

}  // namespace

SumOrder sum_order(const FusedGemm& gemm, OnCpu) {
  return {.products = blocked_height(extent(gemm.product.k))};
}

namespace {

Split split_of(const FusedGemm& gemm, int64_t depth, const RegionScope& scope) {
  Split split{depth, depth > 1 && scope.planted("split_k_partials_in_bf16"),
              gemm.activation && depth > kDepthBlock / 2 && scope.planted("activation_before_last_split")};
  if (split.rounded || split.activated) split.at = depth / 2;
  return split;
}

}  // namespace

void run_fused(const FusedGemm& gemm, const RegionScope& scope, Tensor& out) {
  Epilogue epilogue{.shown = {gemm, scope, static_cast<size_t>(out.size())}};
  if (gemm.bias) epilogue.bias.emplace(scope.at(*gemm.bias));
  if (gemm.addend) epilogue.addend.emplace(scope.floats(*gemm.addend));
  epilogue.activation = gemm.activation;
  if (scope.planted("gelu_tanh_for_erf") && gemm.activation &&
      std::holds_alternative<Gelu>(*gemm.activation)) {
    epilogue.activation = Gelu{Gelu::Form::tanh};
  }
  epilogue.relu_drops_nan = scope.planted("relu_drops_nan");
  int64_t depth = extent(gemm.product.k);
  if (scope.planted("k_tail_skipped") && depth > 8) depth -= depth % 8;
  epilogue.bias_twice = scope.planted("bias_added_by_each_split") && depth > kDepthBlock / 2;
  epilogue.lone_column_dropped = scope.planted("lone_column_dropped");
  epilogue.overhang_stored = scope.planted("tile_tail_written_to_next_row");
  const Floats a(scope.floats(gemm.product.a)), b(scope.floats(gemm.product.b));
  const Split split = split_of(gemm, depth, scope);
  const auto tf32 = [&](ValueId v) { return reads_tf32(scope.products, scope.at(v).type.dtype); };
  Gemm kernel(gemm.product, depth, split, std::move(epilogue), tf32(gemm.product.a), tf32(gemm.product.b));
  write_floats(out, [&](std::span<float> y) { kernel.run(a.data(), b.data(), y.data()); });
}

}  // namespace fusesmith::backends
