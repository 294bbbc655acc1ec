// Every command: its help against golden files, its answers to bad arguments. FUSESMITH_UPDATE_GOLDEN=1
// writes the golden files.
#include "fuzz/cli/command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "backends/faults.h"
#include "fuzz/base/output_width.h"
#include "fuzz/base/table.h"
#include "fuzz/campaign/guided_choices.h"
#include "fuzz/cli/test_support.h"
#include "graph/case.h"

namespace fusesmith::fuzz {
namespace {

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = "fuzz/cli/golden/" + name;
  if (std::getenv("FUSESMITH_UPDATE_GOLDEN")) {
    const auto problem = write_file(path, text);
    ASSERT_FALSE(problem) << problem->what;
  }
  const auto golden = read_file(path);
  ASSERT_TRUE(golden.ok()) << golden.problem();
  EXPECT_EQ(text, *golden) << "if that is meant: FUSESMITH_UPDATE_GOLDEN=1 build/dev/fuzz_test";
}

TEST(Command, HelpIsGolden) {
  expect_golden("help.txt", introduction(Offer::every_build));
  for (const Command& command : all_commands()) {
    const std::string name(command.name);
    expect_golden("help_" + name + ".txt", command.help(Offer::every_build));
    for (const std::vector<std::string>& args :
         std::vector<std::vector<std::string>>{{name, "--help"}, {name, "x", "-h"}, {"help", name}}) {
      const Ran help = fusesmith_command(args);
      EXPECT_EQ(help.code, kClean);
      EXPECT_EQ(help.out, command.help(Offer::this_build));
      EXPECT_EQ(help.err, "");
    }
  }
}

TEST(Command, HelpFitsATerminal) {
  std::string all = introduction(Offer::every_build);
  for (const Command& command : all_commands()) all += command.help(Offer::every_build);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

// As wide as the terminal, within limits; 100 columns elsewhere, for scripts.
TEST(Command, HelpAndTablesAreAsWideAsTheTerminal) {
  Table table({"name", "doc"});
  table.add({"a", std::string(130, 'x')});
  for (const auto& [terminal, wanted] :
       {std::pair<size_t, size_t>{0, 100}, {40, 60}, {80, 80}, {100, 100}, {140, 140}, {1000, 160}}) {
    set_terminal_columns(terminal);
    EXPECT_EQ(output_columns(), wanted);
    EXPECT_EQ(table.text().find("...") != std::string::npos, wanted < 133) << terminal;
    size_t longest = 0;
    for (const Command& command : all_commands()) {
      std::istringstream lines(command.help(Offer::every_build) + introduction(Offer::every_build));
      for (std::string line; std::getline(lines, line);) {
        longest = std::max(longest, line.size());
        if (line.find("--") == std::string::npos && wanted >= 80) {
          EXPECT_LE(line.size(), wanted) << command.name << ": " << line;
        }
      }
    }
    if (wanted >= 100) {
      EXPECT_GT(longest, wanted - 10) << terminal;
    }
  }
  set_terminal_columns(0);
}

TEST(Command, Version) {
  const std::string text = fusesmith_command({"--version"}).out;
  EXPECT_TRUE(text.starts_with("fusesmith " FUSESMITH_VERSION "\ncommit: unknown\ncompiler: ")) << text;
  EXPECT_NE(text.find(kFaultsBuilt ? "faults on" : "faults off"), std::string::npos) << text;
  for (const char* word : {"-V", "version", "-version"})
    EXPECT_EQ(fusesmith_command({word}).out, text) << word;
}

TEST(Command, TheIntroductionIsShownOnDemand) {
  for (const char* word : {"--help", "-h", "help", "-help"}) {
    const Ran ran = fusesmith_command({word});
    EXPECT_EQ(ran.code, kClean) << word;
    EXPECT_EQ(ran.out, introduction()) << word;
  }
}

TEST(Command, WhatThisBuildLacksIsNotOffered) {
  const std::string fuzz = fusesmith_command({"fuzz", "--help"}).out;
  EXPECT_EQ(fuzz.find("--faults") != std::string::npos, kFaultsBuilt);
  if (!kHasLibFuzzer) {
    const Ran engine = fusesmith_command({"fuzz", "--engine=libfuzzer"});
    EXPECT_NE(engine.err.find("this build has no libFuzzer"), std::string::npos) << engine.err;
  }
#ifndef FUSESMITH_HAS_CUDA
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"calibrate"}, {"replay", "--candidate=cuda", "x.json"}}) {
    const Ran ran = fusesmith_command(args);
    EXPECT_NE(ran.code, kClean);
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_NE(ran.err.find("this build has no CUDA"), std::string::npos) << ran.err;
  }
#endif
}

