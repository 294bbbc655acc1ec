// Known issues in campaigns and in replay: counted and printed, but no findings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "graph/case.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// "crashing" throws at every softmax.
class Known : public testing::Test {
 protected:
  Known() {
    Builder builder;
    const ValueId x = builder.input("x", {Dtype::f32, {3, 6}}, Normal{});
    builder.output(builder.node(Softmax{}, {x}, "p"));
    case_.graph = *builder.build();
    file_ = folder_.file("softmax.json", to_json(case_));
    known_ = write_known("known.json", {{"name", "no-softmax"},
                                        {"signature", "crash-crashing-softmax-*"},
                                        {"case", "softmax.json"},
                                        {"filed", "https://example.org/issues/1"}});
  }

  std::string write_known(const std::string& name, const Json& issue) const {
    return "--known=" + folder_.file(name, Json{{"fusesmith_known", 1}, {"issues", {issue}}}.dump());
  }
  Ran run(std::vector<std::string> args) const {
    args.insert(args.begin() + 1, {"--baseline=cpu", "--candidate=crashing"});
    return fusesmith_command(args);
  }
  Ran fuzz(const std::string& workdir, std::vector<std::string> more) const {
    more.insert(more.begin(), {"fuzz", "--workdir=" + folder_ / workdir, "--jobs=1"});
    return run(std::move(more));
  }
  Json stats(const std::string& workdir) const {
    return Json::parse(*read_file(folder_ / (workdir + "/stats.json")));
  }
  bool has_folder(const std::string& workdir, const std::string& signature) const {
    return std::filesystem::exists(folder_ / (workdir + "/findings/" + signature));
  }

  const TemporaryFolder folder_;
  Case case_;
  std::string file_, known_;
  bool throws_ = true;
  const FailingBackend crashing_ = FailingBackend(
      [this](const Graph& graph) {
        for (const Node& node : graph.nodes()) {
          if (throws_ && std::holds_alternative<Softmax>(node.op)) throw std::runtime_error("no softmax");
        }
      },
      "crashing");
};

TEST_F(Known, CampaignsCountThemAndFindTheOthers) {
  const std::string graph = "crash-crashing-graph-any-thrown", single = "crash-crashing-softmax-any-thrown";
  const Ran without = fuzz("without", {"--runs=30", file_, "--minimize=0"});
  EXPECT_EQ(without.code, kFindings) << without.err;
  EXPECT_TRUE(has_folder("without", single));
  ASSERT_TRUE(has_folder("without", graph)) << "no generated case has a softmax";
  EXPECT_EQ(stats("without")["known"], Json::object());

  const Ran one = fuzz("one", {"--runs=30", file_, known_, "--minimize=0"});
  EXPECT_EQ(one.code, kFindings);
  EXPECT_FALSE(has_folder("one", single));
  EXPECT_TRUE(has_folder("one", graph));
  EXPECT_EQ(stats("one")["known"], (Json{{"no-softmax", stats("without")["findings"][single]}}));
  EXPECT_THAT(*read_file(folder_ / ("one/findings/" + graph + "/report.md")), HasSubstr(known_))
      << "the commands of a report judge as the campaign did";

  const std::string all =
      write_known("all.json", {{"name", "all"}, {"backend", "crashing"}, {"why", "It throws."}});
  const Ran both = fuzz("both", {"--runs=30", file_, all});
  EXPECT_EQ(both.code, kClean) << both.out << both.err;
  EXPECT_TRUE(stats("both")["findings"].empty());
  EXPECT_EQ(stats("both")["verdicts"]["crash"], stats("both")["known"]["all"]);
  EXPECT_EQ(stats("both")["verdicts"], stats("without")["verdicts"]) << "the same verdicts, known or not";
  EXPECT_THAT(both.out, HasSubstr("filed, or why it is known"));
  EXPECT_THAT(both.out, HasSubstr("It throws."));
  EXPECT_THAT(both.out, HasSubstr("No findings."));
}

