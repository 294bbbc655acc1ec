// Exact data: for every op the reference proves e = 0 on it, whatever the contract's arithmetic; and what it
// proves is what every order of computing gives.
#include <gtest/gtest.h>

#include "graph/case.h"
#include "graph/op_tests/op_tests.h"
#include "oracle/evaluate.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;
using op_tests::ExactCase, op_tests::exact_cases, op_tests::exact_graph;

std::vector<RegionOutput> evaluate_alone(const Graph& graph, const Arithmetic& arithmetic) {
  Case test_case;
  test_case.seed = 3;
  test_case.graph = graph;
  Trace trace;
  for (Tensor& tensor : make_inputs(test_case))
    trace.values.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  Region region = make_region(graph, {0});
  region.contract.arithmetic = arithmetic;
  return evaluate(graph, region, trace, {});
}

std::vector<std::pair<const char*, Arithmetic>> arithmetics() {
  Arithmetic rough, tf32, welford;
  rough.exp = rough.erf = rough.tanh = rough.log = rough.rsqrt = 64;
  tf32.tf32 = true;
  welford.variance = Arithmetic::Variance::welford;
  return {{"default", {}}, {"rough functions", rough}, {"tf32", tf32}, {"welford", welford}};
}

TEST(ExactData, ReferenceProvesIt) {
  for (const ExactCase& one : exact_cases()) {
    for (const auto& [label, arithmetic] : arithmetics()) {
      // Operands of natural data may lose bits in tf32.
      if (arithmetic.tf32 && info(one.op).op_class == OpClass::composite) continue;
      if (arithmetic.tf32 && std::holds_alternative<Matmul>(one.op)) continue;
      if (arithmetic.variance == Arithmetic::Variance::welford && one.two_pass) continue;
      for (Dtype dtype : kFloatDtypes) {
        SCOPED_TRACE(to_string(one.op) + " in " + std::string(name(dtype)) + ", " + label);
        const auto graph = exact_graph(one, dtype);
        ASSERT_TRUE(graph.ok()) << graph.problem();
        for (const RegionOutput& output : evaluate_alone(*graph, arithmetic)) {
          int64_t inexact = 0;
          for (size_t i = 0; i < output.bounded->v.size(); ++i) {
            // A bias that cancels some of the product leaves what a kernel in f64 keeps of eps: less than
            // 2^-25 of products that are at most 4 here.
            const bool is_norm = info(one.op).op_class == OpClass::reduction && graph->source_count() == 3;
            const double error = output.bounded->error(i);
            inexact += is_norm ? error > 4 * 0x1p-25 : error != 0;
            EXPECT_TRUE(std::isfinite(output.bounded->v[i]));
          }
          EXPECT_EQ(inexact, 0) << "of " << output.bounded->v.size();
        }
      }
    }
  }
}

// mean +- each of these, whose squares have the sum 8 * 256.
constexpr double kSpread[] = {24, 24, 24, 16, 8, 0, 0, 0};

std::vector<double> spread_row(double mean, Rng& rng) {
  std::vector<double> row;
  for (const double m : kSpread) row.insert(row.end(), {mean + m, mean - m});
  for (size_t i = row.size(); i-- > 1;)
    std::swap(row[i], row[static_cast<size_t>(rng.below(static_cast<int64_t>(i) + 1))]);
  return row;
}

TEST(ExactData, NormsOfSpreadRowsAreTheSameInEveryOrder) {
  Rng rng(1);
  const std::vector<double> row = spread_row(5, rng);
  const auto x = [&](size_t i) { return static_cast<float>(row[i]); };
  const Bounded y = evaluate_op(LayerNorm{}, {Bounded(make_tensor({Dtype::f32, {16}}, row))});
  const auto statistics = evaluate_outputs(VarMean{{0}, 0}, {Bounded(make_tensor({Dtype::f32, {16}}, row))});
  EXPECT_TRUE(statistics[0].v[0] == 256 && statistics[0].error(0) == 0);
  EXPECT_TRUE(statistics[1].v[0] == 5 && statistics[1].error(0) == 0);
  for (const Visit visit : kVisits) {
    for (const Join join : kJoins) {
      const float mean = sum_in_order(16, visit, join, x) / 16;
      const float squares =
          sum_in_order(16, visit, join, [&](size_t i) { return (x(i) - mean) * (x(i) - mean); });
      const float total = squares / 16 + 1e-5f, r = 1 / std::sqrt(total);
      for (size_t i = 0; i < 16; ++i) {
        EXPECT_EQ(y.error(i), 0);
        EXPECT_EQ(static_cast<double>((x(i) - mean) * r), y.v[i]);
        EXPECT_EQ(static_cast<double>((x(i) - mean) / std::sqrt(total)), y.v[i]);
      }
    }
  }
}

// Where executions can differ, the reference must not say otherwise: these have a bound again.
TEST(ExactData, EndsWhereRoundingsBegin) {
  Rng rng(2);
  const auto exact = [](const Op& op, const std::vector<double>& row) {
    const auto n = static_cast<int64_t>(row.size());
    const Bounded y = evaluate_outputs(op, {Bounded(make_tensor({Dtype::f32, {n}}, row))})[0];
    return std::all_of(y.e.begin(), y.e.end(), [](double e) { return e == 0; });
  };
  std::vector<double> row = spread_row(5, rng);
  EXPECT_TRUE(exact(LayerNorm{}, row));
  EXPECT_FALSE(exact(LayerNorm{1e-3}, row)) << "eps changes the variance";
  row[0] += 1;
  EXPECT_FALSE(exact(LayerNorm{}, row)) << "a root that is no power of two";
  EXPECT_FALSE(exact(RmsNorm{}, {3, 4, 5, 6}));
  EXPECT_TRUE(exact(RmsNorm{}, {16, -16, 16, 16}));
  EXPECT_FALSE(exact(RmsNorm{}, {16, -16, 16})) << "a mean of three";
  EXPECT_FALSE(exact(RmsNorm{0.125}, {16, -16, 16, 16}));
  EXPECT_FALSE(exact(Rsqrt{}, {2}));
  EXPECT_FALSE(exact(Rsqrt{}, {0x1p-140})) << "may be flushed";
  for (const Op& op : {Op(Sigmoid{}), Op(Silu{}), Op(Tanh{}), Op(Gelu{})})
    EXPECT_FALSE(exact(op, {20})) << to_string(op);
  EXPECT_FALSE(exact(VarMean{{0}, 1}, {1, 2, 4, 9})) << "divided by three";
  const auto product = [](std::vector<double> a, std::vector<double> b) {
    const auto n = static_cast<int64_t>(a.size());
    const Bounded y = evaluate_op(Einsum{"i,i->"}, {Bounded(make_tensor({Dtype::f32, {n}}, a)),
                                                    Bounded(make_tensor({Dtype::f32, {n}}, b))});
    return y.error(0) == 0;
  };
  EXPECT_TRUE(product({0, 1, 0}, {0.1, 0.3, 0.7}));
  EXPECT_FALSE(product({0, 1, 1}, {0.1, 0.3, 0x1.123456p-40}));
  EXPECT_FALSE(product({0, 0.1, 0}, {1, 0.3, 1})) << "the term itself rounds";
}

}  // namespace
}  // namespace fusesmith::oracle
