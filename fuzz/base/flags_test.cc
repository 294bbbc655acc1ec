#include "fuzz/base/flags.h"

#include <gtest/gtest.h>

namespace fusesmith::fuzz {
namespace {

struct Targets {
  bool json = false;
  int64_t jobs = 3;
  uint64_t seed = 1;
  double seconds = 0.5, max_total_time = 0;
  std::string dir = "here", policy, engine = "random";
  std::vector<std::string> skip, faults, files;

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
        {.name = "max_total_time", .target = &max_total_time, .value = "TIME", .unit = Flag::Unit::seconds},
        {.name = "engine",
         .target = &engine,
         .value = "random",
         .choices = {"random"},
         .missing_choices = {{"libfuzzer", "not part of this version"}}},
        {.name = "faults", .target = &faults, .value = "A,B", .missing = "this build has no faults"},
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
      {{"-sead=1"}, "unknown flag '-sead=1' (did you mean --seed?)"},
      {{"--fault=x"}, "unknown flag '--fault=x'; fusesmith test --help lists them"},
      {{"--frobnicate", "x"}, "unknown flag '--frobnicate'; fusesmith test --help lists them"},
      {{"--jobs=0"}, "--jobs: expected a whole number from 1 to 64, got '0'"},
      {{"--jobs=12x"}, "--jobs: expected a whole number from 1 to 64, got '12x'"},
      {{"--jobs="}, "--jobs: expected a whole number from 1 to 64, got nothing"},
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
}

TEST(Flags, AChoiceThatIsNoneNamesThePrefixesAsWell) {
  std::string backend;
  FlagTable table;
  table.command = "test";
  table.flags.push_back({.name = "backend",
                         .target = &backend,
                         .value = "NAME",
                         .doc = "A backend.",
                         .choices = {"cpu", "demo"},
                         .prefixes = {"torch:", "ort:"}});
  const auto parsed = parse_flags(table, std::vector<std::string>{"--backend=nope"});
  EXPECT_EQ(parsed.problem(), "--backend: expected one of cpu, demo, torch:..., ort:...; got 'nope'");
}

TEST(Flags, AFlagWithoutItsValueSaysWhatItWanted) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--jobs"}, "--jobs: expected a whole number from 1 to 64, got nothing"},
      {{"--jobs", "--json"}, "--jobs: expected a whole number from 1 to 64, got nothing"},
      {{"--seconds", "--", "x"}, "--seconds: expected a number from 0 to 9e+15, got nothing"},
      {{"--max_total_time"},
       "--max_total_time: expected seconds, or a time like 90s, 5m or 2h, from 0 to 9e+15, got nothing"},
      {{"--dir"}, "--dir: needs a value, as in --dir=DIR"},
      {{"--policy"}, "--policy: expected one of lawful, strict; got nothing"},
      {{"--skip"}, "--skip: needs a value, as in --skip=A,B"},
      {{"--json="}, "--json: expected no value, got ''"},
      {{"--json=maybe"}, "--json: expected no value, got 'maybe'"},
  };
  for (const auto& [args, wanted] : cases) {
    Targets t;
    EXPECT_EQ(t.problem(args), wanted);
  }
}

TEST(Flags, OneHyphenAndHyphensInsideAreUnderstood) {
  Targets t;
  EXPECT_EQ(t.problem({"-jobs=7", "--max-total-time=3", "-json", "-seed", "9", "-", "-skip=sdpa"}), "");
  EXPECT_EQ(t.jobs, 7);
  EXPECT_EQ(t.max_total_time, 3);
  EXPECT_TRUE(t.json);
  EXPECT_EQ(t.seed, 9U);
  EXPECT_EQ(t.skip, std::vector<std::string>{"sdpa"});
  EXPECT_EQ(t.files, std::vector<std::string>{"-"}) << "a lone hyphen is an argument";
  Targets u;
  EXPECT_EQ(u.problem({"--dir", "-x", "--", "--jobs=8", "-json"}), "") << "behind -- nothing is a flag";
  EXPECT_EQ(u.dir, "-x");
  EXPECT_EQ(u.files, (std::vector<std::string>{"--jobs=8", "-json"}));
}

TEST(Flags, CountsAndTimesAreReadAsPeopleWriteThem) {
  Targets t;
  EXPECT_EQ(t.problem({"--seed=1e4", "--jobs=2.5e1"}), "");
  EXPECT_EQ(t.seed, 10000U);
  EXPECT_EQ(t.jobs, 25);
  for (const char* wrong : {"1e-1", "1.5", "-1e2", "1e20", "1e", "e4", "inf"})
    EXPECT_NE(t.problem({std::string("--seed=") + wrong}), "") << wrong;
  const std::pair<const char*, double> times[] = {{"90", 90},     {"2.5", 2.5},   {"90s", 90},    {"5m", 300},
                                                  {"1.5h", 5400}, {"2d", 172800}, {"1h30m", 5400}};
  for (const auto& [text, seconds] : times) {
    EXPECT_EQ(t.problem({std::string("--max_total_time=") + text}), "") << text;
    EXPECT_EQ(t.max_total_time, seconds) << text;
  }
  for (const char* wrong : {"5x", "m", "5m3", "5m2h", "-5m", "5 m", "nan", "1s1s"})
    EXPECT_NE(t.problem({std::string("--max_total_time=") + wrong}), "") << wrong;
  EXPECT_NE(t.problem({"--seconds=5m"}), "") << "not a flag of seconds";
}

TEST(Flags, WhatTheBuildLacksIsRefusedAndNotOffered) {
  Targets t;
  EXPECT_EQ(t.problem({"--faults=x"}), "--faults: this build has no faults");
  EXPECT_EQ(t.problem({"--faults="}), "") << "none asked for";
  EXPECT_EQ(t.problem({"--engine=libfuzzer"}), "--engine: libfuzzer: not part of this version");
  EXPECT_EQ(t.problem({"--engine=libfuzer"}), "--engine: expected random; got 'libfuzer'");
  EXPECT_EQ(help_text(t.table()).find("--faults"), std::string::npos);
  EXPECT_NE(help_text(t.table(), Offer::every_build).find("--faults"), std::string::npos);
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
