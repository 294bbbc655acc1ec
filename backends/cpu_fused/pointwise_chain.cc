// PointwiseChain: the program runs over blocks of elements, each step in a buffer of f32; only casts round on
// the way.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "backends/common/floats.h"
#include "backends/common/scalar_step.h"
#include "backends/common/strided.h"
#include "backends/cpu_fused/run_fused.h"
#include "backends/rewrite/kernel_tiles.h"

namespace fusesmith::backends {
namespace {

constexpr size_t kBlock = cpu_tile("pointwise_chain", "elements");
using Block = std::array<float, kBlock>;

struct StepFaults {
  bool skip_cast = false, swap_where = false, drop_nan = false;
};

// One step over the elements of y.
void run(const ScalarStep& step, ScalarArguments x, const StepFaults& faults, std::span<float> y) {
  if (step.op == ScalarOp::where && faults.swap_where) std::swap(x[1], x[2]);
  if (step.op == ScalarOp::round && faults.skip_cast) return void(std::copy_n(x[0], y.size(), y.data()));
  if (step.op != ScalarOp::maximum || !faults.drop_nan) return run_step(step, x, y);
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::fmax(x[0][i], x[1][i]);
}

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
  void read(size_t step, size_t at, size_t count, ScalarArguments& x) {
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
  std::vector<ScalarStep> functions;
  for (const PointwiseStep& step : chain.steps) functions.push_back(scalar_step(step));
  std::vector<Block> blocks(chain.steps.size());
  ShownSteps shown(chain, scope.probe);
  write_floats(out, [&](std::span<float> y) {
    const size_t all = scope.planted("chain_tail_block_skipped") ? y.size() - y.size() % 32 : y.size();
    // not written under the injected fault
    std::fill(y.begin() + static_cast<std::ptrdiff_t>(all), y.end(), 0.0f);
    for (size_t at = 0; at < all; at += kBlock) {
      const size_t count = std::min(kBlock, all - at);
      for (size_t s = 0; s < chain.steps.size(); ++s) {
        const std::vector<int>& arguments = chain.steps[s].arguments;
        ScalarArguments x{};
        for (size_t i = 0; i < arguments.size(); ++i) {
          const int from = arguments[i];
          x[i] = from >= 0 ? blocks[static_cast<size_t>(from)].data()
                           : operands[static_cast<size_t>(-1 - from)].data() + at;
        }
        shown.read(s, at, count, x);
        const std::span<float> values = std::span(blocks[s]).first(count);
        run(functions[s], x, faults, values);
        shown.computed(s, at, values);
      }
      std::copy_n(blocks.back().data(), count, y.data() + at);
    }
  });
}

}  // namespace fusesmith::backends
