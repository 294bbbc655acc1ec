// Laws of every reduction: proposals of any of them, on any case, give a valid case or nothing, and leave
// alone what they do not name.
#include "minimizer/reductions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/philox.h"
#include "minimizer/measure.h"
#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

Probe probe_of(const Case& test_case, bool with_bits = true) {
  Probe probe{"signature", {}, {static_cast<int>(test_case.graph.nodes().size() / 2)}};
  if (with_bits) probe.values = some_bits(test_case.graph);
  return probe;
}

std::vector<Edits> propose(const Reduction& reduction, const Case& test_case, const Probe& probe) {
  return reduction.propose({test_case, probe});
}

const Reduction& reduction_called(std::string_view name) {
  const auto all = all_reductions();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Reduction& r) { return r.name == name; });
  check(at != all.end(), "no such reduction");
  return *at;
}

// Whether an edit may change the type, data or attributes of values that it does not name, or their names.
bool reaches_far(const Edit& edit) {
  return std::holds_alternative<Resize>(edit) || std::holds_alternative<ChangeDtype>(edit) ||
         std::holds_alternative<Rename>(edit);
}

// The inputs and states whose data or layout an edit names.
std::set<std::string> sources_of(const Edits& edits) {
  std::set<std::string> names;
  for (const Edit& edit : edits) {
    if (const auto* fill = std::get_if<SetFill>(&edit)) names.insert(fill->source);
    if (const auto* zero = std::get_if<ZeroElements>(&edit)) names.insert(zero->source);
    if (const auto* layout = std::get_if<SetLayout>(&edit)) names.insert(layout->source);
  }
  return names;
}

void expect_law(const Case& before, const Case& after, const Edits& edits) {
  const auto again = parse_case(to_json(after));
  ASSERT_TRUE(again.ok()) << again.problem();
  EXPECT_EQ(*again, after);
  if (std::any_of(edits.begin(), edits.end(), reaches_far)) return;
  const std::set<std::string> named = sources_of(edits);
  for (const Input& input : after.graph.inputs()) {
    const auto old = before.graph.find(input.name);
    ASSERT_TRUE(old.has_value()) << input.name;
    if (!before.graph.is_input(*old) || named.count(input.name) > 0) continue;
    EXPECT_EQ(input, before.graph.inputs()[static_cast<size_t>(*old)]);
  }
  for (const Node& node : after.graph.nodes())
    EXPECT_TRUE(before.graph.find(node.name).has_value()) << node.name;
}

TEST(Reductions, EveryProposalGivesAValidCaseOrNothing) {
  for (const Case& test_case : sample_cases()) {
    for (const bool with_bits : {true, false}) {
      const Probe probe = probe_of(test_case, with_bits);
      for (const Reduction& reduction : all_reductions()) {
        const auto proposals = propose(reduction, test_case, probe);
        for (size_t i = 0; i < proposals.size(); i += 1 + proposals.size() / 40) {
          SCOPED_TRACE(std::string(reduction.name) + ": " + to_string(proposals[i]));
          EXPECT_FALSE(proposals[i].empty());
          if (const auto after = apply_edits(test_case, proposals[i]))
            expect_law(test_case, *after, proposals[i]);
        }
      }
    }
  }
}

TEST(Reductions, EachMakesSomeCaseSmaller) {
  std::vector<Case> cases = sample_cases();
  cases[0].policy.tf32 = true;
  for (const Reduction& reduction : all_reductions()) {
    int smaller = 0;
    for (const Case& test_case : cases) {
      for (const Edits& edits : propose(reduction, test_case, probe_of(test_case))) {
        const auto after = apply_edits(test_case, edits);
        smaller += after && measure(*after) < measure(test_case) ? 1 : 0;
      }
    }
    EXPECT_GT(smaller, 0) << reduction.name;
  }
}

// Walks of random proposals: whatever stands there, edits apply or give nothing.
TEST(Reductions, RandomWalksStayValid) {
  const std::vector<Case> samples = sample_cases();
  for (uint64_t walk = 0; walk < 12; ++walk) {
    Case now = samples[walk % samples.size()];
    for (uint64_t step = 0; step < 25; ++step) {
      const PhiloxBlock draw = philox(walk, 1, step);
      const auto reductions = all_reductions();
      const Reduction& reduction = reductions[draw[0] % reductions.size()];
      const auto proposals = propose(reduction, now, probe_of(now));
      if (proposals.empty()) continue;
      const Edits& edits = proposals[draw[1] % proposals.size()];
      SCOPED_TRACE("walk " + std::to_string(walk) + ", " + to_string(edits));
      auto after = apply_edits(now, edits);
      if (!after) continue;
      expect_law(now, *after, edits);
      now = std::move(*after);
    }
  }
}

TEST(Reductions, HaveDistinctNamesAndDocs) {
  std::set<std::string_view> names;
  for (const Reduction& reduction : all_reductions()) {
    EXPECT_TRUE(names.insert(reduction.name).second) << reduction.name;
    EXPECT_EQ(reduction.doc.find('\n'), std::string_view::npos);
    EXPECT_TRUE(reduction.doc.ends_with('.')) << reduction.name;
  }
}

