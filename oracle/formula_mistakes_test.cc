// Mistakes planted in the ops that formulas define: each is computed in f64 from a wrong formula, so that
// nothing but the mistake separates the result from the right one, and rounded to the dtype.
#include <gtest/gtest.h>

#include "graph/op_tests/op_tests.h"
#include "oracle/judge.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using graph::DefinedOp;
using graph::Var;
using graph::Vars;
using graph::op_tests::Args;
using testing_support::Rng;

struct Mistake {
  std::string what;
  graph::Define define;  // in terms of the op's operands
};

// What `define` gives of these operands in f64, rounded to their dtype.
template <DefinedOp T>
std::vector<Tensor> computed(const graph::Define& define, const std::vector<Tensor>& operands) {
  Types types;
  Args values;
  for (const Tensor& operand : operands) {
    types.push_back({Dtype::f32, operand.type.shape});
    values.push_back({operand.type.shape, {}});
    for (int64_t i = 0; i < operand.size(); ++i) values.back().data.push_back(operand.value(i));
  }
  const Graph formula = *graph::formula_graph(T::operands, types, define);
  const Args all = graph::op_tests::eval_graph(formula, values);
  std::vector<Tensor> outputs;
  for (const ValueId v : formula.outputs())
    outputs.push_back(testing_support::make_tensor({operands[0].type.dtype, formula.type(v).shape},
                                                   all[static_cast<size_t>(v)].data));
  return outputs;
}

// The verdict on an execution of the op, on normal data [12, 40], that computes this instead.
// If it is code of others, no known arithmetic may excuse it.
template <DefinedOp T>
VerdictClass verdict_on(const T& op, Dtype dtype, const graph::Define& define, bool foreign) {
  graph::Builder b;
  Rng random(7);
  std::vector<ValueId> inputs;
  std::vector<Tensor> operands;
  for (const graph::Operand& operand : T::operands) {
    const TensorType type = graph::operand_type(operand, {dtype, {12, 40}});
    inputs.push_back(b.input(std::string(operand.name), type, graph::Normal{}));
    operands.push_back(testing_support::make_tensor(type, [&](int64_t) { return random.normal(); }));
  }
  const ValueId first = b.node(op, inputs, "result");
  for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
  const Graph graph = *b.build();
  Plan plan;
  plan.regions = {make_region(graph, {0})};
  Trace trace;
  for (const Tensor& operand : operands) trace.values.push_back(std::make_shared<Tensor>(operand));
  for (const Tensor& output : computed<T>(define, operands))
    trace.values.push_back(std::make_shared<Tensor>(output));
  return judge_backend(graph, {"candidate", &plan, &trace, {}, kInfinity, foreign}).verdict;
}

template <DefinedOp T>
void expect_found(const T& op, const std::vector<Mistake>& mistakes) {
  EXPECT_EQ(mistakes.size(), 6u);
  for (const Dtype dtype : graph::kFloatDtypes) {
    const auto right = [&](const Vars& in) { return op.define(in); };
    EXPECT_EQ(verdict_on(op, dtype, right, true), VerdictClass::reassociation)
        << T::info.name << ", " << graph::name(dtype);
    for (const Mistake& mistake : mistakes) {
      for (const bool foreign : {false, true}) {
        EXPECT_EQ(verdict_on(op, dtype, mistake.define, foreign), VerdictClass::defect)
            << T::info.name << ", " << graph::name(dtype) << ": " << mistake.what;
      }
    }
  }
}

Var logistic_part(Var x, double limit) {
  const Var w = exp(minimum(x, limit));
  return w * (w + 2);
}

TEST(FormulaMistakes, OfMishAreFound) {
  expect_found(graph::Mish{}, {{"silu instead", [](const Vars& in) { return Vars{in[0] * sigmoid(in[0])}; }},
                               {"without the factor x",
                                [](const Vars& in) {
                                  const Var n = logistic_part(in[0], 20);
                                  return Vars{n / (n + 2)};
                                }},
                               {"n + 1 for n + 2",
                                [](const Vars& in) {
                                  const Var n = logistic_part(in[0], 20);
                                  return Vars{in[0] * (n / (n + 1))};
                                }},
                               {"w + 1 for w + 2",
                                [](const Vars& in) {
                                  const Var w = exp(in[0]), n = w * (w + 1);
                                  return Vars{in[0] * (n / (n + 2))};
                                }},
                               {"linear from 1 on",
                                [](const Vars& in) {
                                  const Var n = logistic_part(in[0], 1);
                                  return Vars{in[0] * (n / (n + 2))};
                                }},
                               {"exp by base 2", [](const Vars& in) {
                                  const Var n = logistic_part(in[0] * 0.6931, 20);
                                  return Vars{in[0] * (n / (n + 2))};
                                }}});
}

