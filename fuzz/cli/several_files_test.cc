// explain and minimize with several files, as a shell makes of findings/*/min.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class SeveralFiles : public testing::Test {
 protected:
  SeveralFiles() {
    Builder builder;
    const ValueId x = builder.input("x", {Dtype::f32, {3, 6}}, Normal{});
    builder.output(builder.node(Add{}, {builder.node(Softmax{}, {x}, "p"), x}, "y"));
    Case test_case;
    test_case.graph = *builder.build();
    for (const char* name : {"a.json", "b.json"}) {
      ++test_case.seed;
      files_.push_back(folder_.file(name, to_json(test_case)));
    }
  }

  Ran run(const std::string& command, std::vector<std::string> flags, std::vector<std::string> files) const {
    std::vector<std::string> args = {command, "--baseline=cpu", "--candidate=cpu_fused"};
    args.insert(args.end(), flags.begin(), flags.end());
    args.insert(args.end(), files.begin(), files.end());
    return fusesmith_command(args);
  }

  const TemporaryFolder folder_;
  std::vector<std::string> files_;
};

// Every compilation of a graph with a softmax throws, which is a finding.
FailingBackend crashing() {
  return FailingBackend(
      [](const Graph& graph) {
        for (const Node& node : graph.nodes()) {
          if (std::holds_alternative<Softmax>(node.op)) throw std::runtime_error("no softmax today");
        }
      },
      "crashing");
}

TEST_F(SeveralFiles, ExplainHasASectionForEach) {
  const Ran text = run("explain", {}, files_);
  EXPECT_EQ(text.code, kClean) << text.err;
  for (const std::string& file : files_) EXPECT_THAT(text.out, HasSubstr(file + ": "));
  const Json several = Json::parse(run("explain", {"--json"}, files_).out);
  ASSERT_EQ(several.size(), 1U);
  ASSERT_EQ(several["cases"].size(), 2U);
  EXPECT_EQ(several["cases"][1]["file"], files_[1]);
  const Json one = Json::parse(run("explain", {"--json"}, {files_[1]}).out);
  EXPECT_EQ(one["file"], files_[1]) << "one file is one object, as before";
  EXPECT_EQ(one["verdict"], several["cases"][1]["verdict"]);
}

TEST_F(SeveralFiles, AnUnreadableFileDoesNotStopTheOthers) {
  const std::string broken = folder_.file("broken.json", "{");
  for (const std::string command : {"explain", "minimize"}) {
    const Ran ran = run(command, {}, {broken, files_[0]});
    EXPECT_EQ(ran.code, kUsage) << command;
    EXPECT_THAT(ran.err, HasSubstr("broken.json: "));
    EXPECT_THAT(ran.out, HasSubstr(files_[0])) << command;
    const Ran json = run(command, {"--json"}, {broken, files_[0]});
    EXPECT_EQ(Json::parse(json.out)["cases"].size(), 1U) << command;
  }
}

TEST_F(SeveralFiles, MinimizeWritesEachBesideItsCase) {
  const FailingBackend backend = crashing();
  const Ran ran = run("minimize", {"--candidate=crashing", "--json"}, files_);
  EXPECT_EQ(ran.code, kFindings) << ran.err;
  const Json json = Json::parse(ran.out);
  ASSERT_EQ(json["cases"].size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const Json& one = json["cases"][i];
    EXPECT_EQ(one["file"], files_[i]);
    EXPECT_EQ(one["reproduced"], true);
    const auto small = read_case_file(one["output"]);
    ASSERT_TRUE(small.ok()) << small.problem();
    EXPECT_EQ(small->graph.nodes().size(), 2U) << "with one node it would be another signature";
  }
  EXPECT_EQ(run("explain", {"--candidate=crashing"}, files_).code, kFindings);
}

TEST_F(SeveralFiles, MinimizeHasOneOutputForOneCase) {
  const Ran ran = run("minimize", {"--output=" + (folder_ / "min.json")}, files_);
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_EQ(ran.err, "fusesmith minimize: --output: expected one case, got 2\n");
}

}  // namespace
}  // namespace fusesmith::fuzz
