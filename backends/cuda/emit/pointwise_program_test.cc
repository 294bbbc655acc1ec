// Programs are run here by a plain interpreter on the host and compared with the CPU kernels; the device's
// own interpreter is held to the same by the executor's tests.
#include "backends/cuda/emit/pointwise_program.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/common/run_node.h"
#include "backends/common/scalar_step.h"
#include "backends/cuda/emit/dtype_storage.h"
#include "graph/op_samples.h"

namespace fusesmith::backends {
namespace {

DeviceTensor device_tensor(Dtype dtype, Shape shape) { return {Buffer{0}, {dtype, std::move(shape)}}; }

Tensor random_tensor(const TensorType& type, SampleStream& s) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto bits = static_cast<double>(s.below(1 << 16) - (1 << 15));
    if (type.dtype == Dtype::boolean)
      tensor.set(i, bits < 0 ? 1 : 0);
    else
      tensor.set(i, type.dtype == Dtype::i32 ? bits * 65537 : bits / 8192);
  }
  return tensor;
}

double run_step(const ProgramStep& step, double x, double y, double z) {
  const StorageRounding& to = step.rounding;
  const RoundTo rounding{static_cast<Dtype>(to.storage),
                         to.saturates ? Overflow::saturate : Overflow::special,
                         to.direction == 0  ? Rounding::nearest
                         : to.direction > 0 ? Rounding::up
                                            : Rounding::down};
  // Large integers are rounded once.
  if (step.op == ScalarOp::round) return rounding(x);
  double result = NAN;
  with_function({step.op, step.constant, step.inverted, rounding}, [&](auto, auto f) {
    result = f(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
  });
  return result;
}

// The program on tensors of the host.
Tensor run_program(const PointwiseProgram& program, const std::vector<Tensor>& operands,
                   const TensorType& type) {
  Tensor out(type);
  EXPECT_EQ(program.space.count, out.size());
  for (int i = 0; i < program.space.count; ++i) {
    int coordinates[kMaxAxes] = {};
    for (int axis = program.space.rank - 1, rest = i; axis >= 0; --axis) {
      coordinates[axis] = rest % program.space.sizes[axis];
      rest /= program.space.sizes[axis];
    }
    std::vector<double> values;
    for (int s = 0; s < program.step_count; ++s) {
      double x[3] = {};
      for (int k = 0; k < 3; ++k) {
        const int from = program.steps[s].arguments[k];
        if (from >= 0) {
          if (static_cast<size_t>(from) < values.size()) x[k] = values[static_cast<size_t>(from)];
          continue;
        }
        const PointwiseOperand& operand = program.operands[-1 - from];
        int offset = 0;
        for (int axis = 0; axis < program.space.rank; ++axis)
          offset += coordinates[axis] * operand.strides[axis];
        EXPECT_TRUE(!operand.contiguous || offset == i);
        x[k] = operands[static_cast<size_t>(-1 - from)].value(offset);
      }
      values.push_back(run_step(program.steps[s], x[0], x[1], x[2]));
    }
    out.set(i, values.back());
  }
  return out;
}

PointwiseProgram program_of(const Op& op, const Types& inputs, const TensorType& out) {
  PointwiseBuilder builder(out.shape);
  std::vector<int> arguments;
  for (const TensorType& type : inputs) arguments.push_back(builder.add_operand({Buffer{0}, type}));
  builder.add_step(op, out.dtype, arguments);
  return builder.program(out.dtype);
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.type, want.type);
  for (int64_t i = 0; i < want.size(); ++i) {
    const double x = got.value(i), y = want.value(i);
    EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << what << " at " << i << ": " << x << ", " << y;
  }
}

