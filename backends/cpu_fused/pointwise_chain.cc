// PointwiseChain: the program runs over blocks of elements, each step in a buffer of f32; only casts round on
// the way.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "backends/common/float_functions.h"
#include "backends/common/floats.h"
#include "backends/common/strided.h"
#include "backends/cpu_fused/round_through.h"
#include "backends/cpu_fused/run_fused.h"
#include "backends/rewrite/kernel_tiles.h"

namespace fusesmith::backends {
namespace {

constexpr size_t kBlock = cpu_tile("pointwise_chain", "elements");
using Block = std::array<float, kBlock>;
using Arguments = std::array<const float*, 3>;

template <class F>
void each(size_t count, float* y, F f) {
  for (size_t i = 0; i < count; ++i) y[i] = f(i);
}

struct StepFaults {
  bool skip_cast = false, swap_where = false, drop_nan = false;
};

// One step over `count` elements, for every op of the classes pointwise and select.
class StepRunner {
 public:
  StepRunner(const PointwiseChain::Step& step, const Arguments& x, size_t count, float* y,
             const StepFaults& faults)
      : step_(step), a_(x[0]), b_(x[1]), c_(x[2]), count_(count), y_(y), faults_(faults) {}

  void operator()(const Add&) const {
    each(count_, y_, [&](size_t i) { return a_[i] + b_[i]; });
  }
  void operator()(const Sub&) const {
    each(count_, y_, [&](size_t i) { return a_[i] - b_[i]; });
  }
  void operator()(const Mul&) const {
    each(count_, y_, [&](size_t i) { return a_[i] * b_[i]; });
  }
  void operator()(const Div&) const {
    each(count_, y_, [&](size_t i) { return a_[i] / b_[i]; });
  }
  void operator()(const Maximum&) const {
    if (faults_.drop_nan) return each(count_, y_, [&](size_t i) { return std::fmax(a_[i], b_[i]); });
    each(count_, y_, [&](size_t i) { return maximum(a_[i], b_[i]); });
  }
  void operator()(const Scale& op) const {
    const float factor = static_cast<float>(op.factor);
    each(count_, y_, [&](size_t i) { return op.inverse ? a_[i] / factor : a_[i] * factor; });
  }
  void operator()(const Relu&) const {
    each(count_, y_, [&](size_t i) { return relu(a_[i]); });
  }
  void operator()(const Gelu& op) const {
    const auto gelu = op.form == Gelu::Form::erf ? gelu_erf : gelu_tanh;
    each(count_, y_, [&](size_t i) { return gelu(a_[i]); });
  }
  void operator()(const Silu&) const {
    each(count_, y_, [&](size_t i) { return silu(a_[i]); });
  }
  void operator()(const Sigmoid&) const {
    each(count_, y_, [&](size_t i) { return sigmoid(a_[i]); });
  }
  void operator()(const Tanh&) const {
    each(count_, y_, [&](size_t i) { return std::tanh(a_[i]); });
  }
  void operator()(const Exp&) const {
    each(count_, y_, [&](size_t i) { return std::exp(a_[i]); });
  }
  void operator()(const Sqrt&) const {
    each(count_, y_, [&](size_t i) { return std::sqrt(a_[i]); });
  }
  void operator()(const Rsqrt&) const {
    each(count_, y_, [&](size_t i) { return reciprocal_sqrt(a_[i]); });
  }
  void operator()(const Softcap& op) const {
    const float cap = static_cast<float>(op.cap);
    each(count_, y_, [&](size_t i) { return softcap(a_[i], cap); });
  }
  void operator()(const Cast& op) const {
    std::copy_n(a_, count_, y_);
    if (!faults_.skip_cast) round_through(op.dtype, {y_, count_});
  }
  void operator()(const Where&) const {
    const float *yes = faults_.swap_where ? c_ : b_, *no = faults_.swap_where ? b_ : c_;
    each(count_, y_, [&](size_t i) { return a_[i] != 0 ? yes[i] : no[i]; });
  }
  void operator()(const MaskedFill& op) const {
    const float value = static_cast<float>(round_to(step_.dtype, op.value));
    each(count_, y_, [&](size_t i) { return (b_[i] != 0) != op.inverted ? value : a_[i]; });
  }
  template <class T>
  void operator()(const T&) const {
    static_assert(T::info.op_class != OpClass::pointwise && T::info.op_class != OpClass::select);
    check(false, "pointwise_chain: a step is neither pointwise nor select");
  }

