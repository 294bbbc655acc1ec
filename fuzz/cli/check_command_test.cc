// `check` on models that a script stands in for; python/tests/workers/test_check.py tests it on models of
// PyTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/stand_in_script.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

constexpr const char* kSoftmaxCase = R"({"fusesmith": 1, "graph": {
  "inputs": [{"name": "x", "type": "f32[4,43]", "fill": {"normal": {}}},
             {"name": "z", "type": "f32[4]", "fill": {"constant": {"value": 0}}}],
  "nodes": [{"name": "y", "op": "softmax", "inputs": ["x"], "axis": 1},
            {"name": "n", "op": "div", "inputs": ["z", "z"]}], "outputs": ["y", "n"]}})";

class CheckCommand : public testing::Test {
 protected:
  void reply(const std::string& text, int64_t cases = 1) {
    nlohmann::json header = {
        {"cases", nlohmann::json::array()},
        {"unmapped", {{{"op", "Sin"}, {"count", 2}, {"why", "no op"}, {"nodes", {{{"node", "s"}}}}}}},
        {"approximated", nlohmann::json::array()},
        {"summary", {{"nodes", 9}, {"mapped", 6}, {"folded", 1}, {"made_inputs", 2}}}};
    std::string payload;
    for (int64_t i = 0; i < cases; ++i) {
      const std::string number = cases > 1 ? "-" + std::to_string(i) : "";
      header["cases"].push_back({{"name", "m" + number}, {"bytes", text.size()}});
      payload += text;
    }
    script_.replies(header.dump(), payload);
  }

  Ran check(std::vector<std::string> flags = {}, const std::string& model = "m.onnx") {
    std::vector<std::string> args = {"check", model, "--output=" + (folder_ / "out"), "--baseline=cpu"};
    args.insert(args.end(), flags.begin(), flags.end());
    return fusesmith_command(args);
  }

  const StandInScript script_{"import/import_model.py"};
  const TemporaryFolder folder_;
};

TEST_F(CheckCommand, SaysWhatWasJudged) {
  reply(kSoftmaxCase);
  const Ran ran = check({"--candidate=cpu_fused"});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("m.onnx: "));
  EXPECT_THAT(ran.out,
              HasSubstr("9 operators: 6 mapped, 1 computed by the import, 2 without counterpart (25 %"));
  EXPECT_THAT(ran.out, HasSubstr("2.27 % of the elements NaN"));
  EXPECT_TRUE(read_case_file(folder_ / "out/m.json").ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/findings"));
}

TEST_F(CheckCommand, ReportsWhatFails) {
  reply(kSoftmaxCase, 2);
  const Ran ran = check({"--candidate=demo", "--split=1", "--json"});
  EXPECT_EQ(ran.code, kFindings) << ran.err;
  const auto model = nlohmann::json::parse(ran.out)["models"][0];
  EXPECT_EQ(model["verdict"], "defect");
  ASSERT_EQ(model["cases"].size(), 2U);
  for (const auto& one : model["cases"]) {
    EXPECT_EQ(one["finding"], true);
    EXPECT_GT(one["worst_share"].get<double>(), 1);
    const std::filesystem::path report = one["report"].get<std::string>();
    EXPECT_THAT(*read_file(report), HasSubstr("softmax"));
    const auto smallest = read_case_file((report.parent_path() / "min.json").string());
    ASSERT_TRUE(smallest.ok());
    EXPECT_EQ(smallest->graph.nodes().size(), 1U);
    const Ran again = fusesmith_command(
        {"replay", "--baseline=cpu", "--candidate=demo", (report.parent_path() / "min.json").string()});
    EXPECT_EQ(again.code, kFindings);
  }
}

TEST_F(CheckCommand, TheOtherModelsAreJudgedAfterOneThatCannotBeRead) {
  reply(kSoftmaxCase);
  script_.runs("exit 3");
  const Ran ran = check({"--candidate=cpu_fused", "n.onnx"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("fusesmith check: m.onnx: import/import_model.py ended with exit code 3"));
  EXPECT_THAT(ran.err, HasSubstr("fusesmith check: n.onnx: "));
  EXPECT_EQ(check({"other/m.pt2"}).err,
            "fusesmith check: other/m.pt2: another model is named m, and its files would be replaced\n");
}

TEST_F(CheckCommand, CannotWrite) {
  reply(kSoftmaxCase);
  folder_.file("out", "a file, no folder");
  const Ran ran = check();
  EXPECT_EQ(ran.code, kCannotWrite);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
}

}  // namespace
}  // namespace fusesmith::fuzz