TEST(Pin, TriesWhatFreesMostFirst) {
  const Case test_case = transformer_block();
  const auto proposals = propose(reduction_called("pin"), test_case, probe_of(test_case));
  EXPECT_EQ(std::get<Pin>(proposals[0][0]).value, "y");  // frees all, and is no graph any more
  const auto freed = [&](const Edits& edits) {
    const auto after = apply_edits(test_case, edits);
    return after ? test_case.graph.nodes().size() - after->graph.nodes().size() : 1000;
  };
  for (size_t i = 1; i < proposals.size(); ++i) EXPECT_GE(freed(proposals[i - 1]), freed(proposals[i])) << i;
}

TEST(SimplifyData, MakesALiteralARecipeOfTheSameSpread) {
  Builder b;
  Case test_case;
  Tensor bits({Dtype::f32, {64}});
  for (int64_t i = 0; i < 64; ++i) bits.set(i, i % 2 == 0 ? 103.0 : 97.0);
  b.output(b.node(Relu{}, {b.input("x", bits.type, literal_of(bits))}, "y"));
  test_case = case_of(b);
  std::vector<Fill> fills;
  for (const Edits& edits : propose(reduction_called("simplify_data"), test_case, probe_of(test_case))) {
    if (const auto* fill = std::get_if<SetFill>(&edits[0])) fills.push_back(fill->fill);
  }
  EXPECT_EQ(fills.front(), Fill(Constant{0}));
  EXPECT_EQ(fills.back(), Fill(Normal{100, 3}));
}

TEST(SimplifyData, RowsOfAHadamardMatrixHaveSimplerOnes) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f16, {4, 16}}, Hadamard{8, 5, true});
  b.output(b.node(Relu{}, {x}, "y"));
  const Case test_case = case_of(b);
  std::vector<Fill> fills;
  for (const Edits& edits : propose(reduction_called("simplify_data"), test_case, probe_of(test_case)))
    fills.push_back(std::get<SetFill>(edits[0]).fill);
  EXPECT_EQ(fills.front(), Fill(Constant{0}));
  EXPECT_NE(std::find(fills.begin(), fills.end(), Fill(Hadamard{})), fills.end());
  EXPECT_NE(std::find(fills.begin(), fills.end(), Fill(Lattice{})), fills.end());
}

TEST(SimplifyAttribute, DropsTheMaskOfAttentionWithItsOperand) {
  const Case test_case = masked_mix();
  bool dropped = false;
  for (const Edits& edits : propose(reduction_called("simplify_attribute"), test_case, probe_of(test_case))) {
    const auto after = apply_edits(test_case, edits);
    const Node* sdpa = after ? first_node<Sdpa>(after->graph) : nullptr;
    dropped = dropped || (sdpa != nullptr && sdpa->name == "attention" && sdpa->inputs.size() == 3);
  }
  EXPECT_TRUE(dropped);
}

TEST(SimplifyPolicy, ProposesTheDefaultsThenEachSettingAndFewerSkippedPatterns) {
  Case test_case = stepping();
  const Reduction& reduction = reduction_called("simplify_policy");
  EXPECT_TRUE(propose(reduction, test_case, probe_of(test_case)).empty());
  test_case.policy = {true, Policy::ImplicitCasts::may_elide, {"a", "b", "c"}};
  std::vector<std::string> texts;
  for (const Edits& edits : propose(reduction, test_case, probe_of(test_case)))
    texts.push_back(to_string(edits));
  const auto text = [](const char* tf32, const char* skipped) {
    return std::string("set tf32 ") + tf32 + ", implicit casts may_elide, skipped patterns " + skipped;
  };
  EXPECT_EQ(texts, (std::vector<std::string>{text("off", "none"), text("off", "a, b, c"), text("on", "none"),
                                             text("on", "none"), text("on", "c"), text("on", "a, b"),
                                             text("on", "b, c"), text("on", "a, c"), text("on", "a, b")}));
}

TEST(Rename, KeepsDataWhereAllNamesTogetherDoNotFail) {
  Builder b;
  const ValueId drawn = b.input("x7", {Dtype::f32, {2, 3}}, Normal{});
  const ValueId fixed = b.input("w3", {Dtype::f32, {4, 3}}, Constant{1});
  b.output(b.node(Linear{}, {drawn, fixed}, "linear9"));
  const Case test_case = case_of(b);
  std::vector<std::string> texts;
  for (const Edits& edits : propose(reduction_called("rename"), test_case, probe_of(test_case)))
    texts.push_back(to_string(edits));
  EXPECT_EQ(texts,
            (std::vector<std::string>{"rename linear9 to linear0, w3 to weight, x7 to x",
                                      "rename linear9 to linear0, w3 to weight", "rename linear9 to linear0",
                                      "rename w3 to weight", "rename x7 to x"}));
}

}  // namespace
}  // namespace fusesmith::minimizer
