// Runs of a program whose order of sums varies.
#include <gtest/gtest.h>

#include "oracle/judge.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

// Sums of rows that a kernel adds in another order each time: every run is held to the bounds.
class OrderVaries : public ::testing::Test {
 protected:
  explicit OrderVaries(bool whole_numbers = false) {
    Builder b;
    const TensorType type{Dtype::f32, {8, 300}};
    const ValueId x = b.input("x", type, Normal{});
    b.output(b.node(Sigmoid{}, {b.node(ReduceSum{{1}, false}, {x}, "sum")}, "gate"));
    test_case_.graph = *b.build();
    Rng rng(3);
    const Tensor data = make_tensor(
        type, [&](int64_t) { return whole_numbers ? std::round(4 * rng.normal()) : rng.normal(); });
    plan_.regions = {make_region(test_case_.graph, {0}), make_region(test_case_.graph, {1})};
    plan_.regions[0].order_varies = true;
    std::vector<float> sums, gates;
    const std::vector<float> x_values = to_f32(data);
    for (size_t row = 0; row < 8; ++row) {
      float sum = 0;
      for (size_t k = 0; k < 300; ++k) sum += x_values[row * 300 + k];
      sums.push_back(sum);
      gates.push_back(1 / (1 + std::exp(-sum)));
    }
    first_.values = {std::make_shared<Tensor>(data),
                     std::make_shared<Tensor>(from_f32(sums, {Dtype::f32, {8}})),
                     std::make_shared<Tensor>(from_f32(gates, {Dtype::f32, {8}}))};
  }
  // Another run, whose sum of row 5 is larger by `change` parts, and which computes the gate from it.
  Trace other(double change) const {
    Trace trace = first_;
    auto sums = std::make_shared<Tensor>(*first_.values[1]),
         gates = std::make_shared<Tensor>(*first_.values[2]);
    sums->set(5, sums->value(5) * (1 + change));
    gates->set(5, 1 / (1 + std::exp(-sums->value(5))));
    trace.values[1] = sums;
    trace.values[2] = gates;
    return trace;
  }
  Verdict judged(const Trace& other) const {
    const std::vector<Trace> others = {other};
    Execution candidate{"foreign", &plan_, &first_};
    candidate.other_runs = others;
    return judge(test_case_, {"cpu", &plan_, &first_}, candidate);
  }

  Case test_case_;
  Plan plan_;
  Trace first_;
};

class OrderVariesOfWholeNumbers : public OrderVaries {
 protected:
  OrderVariesOfWholeNumbers() : OrderVaries(true) {}
};

TEST_F(OrderVaries, RunsWithinTheirBoundsAreNoFinding) {
  const Trace lawful = other(0x1p-22);
  EXPECT_FALSE(first_difference(Disagreement::Kind::repeat, plan_, first_, lawful));
  EXPECT_TRUE(differs(plan_.regions[0], first_, lawful));
  EXPECT_FALSE(judged(lawful).finding);
  const Verdict wrong = judged(other(0x1p-10));
  EXPECT_TRUE(wrong.finding);
  EXPECT_EQ(wrong.signature_text(), "defect-foreign-reduce_sum-f32-out_of_bounds");
  ASSERT_TRUE(wrong.failing_region);
  EXPECT_TRUE(wrong.failing()->other_run);
  EXPECT_EQ(wrong.failing()->worst.element, 5);
}

TEST_F(OrderVaries, ARegionThatReadsTheSameBitsGivesTheSame) {
  Trace again = first_;
  auto gate = std::make_shared<Tensor>(*first_.values[2]);
  gate->set(2, gate->value(2) * (1 + 0x1p-22));
  again.values[2] = gate;
  const auto found = first_difference(Disagreement::Kind::repeat, plan_, first_, again);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->region, 1u);
  EXPECT_TRUE(first_difference(Disagreement::Kind::scaling, plan_, first_, other(0x1p-22)))
      << "other looks at a run compare as before";
}

// Every order gives the same sum: another run that differs is a race, whatever the contract says.
TEST_F(OrderVariesOfWholeNumbers, RunsAgree) {
  const Verdict verdict = judged(other(0x1p-22));
  EXPECT_TRUE(verdict.finding);
  EXPECT_EQ(verdict.failing()->op, "reduce_sum");
}

}  // namespace
}  // namespace fusesmith::oracle
