// States whose next values are no updates: another state, an input, themselves, an output, one value for two.
#include <gtest/gtest.h>

#include "fuzz/run/backends.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {
namespace {

class States : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const Backend* backend = find_backend(GetParam());
    if (!backend) GTEST_SKIP() << GetParam() << " is not in this build";
    if (const auto why = backend->unavailable()) GTEST_SKIP() << *why;
  }

  // The values of the states after so many steps, as one number each: all are constants.
  static std::vector<double> after(const Case& test_case, int64_t steps) {
    Case shorter = test_case;
    shorter.steps = steps;
    const auto states = final_states(shorter, *find_backend(GetParam()));
    EXPECT_TRUE(states.ok()) << states.problem();
    std::vector<double> values;
    for (const TensorPtr& state : *states) values.push_back(state->value(0));
    return values;
  }
};

TEST_P(States, TakeWhateverTheGraphNames) {
  Builder b;
  const TensorType type{Dtype::f32, {3, 5}};
  const ValueId x = b.input("x", type, Constant{7});
  const ValueId left = b.state("left", type, Constant{1}), right = b.state("right", type, Constant{2});
  const ValueId kept = b.state("kept", type, Constant{3}), fed = b.state("fed", type, Constant{4});
  const ValueId sum = b.state("sum", type, Constant{5}), twin = b.state("twin", type, Constant{6});
  const ValueId next = b.node(Add{}, {sum, fed});
  b.output(next);
  b.output(b.node(Sub{}, {twin, kept}));
  const ValueId nexts[] = {right, left, kept, x, next, next};
  for (int s = 0; s < 6; ++s) b.next_state(s, nexts[s]);
  auto graph = b.build();
  ASSERT_TRUE(graph.ok()) << graph.problem();
  const Case test_case{1, 1, {}, *graph, {}, {}};
  EXPECT_EQ(after(test_case, 1), (std::vector<double>{2, 1, 3, 7, 9, 9}));
  EXPECT_EQ(after(test_case, 2), (std::vector<double>{1, 2, 3, 7, 16, 16}));
  EXPECT_EQ(after(test_case, 5), (std::vector<double>{2, 1, 3, 7, 37, 37}));
}

// Rows 1, 2, 3, ... enter a cache of three; what leaves it is read from its old value.
TEST_P(States, AnUpdateInPlaceFollowsItsReaders) {
  Builder b;
  const TensorType type{Dtype::bf16, {3, 4}}, one_row{Dtype::bf16, {1, 4}};
  const ValueId row = b.input("row", one_row, Constant{1});
  const ValueId cache = b.state("cache", type, Constant{0}),
                oldest = b.state("oldest", one_row, Constant{-1});
  const ValueId next = b.node(
      Concat{0}, {b.node(Slice{0, 1, 3}, {cache}), b.node(Add{}, {row, b.node(Slice{0, 2, 3}, {cache})})});
  const ValueId first = b.node(Slice{0, 0, 1}, {cache});
  b.output(b.node(Mul{}, {first, oldest}));
  b.next_state(0, next);
  b.next_state(1, first);
  auto graph = b.build();
  ASSERT_TRUE(graph.ok()) << graph.problem();
  const Case test_case{1, 1, {}, *graph, {}, {}};
  EXPECT_EQ(after(test_case, 1), (std::vector<double>{0, 0}));
  EXPECT_EQ(after(test_case, 3), (std::vector<double>{1, 0}));
  EXPECT_EQ(after(test_case, 5), (std::vector<double>{3, 2}));
}

// For a trace whose old state was overwritten: the region that computes the next value of the state is named,
// else the first reader.
TEST(OverwrittenSource, NamesTheRegionThatCarriesTheStateOn) {
  Builder b;
  const TensorType type{Dtype::f32, {2, 3}};
  const ValueId x = b.input("x", type, Constant{1}), h = b.state("h", type, Constant{2});
  const ValueId seen = b.node(Sub{}, {x, h}), next = b.node(Add{}, {x, h});
  b.output(seen);
  b.next_state(0, next);
  auto graph = b.build();
  ASSERT_TRUE(graph.ok()) << graph.problem();
  const auto program = std::move(*find_backend("cpu")->compile(*graph, {}));
  const auto tensor = [&](double value) {
    return std::make_shared<const Tensor>(materialize(Constant{value}, type, 0, "", 0));
  };
  const std::vector<TensorPtr> given = {tensor(1), tensor(2)};
  Trace trace = program->run(given);
  EXPECT_FALSE(overwritten_source(*graph, program->plan(), given, trace));
  trace.values[static_cast<size_t>(h)] = tensor(3);
  auto found = overwritten_source(*graph, program->plan(), given, trace);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, Disagreement::Kind::source);
  EXPECT_EQ(found->region, 1U);
  EXPECT_EQ(found->value, h);
  EXPECT_EQ(found->first, 2);
  EXPECT_EQ(found->second, 3);
  trace.values[static_cast<size_t>(h)] = given[1];
  trace.values[static_cast<size_t>(x)] = tensor(4);
  found = overwritten_source(*graph, program->plan(), given, trace);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->region, 0U);
}

INSTANTIATE_TEST_SUITE_P(Backends, States, testing::Values("cpu", "cpu_fused", "cuda", "cuda_fused"));

}  // namespace
}  // namespace fusesmith::fuzz