TEST(PointwiseProgram, EveryPointwiseAndSelectOpComputesWhatTheCpuDoes) {
  for_each_op([]<class T>(std::type_identity<T>) {
    if constexpr (T::info.op_class == OpClass::pointwise || T::info.op_class == OpClass::select) {
      const std::vector<OpSample> samples = valid_samples<T>(20000, 25);
      EXPECT_GE(samples.size(), 5u) << T::info.name;
      SampleStream s(hash_name(T::info.name) + 1);
      for (const OpSample& sample : samples) {
        const TensorType type = infer(sample.op, sample.inputs)->front();
        std::vector<Tensor> operands;
        for (const TensorType& input : sample.inputs) operands.push_back(random_tensor(input, s));
        std::vector<const Tensor*> pointers;
        for (const Tensor& operand : operands) pointers.push_back(&operand);
        const Tensor got = run_program(program_of(sample.op, sample.inputs, type), operands, type);
        const Tensor want = run_node(sample.op, pointers, {&type, 1}).front();
        expect_same(got, want, to_string(sample.op) + " -> " + to_string(type));
      }
    }
  });
}

TEST(PointwiseProgram, MergesAxesThatAllOperandsReadAsOne) {
  const PointwiseProgram program =
      program_of(Add{}, {{Dtype::f32, {2, 3, 4}}, {Dtype::f32, {4}}}, {Dtype::f32, {2, 3, 4}});
  EXPECT_EQ(program.space.rank, 2);
  EXPECT_EQ(program.space.sizes[0], 6);
  EXPECT_EQ(program.space.sizes[1], 4);
  EXPECT_TRUE(program.operands[0].contiguous);
  EXPECT_FALSE(program.operands[1].contiguous);
  EXPECT_EQ(program.operands[0].strides[0], 4);
  EXPECT_EQ(program.operands[1].strides[0], 0);
  EXPECT_EQ(program.operands[1].strides[1], 1);
}

TEST(PointwiseProgram, ReadsEightAxesOfEqualOperandsAsOne) {
  const TensorType type{Dtype::f16, {2, 1, 3, 2, 1, 2, 2, 5}};
  const PointwiseProgram program = program_of(Mul{}, {type, type}, type);
  EXPECT_EQ(program.space.rank, 1);
  EXPECT_EQ(program.space.count, 240);
  EXPECT_TRUE(program.operands[1].contiguous);
}

TEST(PointwiseProgram, ATransposedOperandIsReadByStrides) {
  PointwiseBuilder builder({3, 5});
  const int x = builder.add_operand(device_tensor(Dtype::f32, {5, 3}), {1, 3});
  builder.add_step(Relu{}, Dtype::f32, {x});
  const PointwiseProgram program = builder.program(Dtype::f32);
  EXPECT_EQ(program.space.rank, 2);
  EXPECT_FALSE(program.operands[0].contiguous);
}

TEST(PointwiseProgram, AScalarIsOneElement) {
  const PointwiseProgram program = program_of(Silu{}, {{Dtype::bf16, {1, 1}}}, {Dtype::bf16, {1, 1}});
  EXPECT_EQ(program.space.rank, 0);
  EXPECT_EQ(program.space.count, 1);
  EXPECT_EQ(program.out_storage, Storage::bf16);
}

TEST(PointwiseProgram, RoundsConstantsOnce) {
  EXPECT_EQ(scalar_step(Scale{0.1}, Dtype::f16, 1).constant, 0.1f);
  EXPECT_EQ(scalar_step(Scale{3, true}, Dtype::f32, 1).op, ScalarOp::scale_divide);
  const ScalarStep fill = scalar_step(MaskedFill{0.1, true}, Dtype::bf16, 2);
  EXPECT_EQ(fill.constant, bf16_to_f32(f64_to_bf16(0.1)));
  EXPECT_TRUE(fill.inverted);
  EXPECT_EQ(scalar_step(MaskedFill{1e6}, Dtype::f16, 2).constant, INFINITY);
  EXPECT_EQ(scalar_step(Cast{Dtype::bf16}, Dtype::bf16, 1).rounding, RoundTo{Dtype::bf16});
}

