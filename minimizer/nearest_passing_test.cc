#include "minimizer/nearest_passing.h"

#include <gtest/gtest.h>

#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

// Bottom-right causal masks of more than 16 keys fail.
std::optional<Probe> aligned_bug(const Case& test_case) {
  const Node* mask = first_node<CausalMask>(test_case.graph);
  if (mask == nullptr) return std::nullopt;
  const auto& op = std::get<CausalMask>(mask->op);
  if (op.alignment != CausalAlignment::bottom_right || op.cols <= 16) return std::nullopt;
  return Probe{"aligned", {}, {}};
}

Case masked() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {3, 17}}, Normal{});
  const ValueId mask = b.node(CausalMask{3, 17, CausalAlignment::bottom_right}, {}, "mask");
  b.output(b.node(MaskedFill{}, {x, mask}, "y"));
  return case_of(b);
}

TEST(NearestPassing, NamesTheDimensionAndTheAttributeThatMatter) {
  std::vector<std::string> passing, still_failing;
  for (const Sibling& sibling : nearest_passing(masked(), aligned_bug)) {
    (sibling.passes ? passing : still_failing).push_back(sibling.text);
  }
  const CausalMask top_left{3, 17, CausalAlignment::top_left};
  EXPECT_EQ(passing, (std::vector<std::string>{"resize x axis 1 to 16",
                                               "make mask " + to_string(Op(top_left)) + " of 0 operands"}));
  EXPECT_EQ(still_failing,
            (std::vector<std::string>{"resize x axis 0 to 2", "resize x axis 0 to 4", "resize x axis 1 to 18",
                                      "make y masked_fill(value=0, inverted=true) of 2 operands"}));
}

TEST(NearestPassing, RespectsMaxQueries) {
  int calls = 0;
  const Predicate counted = [&](const Case& test_case) {
    ++calls;
    return aligned_bug(test_case);
  };
  EXPECT_EQ(nearest_passing(masked(), counted, 3).size(), 3u);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace fusesmith::minimizer