TEST(FormulaMistakes, OfSiluBackwardAreFound) {
  using V = const Vars&;
  expect_found(
      graph::SiluBackward{},
      {{"without dy", [](V in) { return Vars{sigmoid(in[1]) * (1 + in[1] * (1 - sigmoid(in[1])))}; }},
       {"the derivative of sigmoid",
        [](V in) { return Vars{in[0] * sigmoid(in[1]) * (1 - sigmoid(in[1]))}; }},
       {"x s for x (1 - s)",
        [](V in) { return Vars{in[0] * sigmoid(in[1]) * (1 + in[1] * sigmoid(in[1]))}; }},
       {"a sign", [](V in) { return Vars{in[0] * sigmoid(in[1]) * (1 - in[1] * (1 - sigmoid(in[1])))}; }},
       {"the first term alone", [](V in) { return Vars{in[0] * sigmoid(in[1])}; }},
       {"operands exchanged",
        [](V in) { return Vars{in[1] * sigmoid(in[0]) * (1 + in[0] * (1 - sigmoid(in[0])))}; }}});
}

TEST(FormulaMistakes, OfSoftmaxBackwardAreFound) {
  using V = const Vars&;
  expect_found(
      graph::SoftmaxBackward{},
      {{"the other axis", [](V in) { return Vars{in[1] * (in[0] - sum(in[0] * in[1], 0))}; }},
       {"a mean", [](V in) { return Vars{in[1] * (in[0] - mean(in[0] * in[1], -1))}; }},
       {"the sum of dy", [](V in) { return Vars{in[1] * (in[0] - sum(in[0], -1))}; }},
       {"a sign", [](V in) { return Vars{in[1] * (in[0] + sum(in[0] * in[1], -1))}; }},
       {"no sum", [](V in) { return Vars{in[1] * in[0]}; }},
       {"the sum without its factor", [](V in) { return Vars{in[1] * in[0] - sum(in[0] * in[1], -1)}; }}});
}

TEST(FormulaMistakes, OfSigmoidBackwardAreFound) {
  using V = const Vars&;
  expect_found(graph::SigmoidBackward{},
               {{"the gradient of tanh", [](V in) { return Vars{in[0] * (1 - in[1] * in[1])}; }},
                {"of x for y", [](V in) { return Vars{in[0] * sigmoid(in[1]) * (1 - sigmoid(in[1]))}; }},
                {"a sign", [](V in) { return Vars{in[0] * (1 + in[1]) * in[1]}; }},
                {"without y", [](V in) { return Vars{in[0] * (1 - in[1])}; }},
                {"without dy", [](V in) { return Vars{(1 - in[1]) * in[1]}; }},
                {"operands exchanged", [](V in) { return Vars{in[1] * (1 - in[0]) * in[0]}; }}});
}

TEST(FormulaMistakes, OfTanhBackwardAreFound) {
  using V = const Vars&;
  expect_found(graph::TanhBackward{},
               {{"the gradient of sigmoid", [](V in) { return Vars{in[0] * (1 - in[1]) * in[1]}; }},
                {"of x for y", [](V in) { return Vars{in[0] * (1 - tanh(in[1]) * tanh(in[1]))}; }},
                {"a sign", [](V in) { return Vars{in[0] * (1 + in[1] * in[1])}; }},
                {"y for its square", [](V in) { return Vars{in[0] * (1 - in[1])}; }},
                {"without dy", [](V in) { return Vars{1 - in[1] * in[1]}; }},
                {"operands exchanged", [](V in) { return Vars{in[1] * (1 - in[0] * in[0])}; }}});
}

// The parts of the form erf, and what a mistake changes in them.
struct GeluParts {
  double root = 0.70710678118654752, density = 0.39894228040143268, exponent = -0.5;
  bool has_density = true, multiplies_x = true, has_dy = true;

  Vars operator()(const Vars& in) const {
    const Var dy = in[0], x = in[1], share = (1 + erf(x * root)) * 0.5;
    const Var bell = exp(x * x * exponent) * density, rest = multiplies_x ? x * bell : bell;
    const Var slope = has_density ? share + rest : share;
    return {has_dy ? dy * slope : slope};
  }
};

TEST(FormulaMistakes, OfGeluBackwardAreFound) {
  expect_found(graph::GeluBackward{}, {{"erf of x", GeluParts{.root = 1}},
                                       {"density of erf", GeluParts{.density = 1.1283791670955126}},
                                       {"exp(-x^2)", GeluParts{.exponent = -1}},
                                       {"no density", GeluParts{.has_density = false}},
                                       {"the density without x", GeluParts{.multiplies_x = false}},
                                       {"without dy", GeluParts{.has_dy = false}}});
}

