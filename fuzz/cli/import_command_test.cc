// `import` against scripts that stand in for import_model.py; python/tests/workers/test_models.py tests the
// real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/stand_in_script.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

class ImportCommand : public testing::Test {
 protected:
  void reply(const nlohmann::json& header, const std::string& payload) {
    script_.replies(header.dump(), payload);
  }

  static nlohmann::json header(std::vector<std::string> texts) {
    nlohmann::json made = {{"cases", nlohmann::json::array()},
                           {"unmapped",
                            {{{"op", "Sin"},
                              {"count", 2},
                              {"why", "no op stands for it"},
                              {"nodes", {{{"node", "sin_3"}, {"module", "layers.0"}, {"line", "m.py:7"}}}}}}},
                           {"approximated", {"w"}},
                           {"summary", {{"nodes", 8}, {"mapped", 5}, {"folded", 1}, {"made_inputs", 2}}}};
    for (size_t i = 0; i < texts.size(); ++i)
      made["cases"].push_back({{"name", "m-" + std::to_string(i)}, {"bytes", texts[i].size()}});
    return made;
  }

  Ran import(std::vector<std::string> flags = {}) {
    std::vector<std::string> args = {"import", "m.onnx", "--output=" + (folder_ / "out")};
    args.insert(args.end(), flags.begin(), flags.end());
    return fusesmith_command(args);
  }

  void expect_refused(const Ran& ran, const std::string& text, int code = kUsage) {
    EXPECT_EQ(ran.code, code);
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  }

  const StandInScript script_{"import/import_model.py"};
  const TemporaryFolder folder_;
};

TEST_F(ImportCommand, WritesOneCase) {
  reply(header({kReluCase}), kReluCase);
  const Ran ran = import();
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_EQ(ran.out, "1 case, 1 node, in " + (folder_ / "out") +
                         "\n8 operators: 5 mapped, 1 computed by the import, 2 without counterpart (28.6 % "
                         "of those that are "
                         "not constant)\n"
                         "random data in place of 1 value of the model\n\n"
                         "no counterpart  nodes  why                  first\n"
                         "Sin                 2  no op stands for it  sin_3 (layers.0, m.py:7)\n");
  EXPECT_EQ(read_case_file(folder_ / "out")->graph.nodes().size(), 1U);
}

TEST_F(ImportCommand, WritesAFolderOfParts) {
  reply(header({kReluCase, kReluCase}), std::string(kReluCase) + kReluCase);
  const auto json = nlohmann::json::parse(import({"--split=1", "--json"}).out);
  EXPECT_EQ(json["files"], (nlohmann::json{folder_ / "out/m-0.json", folder_ / "out/m-1.json"}));
  EXPECT_EQ(json["nodes"], 2);
  EXPECT_EQ(json["unmapped"][0]["op"], "Sin");
  EXPECT_EQ(json["summary"]["made_inputs"], 2);
  EXPECT_EQ(json["outputs"]["elements"], 12);
  EXPECT_TRUE(read_case_file(folder_ / "out/m-1.json").ok());
}

TEST_F(ImportCommand, NothingIsWrittenOnErrors) {
  expect_refused(fusesmith_command({"import", "m.onnx"}), "needs --output=CASE.json");
  expect_refused(import({"--split=4097"}), "--split");
  script_.runs("echo 'no numpy' >&2; exit 3");
  expect_refused(import(), "m.onnx: import/import_model.py ended with exit code 3: no numpy");
  script_.runs("echo hello, hello, hello");
  expect_refused(import(), "expected a frame");
  script_.runs("exec sleep 20");
  expect_refused(import({"--timeout=0.2"}), "no reply within the time limit", kTimeout);
  reply({{"error", "opset 9\n, expected 17 to 23"}}, "");
  expect_refused(import(), "m.onnx: opset 9 , expected 17 to 23");
  reply({{"error", "out of memory"}, {"out_of_memory", true}}, "");
  expect_refused(import(), "m.onnx: out of memory", kOutOfMemory);
  script_.runs("echo 'terminate called: std::bad_alloc' >&2; exit 134");
  expect_refused(import({"--rss_limit_mb=10"}), "std::bad_alloc", kOutOfMemory);
  reply({{"cases", "none"}}, "");
  expect_refused(import(), "the script's reply cannot be read");
  const std::string broken = R"({"fusesmith": 1, "graph": {}})";
  reply(header({kReluCase, broken}), kReluCase + broken);
  expect_refused(import({"--split=1"}), "m-1: the imported case is not valid");
  setenv("FUSESMITH_PYTHON", "/nowhere/python3", 1);
  expect_refused(import(), "cannot start '/nowhere/python3'");
}

TEST_F(ImportCommand, CannotWrite) {
  reply(header({kReluCase}), kReluCase);
  const Ran ran = fusesmith_command({"import", "m.onnx", "--output=" + (folder_ / "none/out.json")});
  EXPECT_EQ(ran.code, kCannotWrite);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
}

}  // namespace
}  // namespace fusesmith::fuzz