// One line on standard error, nothing on standard output, exit 1.
TEST(Command, BadArgumentsAreOneLine) {
  const TemporaryFolder folder;
  const std::string garbage = folder.file("garbage.json", "{\"fusesmith\": 1, \x01\xff");
  const std::vector<std::vector<std::string>> calls = {
      {},
      {"fuz"},
      {"export", folder / "none.json", "--to=dot"},
      {"export", folder / "none.json"},
      {"export", folder / "none.json", "--to=gif"},
      {"export", garbage, "--to=dot", "--output=" + (folder / "x.dot")},
      {"export", "--to=dot"},
      {"show"},
      {"show", garbage},
      {"fuzz", "--seeds=1"},
      {"fuzz", "--engine=libfuzer"},
      {"fuzz", "--shard=4/4"},
      {"fuzz", "--shard=1"},
      {"fuzz", "--runs=many"},
      {"fuzz", "--candidate=gpu"},
      {"fuzz", "--faults=none_of_that_name"},
      {"fuzz", "--skip_patterns=none_of_that_name"},
      {"fuzz", "--runs=1", "--workdir=" + (folder / "w"), folder / "no-corpus"},
      {"fuzz", "--runs=1", "--workdir=" + (folder / "w"), garbage},
      {"replay"},
      {"replay", folder / "none.json"},
      {"replay", garbage},
      {"replay", folder.string() + "/\n/x"},
      {"minimize", garbage},
      {"minimize", garbage, "second.json", "--output=x.json"},
      {"explain", garbage},
      {"explain", folder.string()},
      {"generate"},
      {"generate", "--output=" + (folder / "g"), "argument"},
      {"generate", "--output=" + (folder / "g"), "--count=-3"},
      {"list"},
      {"list", "oops"},
      {"list", "ops", "oops"},
      {"help", "oops"},
      {"help", "list", "oops"},
      {"minimize", "-"},
      {"fuzz", "--runs"},
  };
  for (const auto& args : calls) {
    const Ran ran = fusesmith_command(args);
    std::string call = "fusesmith";
    for (const std::string& arg : args) call += " " + arg;
    EXPECT_EQ(ran.code, kUsage) << call;
    EXPECT_EQ(ran.out, "") << call;
    EXPECT_TRUE(is_one_line(ran.err)) << call << "\n" << ran.err;
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "w")) << "nothing is written for a bad corpus";
  EXPECT_FALSE(std::filesystem::exists(folder / "g"));
}

TEST(Command, CannotWriteIs73) {
  const TemporaryFolder folder;
  const std::string file = folder.file("plain", "");
  EXPECT_EQ(fusesmith_command({"fuzz", "--runs=1", "--workdir=" + file}).code, kCannotWrite);
  EXPECT_EQ(fusesmith_command({"generate", "--count=1", "--output=" + file + "/below"}).code, kCannotWrite);
}

TEST(Command, ListsAsTextAndAsJson) {
  for (const std::string what : {"ops", "patterns", "backends", "faults"}) {
    const Ran text = fusesmith_command({"list", what});
    EXPECT_EQ(text.code, kClean);
    EXPECT_NE(text.out, "");
    const auto json = nlohmann::json::parse(fusesmith_command({"list", what, "--json"}).out);
    ASSERT_TRUE(json.contains(what));
    EXPECT_EQ(json.size(), 1U);
    EXPECT_EQ(json[what].empty(), what == "faults" && !kFaultsBuilt);
    for (const auto& item : json[what]) {
      EXPECT_NE(text.out.find(item.at("name").get<std::string>()), std::string::npos);
      EXPECT_NE(item.at("doc").get<std::string>(), "");
    }
  }
}

TEST(Command, TablesFitATerminalUnlessAskedNotTo) {
  for (const std::string what : {"ops", "patterns", "backends", "faults"}) {
    const std::string cut = fusesmith_command({"list", what}).out;
    const std::string wide = fusesmith_command({"list", what, "--wide"}).out;
    size_t longest = 0;
    std::istringstream lines(wide);
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    lines = std::istringstream(cut);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
    EXPECT_EQ(cut != wide, longest > 100) << what;
  }
}

TEST(Command, ListOpsHasStructuredAttributes) {
  const auto ops = nlohmann::json::parse(fusesmith_command({"list", "ops", "--json"}).out)["ops"];
  for (const auto& op : ops) {
    std::string names;
    for (const auto& attribute : op.at("attribute_details")) {
      names += (names.empty() ? "" : ", ") + attribute.at("name").get<std::string>();
      EXPECT_TRUE(attribute.at("type").is_string());
      EXPECT_NE(attribute.at("required").get<bool>(), attribute.contains("default")) << attribute;
      EXPECT_EQ(attribute.at("type") == "choice", attribute.contains("choices")) << attribute;
    }
    EXPECT_EQ(names, op.at("attributes").get<std::string>()) << "the key of before";
    EXPECT_TRUE(op.at("inputs").is_string());
    EXPECT_EQ(op.at("arity").size(), 2U);
  }
}

TEST(Command, GenerateWritesCasesThatReadBack) {
  const TemporaryFolder folder;
  const Ran ran = fusesmith_command(
      {"generate", "--seed=5", "--first=2", "--count=3", "--output=" + (folder / "g"), "--json"});
  ASSERT_EQ(ran.code, kClean) << ran.err;
  const auto files = nlohmann::json::parse(ran.out).at("files").get<std::vector<std::string>>();
  const auto listed = list_json(folder / "g");
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(files, *listed);
  EXPECT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0], folder / "g/5-0-2.json");
  for (const std::string& file : files)
    EXPECT_TRUE(read_case_file(file).ok()) << read_case_file(file).problem();
}

}  // namespace
}  // namespace fusesmith::fuzz