 private:
  const PointwiseChain::Step& step_;
  const float *a_, *b_, *c_;
  size_t count_;
  float* y_;
  const StepFaults& faults_;
};

// The steps as a probe sees them: their arguments as each reads them, and their values.
class ShownSteps {
 public:
  ShownSteps(const PointwiseChain& chain, Probe* probe) {
    if (!detailed(probe)) return;
    copies_.resize(3);
    for (const auto& step : chain.steps) {
      const auto size = static_cast<size_t>(element_count(chain.shape));
      steps_.emplace_back(probe, name(step.op), step.arguments.size(), size);
    }
  }

  // Elements [at, at + count) of the step's arguments.
  void read(size_t step, size_t at, size_t count, Arguments& x) {
    for (size_t k = 0; k < copies_.size() && x[k]; ++k) {
      for (size_t i = 0; i < count; ++i) copies_[k][i] = steps_[step].operand(k, at + i, x[k][i]);
      x[k] = copies_[k].data();
    }
  }
  void computed(size_t step, size_t at, std::span<float> y) const {
    for (size_t i = 0; !copies_.empty() && i < y.size(); ++i) y[i] = steps_[step].result(at + i, y[i]);
  }

 private:
  std::vector<StepValues> steps_;
  std::vector<Block> copies_;
};

// One element for each of the chain's shape.
std::vector<float> spread_operand(const PointwiseChain::Operand& operand, const RegionScope& scope,
                                  const Shape& shape) {
  const PlacedTensor* const in_memory = scope.place(operand.value);
  if (!in_memory) return spread(scope.at(operand.value), operand.strides, shape);
  if (in_memory->type().dtype == Dtype::i32)
    return spread(scope.elements<int32_t>(operand.value), operand.strides, shape);
  if (in_memory->type().dtype == Dtype::boolean)
    return spread(scope.elements<uint8_t>(operand.value), operand.strides, shape);
  const auto beyond = reinterpret_cast<uintptr_t>(in_memory->elements()) % 16;
  const auto skipped = scope.planted("chain_vector_load_aligned_down")
                           ? static_cast<int64_t>(beyond) / size_of(in_memory->type().dtype)
                           : 0;
  return spread(scope.floats(operand.value).data() - skipped, operand.strides, shape);
}

}  // namespace

void run_fused(const PointwiseChain& chain, const RegionScope& scope, Tensor& out) {
  std::vector<std::vector<float>> operands;
  for (const auto& operand : chain.operands) {
    operands.push_back(spread_operand(operand, scope, chain.shape));
  }
  const StepFaults faults{scope.planted("explicit_cast_skipped"), scope.planted("where_branches_swapped"),
                          scope.planted("chain_maximum_drops_nan")};
  std::vector<Block> blocks(chain.steps.size());
  ShownSteps shown(chain, scope.probe);
  write_floats(out, [&](std::span<float> y) {
    const size_t all = scope.planted("chain_tail_block_skipped") ? y.size() - y.size() % 32 : y.size();
    // not written under the injected fault
    std::fill(y.begin() + static_cast<std::ptrdiff_t>(all), y.end(), 0.0f);
    for (size_t at = 0; at < all; at += kBlock) {
      const size_t count = std::min(kBlock, all - at);
      for (size_t s = 0; s < chain.steps.size(); ++s) {
        const auto& step = chain.steps[s];
        Arguments x{};
        for (size_t i = 0; i < step.arguments.size(); ++i) {
          const int from = step.arguments[i];
          x[i] = from >= 0 ? blocks[static_cast<size_t>(from)].data()
                           : operands[static_cast<size_t>(-1 - from)].data() + at;
        }
        shown.read(s, at, count, x);
        std::visit(StepRunner(step, x, count, blocks[s].data(), faults), step.op);
        shown.computed(s, at, std::span(blocks[s]).first(count));
      }
      std::copy_n(blocks.back().data(), count, y.data() + at);
    }
  });
}

}  // namespace fusesmith::backends