// The file is not part of a campaign: it grows while findings are filed.
TEST_F(Known, CampaignsGoOnWithAnotherFile) {
  const std::string single = "crash-crashing-softmax-any-thrown";
  EXPECT_EQ(fuzz("w", {"--runs=1", file_}).code, kFindings);
  std::filesystem::remove(folder_ / ("w/findings/" + single + "/report.md"));
  const Ran again = fuzz("w", {"--runs=1", file_, known_});
  EXPECT_EQ(again.code, kFindings) << "a finding that has a folder stays one";
  EXPECT_THAT(*read_file(folder_ / ("w/findings/" + single + "/report.md")), HasSubstr("minimized: "))
      << "and is finished, although its issue is known by now";
  std::filesystem::remove_all(folder_ / "w/findings");
  throws_ = false;
  const Ran rest = fuzz("w", {"--runs=1", file_, known_});
  EXPECT_EQ(rest.code, kClean) << rest.out;
  EXPECT_THAT(rest.out, HasSubstr("Known issues without a case: no-softmax"));
  const std::string others =
      write_known("others.json", {{"name", "of-jax"}, {"backend", "jax:*"}, {"why", "It throws."}});
  const Ran none = fuzz("w", {"--runs=1", file_, others});
  EXPECT_EQ(none.code, kClean) << none.out;
  EXPECT_EQ(none.out.find("without a case"), std::string::npos) << "no backend of this campaign can meet it";
}

TEST_F(Known, ReplayPrintsThemAndSaysWhichNoLongerFail) {
  EXPECT_EQ(run({"replay", file_}).code, kFindings);
  const Ran known = run({"replay", file_, known_});
  EXPECT_EQ(known.code, kClean) << known.err;
  EXPECT_THAT(known.out, HasSubstr("softmax.json: crash, known issue no-softmax\n"));
  EXPECT_THAT(known.out, HasSubstr("  KNOWN: no-softmax (https://example.org/issues/1)\n"));
  const Json one = Json::parse(run({"replay", file_, known_, "--json"}).out)["cases"][0];
  EXPECT_EQ(one["finding"], false);
  EXPECT_EQ(one["known"][0]["issue"], "no-softmax");
  EXPECT_EQ(one["known"][0]["signature"], "crash-crashing-softmax-any-thrown");
  EXPECT_TRUE(one["no_longer_fails"].empty());

  throws_ = false;
  const Ran passes = run({"replay", file_, known_});
  EXPECT_EQ(passes.code, kClean);
  EXPECT_THAT(passes.out,
              HasSubstr("  NO LONGER FAILS by the known issue no-softmax (https://example.org/issues/1)\n"));
  EXPECT_EQ(Json::parse(run({"replay", file_, known_, "--json"}).out)["cases"][0]["no_longer_fails"],
            Json{"no-softmax"});
  const Ran other = run({"replay", file_, known_, "--candidate=cpu"});
  EXPECT_THAT(other.out, Not(HasSubstr("NO LONGER FAILS"))) << "judged with other backends";
}

TEST_F(Known, ExcuseExpectationsToPassOnly) {
  const auto code = [&](const Expect& expect) {
    case_.expect = expect;
    return run({"replay", folder_.file("a.json", to_json(case_)), known_}).code;
  };
  EXPECT_EQ(code({{}, "reassociation", {}, ""}), kClean);
  EXPECT_EQ(code({{}, "crash", {}, "crash-crashing-softmax-any-thrown"}), kClean) << "as expected";
  EXPECT_EQ(code({{}, "defect", {}, "defect-crashing-add-f32-out_of_bounds"}), kFindings);
  throws_ = false;
  EXPECT_EQ(code({{}, "crash", {}, "crash-crashing-softmax-any-thrown"}), kFindings);
}

TEST_F(Known, MinimizeAndExplainFindNothing) {
  const Ran minimized = run({"minimize", file_, known_, "--output=" + folder_ / "min.json"});
  EXPECT_EQ(minimized.code, kClean);
  EXPECT_THAT(minimized.out, HasSubstr("does not fail (crash, known issue no-softmax), nothing to minimize"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "min.json"));
  const Ran explained = run({"explain", file_, known_});
  EXPECT_EQ(explained.code, kClean) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("crash, known issue no-softmax\n"));
}

TEST_F(Known, AFileThatCannotBeReadIsOneLine) {
  const std::string broken = "--known=" + folder_.file("broken.json", "{\"fusesmith_known\": 1}");
  for (const std::vector<std::string>& args : {std::vector<std::string>{"replay", file_},
                                               {"minimize", file_},
                                               {"explain", file_},
                                               {"fuzz", "--runs=1", "--workdir=" + folder_ / "none"}}) {
    for (const std::string& flag : {broken, std::string("--known=/no/such/file")}) {
      std::vector<std::string> with = args;
      with.push_back(flag);
      const Ran ran = run(with);
      EXPECT_EQ(ran.code, kUsage) << args[0];
      EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
      EXPECT_EQ(ran.out, "");
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none")) << "nothing was begun";
}

}  // namespace
}  // namespace fusesmith::fuzz
