// Names every op without test data. (Without an `eval`, the tests that call it do not compile.)
#include "graph/op_tests/op_tests.h"

#include <gtest/gtest.h>

#include <set>

namespace fusesmith::graph::op_tests {
namespace {

template <class Case>
std::set<std::string_view> ops_of(const std::vector<Case>& cases) {
  std::set<std::string_view> names;
  for (const Case& one : cases) names.insert(name(one.op));
  return names;
}

TEST(OpTests, CoverEveryOp) {
  const auto cases = ops_of(op_cases()), exact = ops_of(exact_cases()),
             special = ops_of(special_cases(Dtype::f32));
  for_each_op([&]<class T>(std::type_identity<T>) {
    EXPECT_TRUE(cases.count(T::info.name)) << T::info.name << " has no case";
    if constexpr (DefinedOp<T>) return;
    EXPECT_TRUE(exact.count(T::info.name)) << T::info.name << " has no exact case";
    EXPECT_TRUE(special.count(T::info.name) || T::info.op_class == OpClass::source)
        << T::info.name << " has no special case";
  });
}

TEST(OpTests, CasesAreValid) {
  for (const OpCase& one : op_cases()) {
    const auto types = infer(one.op, one.inputs);
    ASSERT_TRUE(types) << to_string(one.op) << ": " << types.problem();
    const bool several =
        std::visit([]<class T>(const T&) { return T::outputs == OutputCount::several; }, one.op);
    EXPECT_TRUE(several || types->size() == 1) << to_string(one.op) << " declares one output";
  }
}

}  // namespace
}  // namespace fusesmith::graph::op_tests