TEST(FormulaMistakes, OfLogSoftmaxAreFound) {
  using V = const Vars&;
  const auto shifted = [](V in) { return in[0] - largest(in[0], -1); };
  expect_found(graph::LogSoftmax{},
               {{"the other axis", [](V in) { return Vars{in[0] - log(sum(exp(in[0]), 0))}; }},
                {"a mean", [=](V in) { return Vars{shifted(in) - log(mean(exp(shifted(in)), -1))}; }},
                {"no logarithm", [=](V in) { return Vars{shifted(in) - sum(exp(shifted(in)), -1)}; }},
                {"a sign", [=](V in) { return Vars{shifted(in) + log(sum(exp(shifted(in)), -1))}; }},
                {"no shift of x", [=](V in) { return Vars{in[0] - log(sum(exp(shifted(in)), -1))}; }},
                {"the softmax", [=](V in) { return Vars{exp(shifted(in)) / sum(exp(shifted(in)), -1)}; }}});
}

TEST(FormulaMistakes, OfLogSoftmaxBackwardAreFound) {
  using V = const Vars&;
  expect_found(graph::LogSoftmaxBackward{},
               {{"the other axis", [](V in) { return Vars{in[0] - exp(in[1]) * sum(in[0], 0)}; }},
                {"a mean", [](V in) { return Vars{in[0] - exp(in[1]) * mean(in[0], -1)}; }},
                {"the sum of dy y", [](V in) { return Vars{in[0] - exp(in[1]) * sum(in[0] * in[1], -1)}; }},
                {"a sign", [](V in) { return Vars{in[0] + exp(in[1]) * sum(in[0], -1)}; }},
                {"no sum", [](V in) { return Vars{in[0] - exp(in[1]) * in[0]}; }},
                {"y for its exponential", [](V in) { return Vars{in[0] - in[1] * sum(in[0], -1)}; }}});
}

TEST(FormulaMistakes, OfHardswishAreFound) {
  using V = const Vars&;
  expect_found(
      graph::Hardswish{},
      {{"without the factor x", [](V in) { return Vars{minimum(maximum(in[0] + 3, 0), 6) / 6}; }},
       {"x + 2 for x + 3", [](V in) { return Vars{in[0] * minimum(maximum(in[0] + 2, 0), 6) / 6}; }},
       {"the maximum with 1", [](V in) { return Vars{in[0] * minimum(maximum(in[0] + 3, 1), 6) / 6}; }},
       {"the minimum with 5", [](V in) { return Vars{in[0] * minimum(maximum(in[0] + 3, 0), 5) / 6}; }},
       {"without the quotient", [](V in) { return Vars{in[0] * minimum(maximum(in[0] + 3, 0), 6)}; }},
       {"hard_sigmoid with slope 0.2",
        [](V in) { return Vars{in[0] * minimum(maximum(in[0] * 0.2 + 0.5, 0), 1)}; }}});
}

// The parts of the right formula, and what a mistake changes in them.
struct NormParts {
  double variance_factor = 1;
  bool subtracts_mean = true, subtracts_projection = true, scales = true;
  bool normalised_weight_gradient = true, weighted_bias_gradient = false;

  Vars operator()(const Vars& in) const {
    const Var dy = in[0], x = in[1], weight = in[2], centred = x - mean(x, -1);
    const Var r = rsqrt(mean(centred * centred, -1) * variance_factor + 1e-5), h = centred * r;
    const Var g = dy * weight;
    Var dx = subtracts_mean ? g - mean(g, -1) : g;
    if (subtracts_projection) dx = dx - h * mean(g * h, -1);
    return {scales ? r * dx : dx, sum_of_rows(dy * (normalised_weight_gradient ? h : centred)),
            sum_of_rows(weighted_bias_gradient ? g : dy)};
  }
};

TEST(FormulaMistakes, OfLayerNormBackwardAreFound) {
  expect_found(graph::LayerNormBackward{},
               {{"the unbiased variance", NormParts{.variance_factor = 40.0 / 39}},
                {"no mean of g", NormParts{.subtracts_mean = false}},
                {"no projection", NormParts{.subtracts_projection = false}},
                {"without r", NormParts{.scales = false}},
                {"the weight's gradient from centred values", NormParts{.normalised_weight_gradient = false}},
                {"the bias's gradient from weighted values", NormParts{.weighted_bias_gradient = true}}});
}

}  // namespace
}  // namespace fusesmith::oracle
