// The page of `report` and its facts: from work directories of this version and earlier ones.
#include "fuzz/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "fuzz/page/graph_picture.h"
#include "fuzz/page/history_chart.h"
#include "fuzz/page/interval_strip.h"
#include "fuzz/page/page_facts.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

constexpr char kMarkup[] = "</pre><script>alert(1)</script>\x1b[31m";

constexpr char kCase[] = R"({"fusesmith": 1, "comment": "COMMENT", "seed": 1, "steps": 1,
  "policy": {"tf32": false, "implicit_casts": "may_elide"},
  "graph": {"inputs": [{"name": "x", "type": "f32[2,9]", "fill": {"normal": {}}}], "states": [],
            "nodes": [{"name": "y", "op": "softmax", "inputs": ["x"], "axis": -1}], "outputs": ["y"]}})";

// A work directory with one finding, whose texts are markup wherever a text may stand.
class PageOfMarkup : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(fusesmith_command(
                  {"fuzz", "--baseline=cpu", "--candidate=cpu_fused", "--runs=3", "--workdir=" + workdir_})
                  .code,
              kClean);
    std::string test_case = kCase;
    test_case.replace(test_case.find("COMMENT"), 7,
                      Json(kMarkup).dump().substr(1, Json(kMarkup).dump().size() - 2));
    folder_.file("w/findings/a-finding/case.json", test_case);
    folder_.file("w/findings/a-finding/count", "3\n");
  }

  void write_verdict(const Json& verdict) {
    folder_.file("w/findings/a-finding/verdict.json", verdict.dump());
  }

  std::string page() {
    const auto facts = page_facts({workdir_}, kMarkup, kMarkup);
    EXPECT_TRUE(facts.ok()) << facts.problem();
    return facts ? page_html(*facts) : "";
  }

  TemporaryFolder folder_;
  const std::string workdir_ = folder_ / "w";
};

TEST_F(PageOfMarkup, EscapesEveryText) {
  const Json texts = {kMarkup, kMarkup};
  Json report = {{"title", kMarkup},
                 {"what", kMarkup},
                 {"how_sure", kMarkup},
                 {"argument", kMarkup},
                 {"runs", 5},
                 {"failed", 4},
                 {"failing_nodes", {0, 99}},
                 {"element",
                  {{"value", kMarkup},
                   {"got", 1},
                   {"exact", 2},
                   {"lowest", 2},
                   {"highest", 2},
                   {"other", 2},
                   {"other_backend", kMarkup}}},
                 {"ruled_out", texts},
                 {"comparisons", {{{"name", kMarkup}, {"rule", kMarkup}, {"beyond", 1}, {"elements", 2}}}},
                 {"environment", {{kMarkup, kMarkup}}},
                 {"commands", texts}};
  const Json choice = {
      {"what", kMarkup}, {"value", kMarkup}, {"failing", texts}, {"passing", texts}, {"not_applied", texts}};
  write_verdict({{"verdict", kMarkup},
                 {"reason", kMarkup},
                 {"report", report},
                 {"neighbours", {{"summary", kMarkup}, {"choices", {choice}}, {"sizes", Json::array()}}}});
  const std::string html = page();
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(html, HasSubstr("4 of 5 runs"));
  EXPECT_THAT(html, HasSubstr("class=\"graph\""));
}

// verdict.json of any form: of an earlier version, incomplete, or not made by this program.
TEST_F(PageOfMarkup, ReadsWhateverVerdictIsThere) {
  const Json worst = {{"value", "y"}, {"got", "nan"}, {"want", 1},
                      {"lo", 1},      {"hi", 1},      {"steps_outside", 0}};
  Json earlier = {{"verdict", "exceptional"},
                  {"failing_region", {{"role", "candidate"}, {"backend", "cpu_fused"}, {"region", 0}}},
                  {"candidate",
                   {{"regions",
                     {{{"op", "softmax"},
                       {"dtype", "f32"},
                       {"symptom", "nan"},
                       {"outside", 1},
                       {"elements", 4},
                       {"worst", worst}}}}}}};
  write_verdict(earlier);
  EXPECT_THAT(page(), HasSubstr("a-finding"));
  earlier["candidate"]["regions"][0].erase("outside");
  for (const Json& verdict :
       {earlier, Json::object(), Json::array(), Json({{"report", 3}}), Json({{"report", {{"title", 3}}}}),
        Json({{"report", Json::object()}, {"neighbours", {{"sizes", 1}, {"choices", {{{"passing", 1}}}}}}}),
        Json({{"failing_region", {{"role", "candidate"}, {"region", 7}}}, {"candidate", 1}})}) {
    write_verdict(verdict);
    EXPECT_THAT(page(), HasSubstr("id=\"group-1\"")) << verdict;
  }
  folder_.file("w/findings/a-finding/verdict.json", "{");
  folder_.file("w/findings/a-finding/case.json", "{");
  EXPECT_THAT(page(), HasSubstr("a-finding"));
}

