// Misspelt names in case files are refused with their place by every command that reads cases.
#include "fuzz/run/known_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/rewrite/pattern.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/run/backends.h"
#include "oracle/judge.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// scores -> p, and attention whose inner values have names too.
Case named_case() {
  Builder builder;
  const ValueId x = builder.input("x", {Dtype::bf16, {3, 6}}, Normal{});
  const ValueId scores = builder.node(Scale{0.5}, {x}, "scores");
  const ValueId p = builder.node(Softmax{}, {scores}, "p");
  builder.output(builder.node(Sdpa{}, {p, p, p}, "a"));
  Case test_case;
  test_case.graph = *builder.build();
  test_case.expect = Expect{{"cpu", "cpu_fused"},
                            "precision_policy",
                            {"drop scores", "move p", "drop a/scores", "add p/exponentials"},
                            ""};
  return test_case;
}

std::string problem_of(const Case& test_case) {
  const auto problem = unknown_name(test_case);
  return problem ? problem->what : "";
}

TEST(KnownNames, WhatAnyBuildHasIsKnown) {
  Case test_case = named_case();
  EXPECT_EQ(problem_of(test_case), "");
  for (const Pattern& pattern : all_patterns()) test_case.policy.skip_patterns.emplace_back(pattern.name);
  for (const std::string name : {"cuda", "cuda_fused", "remote:ssh host fusesmith"}) {
    test_case.expect->backends[1] = name;
    EXPECT_EQ(problem_of(test_case), "");
  }
  test_case.expect->deviations.clear();
  for (const std::string_view verdict : kVerdictNames) {
    test_case.expect->verdict = verdict;
    EXPECT_EQ(problem_of(test_case), "");
  }
}

TEST(KnownNames, BackendsAreKnownInBuildsThatLackThem) {
  for (const Backend* backend : all_backends())
    EXPECT_THAT(kBackendsOfAllBuilds, testing::Contains(backend->name()));
}

TEST(KnownNames, TheCorpusHasNoOthers) {
  const auto files = list_json(std::string(FUSESMITH_SOURCE_DIR) + "/corpus");
  ASSERT_TRUE(files.ok());
  for (const std::string& file : *files) {
    const auto test_case = read_known_case(file);
    EXPECT_TRUE(test_case.ok()) << test_case.problem();
  }
}

TEST(KnownNames, EveryOtherNameIsRefusedWithItsPlace) {
  struct Mistake {
    std::function<void(Case&)> make;
    const char* begin;
    const char* suggestion;
  };
  const Mistake mistakes[] = {
      {[](Case& c) {
         c.policy.skip_patterns = {"sdpa", "gemm_bias_akt"};
       },
       "policy.skip_patterns[1]: unknown pattern \"gemm_bias_akt\" (did you mean \"gemm_bias_act\"?), "
       "expected one of ",
       "\"gemm_bias_act\"?"},
      {[](Case& c) {
         c.expect->backends = {"cpu", "cpu_fusd"};
       },
       "expect.backends[1]: unknown backend \"cpu_fusd\" (did you mean \"cpu_fused\"?), expected one of "
       "\"cpu\", ",
       "\"cpu_fused\"?"},
      {[](Case& c) {
         c.expect->backends = {"remote:", "cpu"};
       },
       "expect.backends[0]: remote:: expected remote:COMMAND", ""},
      {[](Case& c) { c.expect->verdict = "defct"; },
       "expect.verdict: unknown verdict \"defct\" (did you mean \"defect\"?), expected one of "
       "\"identical\", ",
       "\"defect\"?"},
      {[](Case& c) { c.expect->verdict = ""; }, "expect.verdict: unknown verdict \"\"", ""},
      {[](Case& c) { c.expect->verdict = "reassociation"; },
       "expect.deviations: expected none with verdict \"reassociation\"", ""},
      {[](Case& c) { c.expect->deviations[1] = "elide p"; },
       "expect.deviations[1]: expected \"drop NODE\", \"move NODE\" or \"add NODE/exponentials\", got "
       "\"elide p\"",
       ""},
      {[](Case& c) { c.expect->deviations[1] = "drop"; }, "expect.deviations[1]: expected \"drop NODE\"", ""},
      {[](Case& c) { c.expect->deviations[3] = "add p"; },
       "expect.deviations[3]: expected \"add NODE/exponentials\", got \"add p\"", ""},
      {[](Case& c) { c.expect->deviations[3] = "add q/exponentials"; },
       "expect.deviations[3]: unknown node \"q\"", ""},
      {[](Case& c) { c.expect->deviations[0] = "drop score"; },
       "expect.deviations[0]: unknown node \"score\" (did you mean \"scores\"?), expected one of ",
       "\"scores\"?"},
      {[](Case& c) { c.expect->deviations[0] = "drop x"; }, "expect.deviations[0]: unknown node \"x\"", ""},
      {[](Case& c) { c.expect->deviations[2] = "drop a/scors"; },
       "expect.deviations[2]: unknown node \"a/scors\"", "\"a/scores\"?"},
      {[](Case& c) { c.expect->deviations[2] = "drop p/scores"; },
       "expect.deviations[2]: unknown node \"p/scores\"", ""},
  };
  for (const auto& [make, begin, suggestion] : mistakes) {
    Case test_case = named_case();
    make(test_case);
    EXPECT_THAT(problem_of(test_case), StartsWith(begin));
    EXPECT_THAT(problem_of(test_case), HasSubstr(suggestion));
  }
}

