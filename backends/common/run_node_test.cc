// Every op against its definition in f64, in every float dtype, over shapes with broadcasting, size-1 axes,
// transposes and scalars. (cpu_lawful_test.cc checks f32 results against their bounds.)
#include "backends/common/run_node.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/op_tests/op_tests.h"

namespace fusesmith::backends {
namespace {

constexpr double kRunNodeInf = std::numeric_limits<double>::infinity();

using op_tests::OpCase, op_tests::op_cases;

std::vector<Tensor> make_data(const OpCase& one, Dtype dtype) {
  std::vector<Tensor> data;
  for (TensorType type : one.inputs) {
    Fill fill = Normal{};
    if (type.dtype == Dtype::boolean)
      fill = Bernoulli{0.6};
    else if (type.dtype == Dtype::i32)
      fill = op_tests::index_fill(type);
    else
      type.dtype = dtype;
    data.push_back(materialize(fill, type, 7, "input" + std::to_string(data.size()), 0));
  }
  return data;
}

std::vector<Tensor> run_all(const Op& op, const std::vector<Tensor>& data) {
  Types types;
  std::vector<const Tensor*> inputs;
  for (const Tensor& tensor : data) {
    types.push_back(tensor.type);
    inputs.push_back(&tensor);
  }
  const auto outputs = infer(op, types);
  EXPECT_TRUE(outputs.ok()) << to_string(op) << ": " << outputs.problem();
  std::vector<Tensor> results = run_node(op, inputs, *outputs);
  EXPECT_EQ(results.size(), outputs->size());
  for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].type, (*outputs)[i]);
  return results;
}

// The only output.
Tensor run_alone(const Op& op, const std::vector<Tensor>& data) { return run_all(op, data)[0]; }

bool is_exact(OpClass op_class) {
  return op_class == OpClass::movement || op_class == OpClass::select || op_class == OpClass::source;
}

// Relative to 1 or the value: what f32 needs here, and the roundings to the storage dtype (a composite op has
// several).
double allowed_error(const OpCase& one, Dtype dtype) {
  const bool composite = info(one.op).op_class == OpClass::composite;
  return 2e-5 + (is_narrow(dtype) ? unit_roundoff(dtype) * (composite ? 30 : 1) : 0);
}

void expect_near(const OpCase& one, const Tensor& got, const op_tests::Values& want) {
  ASSERT_EQ(got.type.shape, want.shape) << to_string(one.op);
  for (int64_t i = 0; i < got.size(); ++i) {
    const double unrounded = want.data[static_cast<size_t>(i)];
    const bool is_code = is_quantized(got.type.dtype) && std::holds_alternative<Cast>(one.op);
    const double w = is_code ? std::get<Cast>(one.op).rounds()(unrounded) : unrounded;
    const bool exact = is_exact(info(one.op).op_class) || std::isinf(w);
    const double allowed = exact ? 0 : allowed_error(one, got.type.dtype) * std::max(1.0, std::fabs(w));
    if (got.value(i) == w || (std::isnan(got.value(i)) && std::isnan(w))) continue;
    ASSERT_NEAR(got.value(i), w, allowed)
        << to_string(one.op) << " in " << name(got.type.dtype) << ", element " << i;
  }
}

class EveryDtype : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(RunNode, EveryDtype, testing::ValuesIn(kFloatDtypes),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

TEST_P(EveryDtype, MatchesTheDefinition) {
  for (const OpCase& one : op_cases()) {
    const std::vector<Tensor> data = make_data(one, GetParam());
    const std::vector<Tensor> all = run_all(one.op, data);
    op_tests::Args args;
    for (const Tensor& tensor : data) args.push_back({tensor.type.shape, to_f64(tensor)});
    for (size_t i = 0; i < all.size(); ++i) {
      const Shape& shape = all[i].type.shape;
      expect_near(
          one, all[i],
          std::visit([&](const auto& op) { return op_tests::eval_output(op, args, shape, i); }, one.op));
    }
  }
}

// Inputs are read exactly, all is computed in f32, and the result is rounded once: so a 16-bit op is the f32
// op, rounded.
TEST_P(EveryDtype, RoundsOnce) {
  for (const OpCase& one : op_cases()) {
    if (info(one.op).op_class == OpClass::composite) continue;
    const std::vector<Tensor> data = make_data(one, GetParam());
    std::vector<Tensor> wide;
    for (const Tensor& tensor : data) {
      wide.push_back(is_float(tensor.type.dtype) ? from_f32(to_f32(tensor), {Dtype::f32, tensor.type.shape})
                                                 : tensor);
    }
    const std::vector<Tensor> all = run_all(one.op, data), exact = run_all(one.op, wide);
    for (size_t i = 0; i < all.size(); ++i) {
      const Tensor &got = all[i], &want = exact[i];
      EXPECT_EQ(got, is_float(got.type.dtype) ? from_f32(to_f32(want), got.type) : want) << to_string(one.op);
    }
  }
}

TEST(RunNode, CastOfLargeIntegersRoundsOnce) {
  // 2^24 + 2^16 + 1 lies just above the middle of two bf16 neighbours; by way of f32 it would fall on it,
  // then to even.
  Tensor x({Dtype::i32, {2}});
  x.set(0, (1 << 24) + (1 << 16) + 1);
  x.set(1, (1 << 24) + (1 << 16));
  const Tensor y = run_alone(Cast{Dtype::bf16}, {x});
  EXPECT_EQ(y.value(0), (1 << 24) + (1 << 17));
  EXPECT_EQ(y.value(1), 1 << 24);
}

TEST(RunNode, ReluKeepsNanAndDropsNegatives) {
  Tensor x({Dtype::bf16, {4}});
  const double values[] = {std::nan(""), -kRunNodeInf, kRunNodeInf, -1};
  for (int64_t i = 0; i < 4; ++i) x.set(i, values[i]);
  const Tensor y = run_alone(Relu{}, {x});
  EXPECT_TRUE(std::isnan(y.value(0)));
  EXPECT_EQ(y.value(1), 0);
  EXPECT_EQ(y.value(2), kRunNodeInf);
  EXPECT_EQ(y.value(3), 0);
}

TEST(RunNode, MovementKeepsBits) {
  Tensor x({Dtype::f32, {2, 2}});
  const uint32_t bits[] = {0x7fa00001, 0xffc12345, 0x80000000,
                           0x00000001};  // a signaling NaN, a NaN, -0, a subnormal
  std::memcpy(x.bytes.data(), bits, sizeof bits);
  const Tensor y = run_alone(Permute{{1, 0}}, {run_alone(Permute{{1, 0}}, {x})});
  EXPECT_EQ(x.bytes, y.bytes);
}

}  // namespace
}  // namespace fusesmith::backends