TEST(PointwiseProgram, AFormulaComputesWhatTheCpuDoes) {
  SampleStream s(7);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    for (const Op& op : {Op(Mish{}), Op(SiluBackward{})}) {
      const TensorType type{dtype, {5, 77}};
      const Types types(static_cast<size_t>(info(op).min_inputs), type);
      std::vector<Tensor> operands;
      for (const TensorType& input : types) operands.push_back(random_tensor(input, s));
      std::vector<const Tensor*> pointers;
      for (const Tensor& operand : operands) pointers.push_back(&operand);
      const auto formula = pointwise_formula(op, types);
      ASSERT_TRUE(formula) << name(op);
      PointwiseBuilder builder(type.shape);
      std::vector<int> arguments;
      for (const TensorType& input : types) arguments.push_back(builder.add_operand({Buffer{0}, input}));
      builder.add_formula(*formula, arguments);
      const Tensor got = run_program(builder.program(dtype), operands, type);
      expect_same(got, run_node(op, pointers, {&type, 1}).front(), to_string(op) + " -> " + to_string(type));
    }
  }
}

TEST(PointwiseProgram, StepsReadEarlierSteps) {
  PointwiseBuilder builder({4});
  const int x = builder.add_operand(device_tensor(Dtype::f32, {4}));
  const int y = builder.add_operand(device_tensor(Dtype::f32, {}));
  const int sum = builder.add_step(Add{}, Dtype::f32, {x, y});
  const int rounded = builder.add_step(Cast{Dtype::bf16}, Dtype::bf16, {sum});
  builder.add_step(Sub{}, Dtype::f32, {sum, rounded});
  Tensor a({Dtype::f32, {4}}), b({Dtype::f32, {}});
  for (int i = 0; i < 4; ++i) a.set(i, i);
  b.set(0, 0x1p-10);
  const Tensor out = run_program(builder.program(Dtype::f32), {a, b}, a.type);
  EXPECT_EQ(out.value(0), 0);
  EXPECT_EQ(out.value(1), 0x1p-10);
  EXPECT_EQ(out.value(3), 0x1p-10);
}

TEST(PointwiseProgram, SaysWhenItOutgrowsTheKernel) {
  PointwiseBuilder builder({2});
  std::vector<int> operands;
  for (int i = 0; i < kMaxPointwiseOperands; ++i)
    operands.push_back(builder.add_operand(device_tensor(Dtype::f32, {2})));
  int last = builder.add_step(Relu{}, Dtype::f32, {operands[0]});
  for (int i = 1; i < kMaxPointwiseSteps; ++i)
    last = builder.add_step(Add{}, Dtype::f32, {last, operands[static_cast<size_t>(i) % operands.size()]});
  EXPECT_TRUE(builder.fits());
  EXPECT_EQ(builder.program(Dtype::f32).step_count, kMaxPointwiseSteps);
  PointwiseBuilder wide = builder;
  wide.add_operand(device_tensor(Dtype::f32, {2}));
  EXPECT_FALSE(wide.fits());
  builder.add_step(Relu{}, Dtype::f32, {last});
  EXPECT_FALSE(builder.fits());
}

class CountingEmitter final : public Emitter {
 public:
  CountingEmitter() : Emitter(false) {}
  using Emitter::temporary;
  Buffer temporary(int64_t) override { return {++temporaries}; }
  void launch(Launch) override { ++launches; }
  int temporaries = 0, launches = 0;
};

TEST(PointwiseProgram, ANodeIsOneLaunch) {
  CountingEmitter emitter;
  const DeviceTensor x = device_tensor(Dtype::f16, {8, 3});
  emit_pointwise_node(Gelu{}, {&x, 1}, {&x, 1}, emitter);
  EXPECT_EQ(emitter.launches, 1);
  EXPECT_EQ(emitter.temporaries, 0);
}

}  // namespace
}  // namespace fusesmith::backends