TEST(KnownNames, MetamorphicChecksAreKnownByName) {
  Case test_case = named_case();
  test_case.policy.metamorphic = {"scaling", "exchange"};
  EXPECT_FALSE(unknown_name(test_case));
  test_case.policy.metamorphic = {"scaling", "exchang"};
  EXPECT_THAT(problem_of(test_case),
              StartsWith("policy.metamorphic[1]: unknown check \"exchang\" (did you mean \"exchange\"?)"));
}

// What the reviewer of a CI log must see: exit 1, one line, the place.
TEST(KnownNames, WhatIsReplacedIsInTheGraph) {
  Case test_case = named_case();
  test_case.policy.metamorphic = {"isolation"};
  const auto problem_with = [&](const char* replaced) {
    test_case.policy.replaced = replaced;
    return problem_of(test_case);
  };
  EXPECT_EQ(problem_with("x[2,:] = nan"), "");
  EXPECT_EQ(problem_with("x[:,0:6] = other"), "");
  EXPECT_EQ(problem_with("y[2,:] = nan"),
            "policy.replaced: the graph has no such input of floats, got \"y[2,:] = nan\"");
  EXPECT_THAT(problem_with("p[2,:] = nan"), HasSubstr("no such input")) << "a value of a node";
  for (const char* outside : {"x[3,:] = nan", "x[2:4,:] = nan", "x[2:2,:] = nan"})
    EXPECT_THAT(problem_with(outside), HasSubstr("not within the axis, whose size is 3")) << outside;
  for (const char* wrong :
       {"x", "x[2,:]", "x[2,:] = one", "x[2] = nan", "x[2,3] = nan", "x[:,:] = nan", "x[,] = nan",
        "x[-1,:] = nan", "x[2,:,:] = nan", "[2,:] = nan", "x] = nan[", "x[99999999999999999999,:] = nan"})
    EXPECT_THAT(problem_with(wrong), HasSubstr("policy.replaced: ")) << wrong;
  test_case.policy.metamorphic = {"subset", "batch_invariance", "position_invariance"};
  EXPECT_EQ(problem_with("x[2,:] = nan"),
            "policy.replaced: needs \"isolation\" in policy.metamorphic, which replaces it");
}

TEST(KnownNames, EveryCommandRefusesThem) {
  const TemporaryFolder folder;
  Case test_case = named_case();
  test_case.expect.reset();
  test_case.policy.skip_patterns = {"spda"};
  const std::string file = folder.file("a.json", to_json(test_case));
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"replay", file},
                                             {"explain", file},
                                             {"minimize", file},
                                             {"fuzz", "--runs=1", "--workdir=" + (folder / "w"), file}}) {
    const Ran ran = fusesmith_command(args);
    EXPECT_EQ(ran.code, kUsage) << args[0];
    EXPECT_EQ(ran.out, "") << args[0];
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(file + ": policy.skip_patterns[0]: unknown pattern \"spda\"")) << args[0];
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "w"));
}

}  // namespace
}  // namespace fusesmith::fuzz
