// Every op against its definition in f64, in every float dtype, over shapes with broadcasting, size-1 axes,
// transposes and scalars. (How near f32 must come is the judge's matter; here the values.)
#include "backends/common/run_node.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backends/common/naive_eval.h"

namespace fusesmith {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct OpCase {
  Op op;
  Types inputs;  // f32 stands for the float dtype under test
};

TensorType f(Shape shape) { return {Dtype::f32, std::move(shape)}; }
TensorType mask(Shape shape) { return {Dtype::boolean, std::move(shape)}; }
TensorType indices(Shape shape) { return {Dtype::i32, std::move(shape)}; }

std::vector<OpCase> product_cases() {
  std::vector<OpCase> cases = {
      {Matmul{}, {f({3, 4}), f({4, 5})}},
      {Matmul{}, {f({1, 1}), f({1, 1})}},
      {Matmul{}, {f({1, 64}), f({64, 33})}},
      {Matmul{}, {f({33, 64}), f({64, 1})}},
      {Matmul{}, {f({2, 3, 17, 9}), f({2, 3, 9, 15})}},
      {Matmul{}, {f({2, 1, 17, 9}), f({3, 9, 15})}},
      {Matmul{}, {f({4, 17, 9}), f({9, 15})}},
      {Matmul{}, {f({17, 9}), f({4, 9, 15})}},
      {Matmul{true, false}, {f({4, 9, 17}), f({9, 15})}},
      {Matmul{false, true}, {f({4, 17, 9}), f({15, 9})}},
      {Matmul{true, true}, {f({2, 9, 17}), f({2, 15, 9})}},
      {Linear{}, {f({5}), f({3, 5})}},
      {Linear{}, {f({2, 7, 16}), f({32, 16}), f({32})}},
      {Linear{}, {f({1, 40}), f({1, 40}), f({1})}},
  };
  const auto einsum = [&](const char* equation, Shape a, Shape b) {
    cases.push_back({Einsum{equation}, {f(std::move(a)), f(std::move(b))}});
  };
  einsum("bid,bdh->bih", {3, 8, 10}, {3, 10, 12});
  einsum("bikd,bjkd->bijd", {2, 5, 6, 7}, {2, 4, 6, 7});
  einsum("bthd,bshd->bhts", {2, 9, 3, 8}, {2, 10, 3, 8});
  einsum("bhts,bshd->bthd", {2, 3, 9, 10}, {2, 10, 3, 8});
  einsum("abc,cbd->da", {9, 4, 5}, {5, 4, 11});
  einsum("ki,kj->ji", {16, 12}, {16, 10});
  einsum("ij,jk->ik", {1, 30}, {30, 1});
  einsum("ij,ij->ij", {4, 5}, {4, 5});
  einsum("ij,ij->i", {40, 50}, {40, 50});
  einsum("i,i->", {1000}, {1000});
  einsum("i,j->ij",
         {
             20,
         },
         {30});
  einsum(",->", {}, {});
  einsum(",ij->ji", {}, {3, 4});
  einsum("ii,ij->j", {6, 6}, {6, 20});
  einsum("ii,ij->ij", {6, 6}, {6, 20});
  einsum("iij,jk->ik", {9, 9, 10}, {10, 11});
  einsum("ij,k->k", {9, 10}, {11});  // letters summed over one operand alone
  einsum("aij,jkb->ik", {3, 9, 10}, {10, 11, 2});
  einsum("ab,cd->", {3, 4}, {5, 2});
  return cases;
}

std::vector<OpCase> pointwise_cases() {
  return {
      {Add{}, {f({4, 5}), f({4, 5})}},
      {Add{}, {f({}), f({})}},
      {Add{}, {f({3, 1, 5}), f({4, 1})}},
      {Sub{}, {f({2, 3}), f({3})}},
      {Sub{}, {f({}), f({2, 3})}},
      {Mul{}, {f({5, 1}), f({1, 6})}},
      {Div{}, {f({2, 1, 3, 1}), f({4, 1, 5})}},
      {Scale{0.1}, {f({7})}},
      {Scale{3, true}, {f({2, 2})}},
      {Relu{}, {f({50})}},
      {Gelu{Gelu::Form::erf}, {f({50})}},
      {Gelu{Gelu::Form::tanh}, {f({50})}},
      {Silu{}, {f({50})}},
      {Sigmoid{}, {f({5, 10})}},
      {Cast{Dtype::f32}, {f({3, 3})}},
      {Cast{Dtype::f16}, {f({3, 3})}},
      {Cast{Dtype::bf16}, {f({3, 3})}},
      {Cast{Dtype::bf16}, {indices({9})}},
      {Cast{Dtype::f32}, {mask({9})}},
      {Where{}, {mask({4, 5}), f({4, 5}), f({4, 5})}},
      {Where{}, {mask({3, 1}), f({}), f({2, 1, 5})}},
      {MaskedFill{-kInf}, {f({2, 4, 5}), mask({4, 1})}},
      {MaskedFill{-4, true}, {f({4, 5}), mask({5})}},
      {MaskedFill{1}, {f({}), mask({})}},
      {Softmax{}, {f({3, 17})}},
      {Softmax{0}, {f({5, 3})}},
      {Softmax{1}, {f({2, 5, 3})}},
      {Softmax{-1}, {f({4, 1})}},
      {LayerNorm{}, {f({16})}},
      {LayerNorm{1e-3}, {f({3, 2, 33}), f({33})}},
      {LayerNorm{}, {f({4, 8}), f({8}), f({8})}},
  };
}

std::vector<OpCase> movement_cases() {
  return {
      {Dropout{}, {f({3, 4})}},
      {Reshape{{2, 6}}, {f({3, 4})}},
      {Reshape{{}}, {f({1, 1})}},
      {Unsqueeze{-1}, {f({3, 4})}},
      {Squeeze{1}, {f({3, 1, 4})}},
      {Permute{{1, 0}}, {f({3, 4})}},
      {Permute{{0, 2, 1, 3}}, {f({2, 3, 4, 5})}},
      {Permute{{2, 0, 1}}, {indices({2, 3, 4})}},
      {Permute{{}}, {f({})}},
      {BroadcastTo{{2, 3, 4}}, {f({3, 1})}},
      {BroadcastTo{{2, 2}}, {mask({})}},
      {Slice{1, 1, 6, 2}, {f({3, 7, 2})}},
      {Slice{-1, 0, 3, 1}, {f({3, 7})}},
      {Slice{0, 2, 3, 5}, {indices({3})}},
      {Gather{}, {f({8, 5}), indices({2, 3})}},
      {Gather{}, {f({8}), indices({})}},
      {Gather{}, {mask({9, 2, 2}), indices({4})}},
      {Arange{5, 3, 2}, {}},
      {CausalMask{4, 6, CausalAlignment::top_left}, {}},
      {CausalMask{4, 6, CausalAlignment::bottom_right}, {}},
      {CausalMask{6, 4, CausalAlignment::bottom_right}, {}},
  };
}

std::vector<OpCase> attention_cases() {
  const TensorType q = f({2, 3, 9, 8}), k = f({2, 3, 12, 8}), v = f({2, 3, 12, 5});
  std::vector<OpCase> cases;
  for (Sdpa::ScaleOn scale_on : {Sdpa::ScaleOn::scores, Sdpa::ScaleOn::both}) {
    for (bool upcast : {false, true}) {
      cases.push_back({Sdpa{scale_on, upcast}, {q, k, v}});
      cases.push_back({Sdpa{scale_on, upcast, Sdpa::Mask::causal}, {q, k, v}});
      cases.push_back({Sdpa{scale_on, upcast, Sdpa::Mask::causal, CausalAlignment::bottom_right}, {q, k, v}});
      cases.push_back({Sdpa{scale_on, upcast, Sdpa::Mask::boolean}, {q, k, v, mask({3, 1, 12})}});
      cases.push_back({Sdpa{scale_on, upcast, Sdpa::Mask::additive, CausalAlignment::top_left, 0.5},
                       {q, k, v, f({9, 12})}});
    }
  }
  return cases;
}

std::vector<OpCase> all_cases() {
  std::vector<OpCase> cases;
  for (const auto& family : {product_cases(), pointwise_cases(), movement_cases(), attention_cases()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

std::vector<Tensor> make_data(const OpCase& one, Dtype dtype) {
  std::vector<Tensor> data;
  for (TensorType type : one.inputs) {
    Fill fill = Normal{};
    if (type.dtype == Dtype::boolean)
      fill = Bernoulli{0.6};
    else if (type.dtype == Dtype::i32)
      fill = Tokens{8};
    else
      type.dtype = dtype;
    data.push_back(materialize(fill, type, 7, "input" + std::to_string(data.size()), 0));
  }
  return data;
}

Tensor run_one(const Op& op, const std::vector<Tensor>& data) {
  Types types;
  std::vector<const Tensor*> inputs;
  for (const Tensor& tensor : data) {
    types.push_back(tensor.type);
    inputs.push_back(&tensor);
  }
  const auto outputs = infer(op, types);
  EXPECT_TRUE(outputs.ok()) << to_string(op) << ": " << outputs.problem();
  std::vector<Tensor> results = run_node(op, inputs, *outputs);
  EXPECT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].type, outputs->front());
  return results[0];
}

bool is_exact(OpClass op_class) {
  return op_class == OpClass::movement || op_class == OpClass::select || op_class == OpClass::source;
}

// Relative to 1 or the value: what f32 needs here, and the roundings to the storage dtype (a composite op has
// several).
double allowed_error(const OpCase& one, Dtype dtype) {
  const bool composite = info(one.op).op_class == OpClass::composite;
  return 2e-5 + (is_16_bit(dtype) ? unit_roundoff(dtype) * (composite ? 30 : 1) : 0);
}

void expect_near(const OpCase& one, const Tensor& got, const naive::Values& want) {
  ASSERT_EQ(got.type.shape, want.shape) << to_string(one.op);
  for (int64_t i = 0; i < got.size(); ++i) {
    const double w = want.data[static_cast<size_t>(i)];
    const bool exact = is_exact(info(one.op).op_class) || std::isinf(w);
    const double allowed = exact ? 0 : allowed_error(one, got.type.dtype) * std::max(1.0, std::fabs(w));
    if (got.value(i) == w) continue;
    ASSERT_NEAR(got.value(i), w, allowed)
        << to_string(one.op) << " in " << name(got.type.dtype) << ", element " << i;
  }
}

class EveryDtype : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(RunNode, EveryDtype, testing::ValuesIn(kFloatDtypes),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

TEST_P(EveryDtype, MatchesTheDefinition) {
  for (const OpCase& one : all_cases()) {
    const std::vector<Tensor> data = make_data(one, GetParam());
    const Tensor got = run_one(one.op, data);
    naive::Args args;
    for (const Tensor& tensor : data) args.push_back({tensor.type.shape, to_f64(tensor)});
    expect_near(one, got,
                std::visit([&](const auto& op) { return naive::eval(op, args, got.type.shape); }, one.op));
  }
}

// Inputs are read exactly, all is computed in f32, and the result is rounded once: so a 16-bit op is the f32
// op, rounded.
TEST_P(EveryDtype, RoundsOnce) {
  for (const OpCase& one : all_cases()) {
    if (info(one.op).op_class == OpClass::composite) continue;
    const std::vector<Tensor> data = make_data(one, GetParam());
    std::vector<Tensor> wide;
    for (const Tensor& tensor : data) {
      wide.push_back(is_float(tensor.type.dtype) ? from_f32(to_f32(tensor), {Dtype::f32, tensor.type.shape})
                                                 : tensor);
    }
    const Tensor got = run_one(one.op, data);
    const Tensor want = run_one(one.op, wide);
    EXPECT_EQ(got, is_float(got.type.dtype) ? from_f32(to_f32(want), got.type) : want) << to_string(one.op);
  }
}

TEST(RunNode, CasesCoverEveryOp) {
  const auto cases = all_cases();
  for_each_op([&]<class T>(std::type_identity<T>) {
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                            [](const OpCase& one) { return std::holds_alternative<T>(one.op); }))
        << T::info.name << " has no case";
  });
}

TEST(RunNode, CastOfLargeIntegersRoundsOnce) {
  // 2^24 + 2^16 + 1 lies just above the middle of two bf16 neighbours; by way of f32 it would fall on it,
  // then to even.
  Tensor x({Dtype::i32, {2}});
  x.set(0, (1 << 24) + (1 << 16) + 1);
  x.set(1, (1 << 24) + (1 << 16));
  const Tensor y = run_one(Cast{Dtype::bf16}, {x});
  EXPECT_EQ(y.value(0), (1 << 24) + (1 << 17));
  EXPECT_EQ(y.value(1), 1 << 24);
}

TEST(RunNode, ReluKeepsNanAndDropsNegatives) {
  Tensor x({Dtype::bf16, {4}});
  const double values[] = {std::nan(""), -kInf, kInf, -1};
  for (int64_t i = 0; i < 4; ++i) x.set(i, values[i]);
  const Tensor y = run_one(Relu{}, {x});
  EXPECT_TRUE(std::isnan(y.value(0)));
  EXPECT_EQ(y.value(1), 0);
  EXPECT_EQ(y.value(2), kInf);
  EXPECT_EQ(y.value(3), 0);
}

TEST(RunNode, MovementKeepsBits) {
  Tensor x({Dtype::f32, {2, 2}});
  const uint32_t bits[] = {0x7fa00001, 0xffc12345, 0x80000000,
                           0x00000001};  // a signaling NaN, a NaN, -0, a subnormal
  std::memcpy(x.bytes.data(), bits, sizeof bits);
  const Tensor y = run_one(Permute{{1, 0}}, {run_one(Permute{{1, 0}}, {x})});
  EXPECT_EQ(x.bytes, y.bytes);
}

}  // namespace
}  // namespace fusesmith
