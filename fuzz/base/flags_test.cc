#include "fuzz/base/flags.h"

#include <gtest/gtest.h>

namespace fusesmith::fuzz {
namespace {

struct Targets {
  bool json = false;
  int64_t jobs = 3;
  uint64_t seed = 1;
  double seconds = 0.5;
  std::string dir = "here", policy;
  std::vector<std::string> skip, files;

  FlagTable table() {
    FlagTable table;
    table.command = "test";
    table.positional = {"FILE...", &files, 0, 2};
    table.flags = {
        {.name = "json", .target = &json},
        {.name = "jobs", .target = &jobs, .value = "N", .lo = 1, .hi = 64},
        {.name = "seed", .target = &seed, .value = "N", .hi = 0x1p64},
        {.name = "seconds", .target = &seconds, .value = "S"},
        {.name = "dir", .target = &dir, .value = "DIR"},
        {.name = "policy", .target = &policy, .value = "P", .choices = {"lawful", "strict"}},
        {.name = "skip", .target = &skip, .value = "A,B", .choices = {"sdpa", "gemm"}},
    };
    return table;
  }
  std::string problem(const std::vector<std::string>& args) {
    const auto result = parse_flags(table(), args);
    return result ? "" : result.problem();
  }
};

TEST(Flags, BothWaysOfWriting) {
  Targets t;
  EXPECT_EQ(t.problem({"--json", "--jobs=7", "--seed", "18446744073709551615", "a", "--seconds=2.5", "--dir",
                       "x y", "b", "--policy=strict", "--skip=sdpa,gemm"}),
            "");
  EXPECT_TRUE(t.json);
  EXPECT_EQ(t.jobs, 7);
  EXPECT_EQ(t.seed, UINT64_MAX);
  EXPECT_EQ(t.seconds, 2.5);
  EXPECT_EQ(t.dir, "x y");
  EXPECT_EQ(t.policy, "strict");
  EXPECT_EQ(t.skip, (std::vector<std::string>{"sdpa", "gemm"}));
  EXPECT_EQ(t.files, (std::vector<std::string>{"a", "b"}));
}

TEST(Flags, DefaultsStayAndTheLastOneWins) {
  Targets t;
  EXPECT_EQ(t.problem({"--jobs=7", "--jobs=8"}), "");
  EXPECT_EQ(t.jobs, 8);
  EXPECT_EQ(t.dir, "here");
  EXPECT_FALSE(t.json);
}

TEST(Flags, EmptyListTakesNoArgument) {
  Targets t;
  t.skip = {"sdpa"};
  EXPECT_EQ(t.problem({"--skip=", "file"}), "");
  EXPECT_TRUE(t.skip.empty());
  EXPECT_EQ(t.files, std::vector<std::string>{"file"});
}

TEST(Flags, ProblemsSayWhatWasExpected) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--sead=1"}, "unknown flag '--sead=1' (did you mean --seed?)"},
      {{"-seed=1"}, "unknown flag '-seed=1' (did you mean --seed?)"},
      {{"--frobnicate", "x"}, "unknown flag '--frobnicate'; fusesmith test --help lists them"},
      {{"--jobs=0"}, "--jobs: expected a whole number from 1 to 64, got '0'"},
      {{"--jobs=12x"}, "--jobs: expected a whole number from 1 to 64, got '12x'"},
      {{"--jobs="}, "--jobs: expected a whole number from 1 to 64, got ''"},
      {{"--seed=-1"}, "--seed: expected a whole number from 0 to 18446744073709551615, got '-1'"},
      {{"--seed=99999999999999999999"},
       "--seed: expected a whole number from 0 to 18446744073709551615, got '99999999999999999999'"},
      {{"--seconds=nan"}, "--seconds: expected a number from 0 to 9e+15, got 'nan'"},
      {{"--dir="}, "--dir: needs a value, as in --dir=DIR"},
      {{"--policy=strikt"}, "--policy: expected one of lawful, strict; got 'strikt' (did you mean strict?)"},
      {{"--skip=sdpa,gem"}, "--skip: expected one of sdpa, gemm; got 'gem' (did you mean gemm?)"},
      {{"a", "b", "c"}, "unexpected argument 'c'; usage: fusesmith test [FLAGS] FILE..."},
  };
  for (const auto& [args, wanted] : cases) {
    Targets t;
    EXPECT_EQ(t.problem(args), wanted);
  }
  Targets t;
  EXPECT_NE(t.problem({"--seed"}), "") << "a value is missing";
}

TEST(Flags, HelpComesBeforeEverythingElse) {
  Targets t;
  const auto help = parse_flags(t.table(), std::vector<std::string>{"--nonsense", "--help"});
  ASSERT_TRUE(help.ok());
  EXPECT_TRUE(*help);
}

TEST(Flags, ValueTextIsWhatWouldBeTyped) {
  Targets t;
  t.skip = {"a", "b"};
  EXPECT_EQ(value_text(&t.skip), "a,b");
  EXPECT_EQ(value_text(&t.seconds), "0.5");
  EXPECT_EQ(value_text(&t.dir), "here");
}

}  // namespace
}  // namespace fusesmith::fuzz