TEST_F(PageOfMarkup, CommandsWriteIt) {
  const std::string file = folder_ / "page.html";
  const Ran ran = fusesmith_command({"report", workdir_, "--output=" + file});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_THAT(*read_file(file), HasSubstr("<!DOCTYPE html>"));
  const Ran facts = fusesmith_command({"report", workdir_, "--json"});
  EXPECT_EQ(Json::parse(facts.out)["cases"], 3);
  EXPECT_EQ(Json::parse(facts.out)["groups"].size(), 1U);
  EXPECT_EQ(fusesmith_command({"report", workdir_, "--output=" + (folder_ / "no/page.html")}).code,
            kCannotWrite);
  const Ran none = fusesmith_command({"report", folder_ / "none"});
  EXPECT_EQ(none.code, kUsage);
  EXPECT_TRUE(is_one_line(none.err)) << none.err;

  const Ran table = fusesmith_command({"whatsup", "--json", workdir_, folder_ / "none"});
  EXPECT_EQ(table.code, kUsage) << "one of the two is missing";
  const Json campaigns = Json::parse(table.out)["campaigns"];
  ASSERT_EQ(campaigns.size(), 1U);
  EXPECT_EQ(campaigns[0]["cases"], 3);
  EXPECT_EQ(campaigns[0]["groups"], 1);
  EXPECT_EQ(campaigns[0]["running"], false);
  {
    const auto lock = FolderLock::take(workdir_);
    const Ran running = fusesmith_command({"whatsup", "--json", workdir_});
    EXPECT_EQ(Json::parse(running.out)["campaigns"][0]["running"], true);
  }
  EXPECT_THAT(fusesmith_command({"whatsup", workdir_}).out, HasSubstr("ended"));
  EXPECT_EQ(campaigns[0]["worker_restarts"], 0);
  EXPECT_EQ(campaigns[0]["quarantined_gpus"], Json::array());
}

// As `shard-*` matches shard-0.log, too.
TEST_F(PageOfMarkup, PlainFilesBesideWorkDirectoriesAreLeftOut) {
  const std::string log = folder_.file("shard-0.log", "exit code 77");
  for (const std::vector<std::string>& args : {std::vector<std::string>{"whatsup", "--json", log, workdir_},
                                               {"report", "--json", workdir_, log},
                                               {"merge", "--json", folder_ / "all", workdir_, log}}) {
    const Ran ran = fusesmith_command(args);
    EXPECT_EQ(ran.code, kClean) << args[0] << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("note: 1 plain file is left out: " + log)) << args[0];
    EXPECT_EQ(Json::parse(ran.out)["cases"], 3) << args[0];
  }
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"whatsup", log}, {"report", log}, {"merge", folder_ / "other", log}})
    EXPECT_EQ(fusesmith_command(args).code, kUsage) << args[0];
}

TEST_F(PageOfMarkup, WhatsupTellsOfTrouble) {
  const std::string file = workdir_ + "/stats.json";
  Json stats = Json::parse(*read_file(file));
  stats["status"] = {{"worker_restarts", 3}};
  stats["gpus"] = {{"GPU-a", {{"name", "card"}}},
                   {"GPU-b", {{"name", "card"}, {"quarantined", "it failed"}}}};
  ASSERT_FALSE(write_file(file, stats.dump()));
  const Json campaign = Json::parse(fusesmith_command({"whatsup", "--json", workdir_}).out)["campaigns"][0];
  EXPECT_EQ(campaign["worker_restarts"], 3);
  EXPECT_EQ(campaign["quarantined_gpus"], Json({"GPU-b"}));
  EXPECT_THAT(fusesmith_command({"whatsup", workdir_}).out, HasSubstr("3 restarts, 1 GPU out"));
}

TEST(IntervalStrip, PlacesWhatIsFinite) {
  const Json strip = interval_strip({{"got", 4}, {"exact", 1}, {"lowest", 0}, {"highest", 2}});
  EXPECT_LT(strip["from"], strip["exact"]);
  EXPECT_LT(strip["exact"], strip["got"]);
  EXPECT_TRUE(interval_strip({{"got", "nan"}, {"exact", 1}, {"lowest", 0}, {"highest", 2}}).is_null());
  EXPECT_TRUE(interval_strip(Json()).is_null());
}

TEST(HistoryChart, HasOneAreaForEachVerdict) {
  const auto sample = [](double seconds, int cases, int defects) {
    return Json({{"elapsed_s", seconds},
                 {"cases", cases},
                 {"findings", 0},
                 {"verdicts", {{"identical", cases - defects}, {"defect", defects}}}});
  };
  EXPECT_TRUE(history_chart({sample(1, 10, 0), sample(2, 20, 0)}).is_null()) << "one step";
  const Json chart = history_chart({sample(1, 10, 0), sample(2, 30, 0), sample(3, 40, 1)});
  EXPECT_EQ(chart["rate_top"], "20/s");
  EXPECT_EQ(chart["areas"].size(), 2U);
  EXPECT_TRUE(history_chart({sample(3, 10, 0), sample(2, 20, 0), sample(1, 5, 0)}).is_null()) << "backwards";
}

TEST(GraphPicture, PlacesReadersBelowWhatTheyRead) {
  const auto test_case = parse_case(kCase);
  ASSERT_TRUE(test_case.ok()) << test_case.problem();
  const Json picture = graph_picture(test_case->graph, {0});
  ASSERT_EQ(picture["boxes"].size(), 2U);
  EXPECT_LT(picture["boxes"][0]["y"], picture["boxes"][1]["y"]);
  EXPECT_EQ(picture["boxes"][1]["kind"], "fails");
  EXPECT_EQ(picture["lines"].size(), 1U);
}

}  // namespace
}  // namespace fusesmith::fuzz
