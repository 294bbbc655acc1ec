// A work directory that was killed, damaged or edited: what is lost of a finding is made again from its
// case.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/faults.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/findings/finding_record.h"
#include "graph/case.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Recovery : public testing::Test {
 protected:
  Ran fuzz(std::vector<std::string> more) {
    more.insert(more.begin(), {"fuzz", "--json", "--jobs=1", "--baseline=cpu", "--candidate=cpu_fused",
                               "--workdir=" + (folder_ / "w")});
    return fusesmith_command(more);
  }
  const TemporaryFolder folder_;
};

void crash_where_nodes_meet(const Graph& graph) {
  if (graph.nodes().size() > 1) throw std::runtime_error("no luck");  // one node alone: another signature
}

// A campaign with one finding.
class RecoveryOfAFinding : public Recovery {
 protected:
  RecoveryOfAFinding() : crashing_(crash_where_nodes_meet, "crashing") {
    start();
    EXPECT_EQ(signatures(), std::vector<std::string>{"crash-crashing-graph-any-thrown"});
    at_ = folder_ / "w/findings/crash-crashing-graph-any-thrown/";
  }
  Ran start(std::vector<std::string> more = {"--runs=1"}) {
    more.insert(more.begin(), {"--candidate=crashing", "--seed=2"});
    return fuzz(more);
  }
  std::vector<std::string> signatures() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "w/findings"))
      names.push_back(entry.path().filename().string());
    return names;
  }
  void empty(const std::string& name) const { std::ofstream(at_ + name, std::ios::trunc); }
  std::string read(const std::string& name) const {
    const auto text = read_file(at_ + name);
    return text.ok() ? *text : "";
  }
  // But for how long the minimization took.
  Json read_verdict() const {
    Json verdict = Json::parse(read("verdict.json"), nullptr, false);
    if (!verdict.is_object()) return verdict;
    std::string& text = verdict["report"]["minimization"].get_ref<std::string&>();
    text.resize(text.rfind(" in "));
    return verdict;
  }

  const FailingBackend crashing_;
  std::string at_;
};

TEST_F(RecoveryOfAFinding, WhatIsDamagedOrGoneIsMadeAgain) {
  const std::string min = read("min.json"), start_case = read("case.json");
  const Json verdict = read_verdict();
  ASSERT_NE(min, "");
  ASSERT_NE(read("report.md"), "");
  const auto is_whole_again = [&](const std::string& what) {
    const Ran ran = start();
    EXPECT_EQ(ran.code, kFindings) << what << ": " << ran.err;
    EXPECT_EQ(read("case.json"), start_case) << what;
    EXPECT_EQ(read_verdict(), verdict) << what;
    EXPECT_EQ(read("min.json"), min) << what;
    EXPECT_THAT(read("report.md"), HasSubstr("min.json")) << what;
  };
  for (const std::string name : {"verdict.json", "min.json", "report.md"}) {
    empty(name);
    is_whole_again(name + " emptied");
    fs::remove(at_ + name);
    is_whole_again(name + " deleted");
  }
  folder_.file(at_.substr(folder_.string().size() + 1) + "min.json", min.substr(0, min.size() / 2));
  is_whole_again("min.json cut");
  const std::string report = read("report.md");
  folder_.file(at_.substr(folder_.string().size() + 1) + "report.md", report.substr(0, report.size() / 2));
  is_whole_again("report.md cut");
}

TEST_F(RecoveryOfAFinding, WholeFilesAreNotMadeAgain) {
  const auto written = fs::last_write_time(at_ + "report.md");
  EXPECT_EQ(start().code, kFindings);
  EXPECT_EQ(fs::last_write_time(at_ + "report.md"), written);
}

TEST_F(RecoveryOfAFinding, TheExitCodeOfFindingsMayBeAnotherOne) {
  EXPECT_EQ(start({"--runs=1", "--error_exitcode=0"}).code, kClean);
  EXPECT_EQ(start({"--runs=1", "--error_exitcode=9"}).code, 9);
  EXPECT_EQ(start({"--runs=1", "--error_exitcode=256"}).code, kUsage);
}

TEST_F(RecoveryOfAFinding, ADamagedCaseBecomesTheMinimizedOne) {
  const std::string min = read("min.json");
  empty("case.json");
  const Ran ran = start();
  EXPECT_EQ(ran.code, kFindings);
  EXPECT_THAT(ran.err, HasSubstr(at_ + "case.json: 1:1: expected JSON, got nothing: damaged, now " + at_ +
                                 "case.json.damaged; min.json takes its place"));
  EXPECT_EQ(read("case.json"), min);
  EXPECT_EQ(read("case.json.damaged"), "");
}

TEST_F(RecoveryOfAFinding, WithoutAWholeCaseItsNextOneMakesItAnew) {
  empty("case.json");
  empty("min.json");
  const Ran ran = start();
  EXPECT_EQ(ran.code, kFindings);
  EXPECT_THAT(ran.err, HasSubstr("its next case takes its place"));
  EXPECT_TRUE(read_case_file(at_ + "case.json").ok());
  EXPECT_TRUE(read_case_file(at_ + "min.json").ok());
  EXPECT_TRUE(fs::exists(at_ + "case.json.damaged"));
  EXPECT_EQ(Json::parse(*read_file(folder_ / "w/stats.json"))["cases"], 2);
}

TEST_F(RecoveryOfAFinding, WhatIsDamagedIsNamedAndKept) {
  for (const std::string name : {"verdict.json", "min.json", "report.md"}) {
    folder_.file(at_.substr(folder_.string().size() + 1) + name, "{\"half");
    EXPECT_THAT(start().err, HasSubstr(": damaged, now " + at_ + name + ".damaged; it is made again"));
    EXPECT_EQ(read(name + ".damaged"), "{\"half");
    EXPECT_NE(read(name), "{\"half");
  }
  empty("report.md");
  EXPECT_THAT(start().err, HasSubstr("report.md.damaged-2"));
}

// A folder whose signature no counted case has: met while another was minimized.
TEST_F(RecoveryOfAFinding, StatsListEveryFolder) {
  const std::string other = "defect-crashing-graph-any-other";
  folder_.file("w/findings/" + other + "/case.json", read("case.json"));
  const Ran ran = start();
  const Json findings = Json::parse(ran.out)["findings"];
  EXPECT_EQ(findings.size(), signatures().size());
  EXPECT_EQ(findings[other], 0);
  EXPECT_EQ(findings["crash-crashing-graph-any-thrown"], 2);
  EXPECT_EQ(*read_file(folder_ / ("w/findings/" + other + "/count")), "0\n");
  EXPECT_EQ(*read_file(folder_ / "w/stats.json"), ran.out);
}

TEST_F(RecoveryOfAFinding, TheSummarySaysWhyAFindingHasNoCases) {
  const auto summary = [&] {
    return fusesmith_command({"fuzz", "--runs=1", "--jobs=1", "--seed=2", "--baseline=cpu",
                              "--candidate=crashing", "--workdir=" + (folder_ / "w")})
        .out;
  };
  const std::string clause = "\nA finding with 0 cases was found while another one was minimized";
  EXPECT_THAT(summary(), testing::Not(HasSubstr(clause)));
  folder_.file("w/findings/defect-crashing-graph-any-other/case.json", read("case.json"));
  EXPECT_THAT(summary(), HasSubstr(clause));
}

TEST_F(Recovery, AFindingThatIsRemovedMeanwhileDoesNotEndTheCampaign) {
  const std::string at = folder_ / "w/findings/crash-removing-graph-any-thrown";
  const FailingBackend removing(
      [&](const Graph&) {
        if (fs::exists(at + "/count")) fs::remove_all(at);  // while it is minimized
        throw std::runtime_error("no luck");
      },
      "removing");
  const Ran ran = fuzz({"--candidate=removing", "--seed=2", "--runs=1"});
  EXPECT_EQ(ran.code, kFindings) << "others, met meanwhile: " << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["cases"], 1);
  EXPECT_THAT(ran.err, HasSubstr("the folder of a finding was removed: "));
}

TEST_F(Recovery, LeftoversOfAKilledWriterGo) {
  ASSERT_EQ(fuzz({"--runs=1"}).code, kClean);
  const std::vector<std::string> leftovers = {"w/.tmp-1-0-stats.json", "w/corpus/.tmp-1-2-3.json",
                                              "w/findings/x/.tmp-1-4-case.json"};
  for (const std::string& name : leftovers) folder_.file(name, "{");
  const std::string outside = folder_.file(".tmp-1-0-x.json", ""),
                    foreign = folder_.file("w/mine/.tmp-1-0-x", "");
  EXPECT_EQ(fuzz({"--runs=1"}).code, kClean);
  for (const std::string& name : leftovers) EXPECT_FALSE(fs::exists(folder_ / name)) << name;
  EXPECT_TRUE(fs::exists(outside));
  EXPECT_TRUE(fs::exists(foreign)) << "campaigns do not write there";
}

TEST_F(Recovery, DamagedFilesAreSetAsideAndTheRestGoesOn) {
  ASSERT_EQ(fuzz({"--runs=20"}).code, kClean);
  const std::string corpus = fs::directory_iterator(folder_ / "w/corpus")->path().string();
  for (const std::string& file : {folder_ / "w/stats.json", folder_ / "w/campaign.json", corpus}) {
    const std::string whole = *read_file(file);
    folder_.file(fs::relative(file, folder_.string()).string(), whole.substr(0, whole.size() / 2));
    const Ran ran = fuzz({"--runs=10"});
    EXPECT_EQ(ran.code, kClean) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("damaged, now " + file + ".damaged; "));
    EXPECT_EQ(*read_file(file + ".damaged"), whole.substr(0, whole.size() / 2));
    if (!file.ends_with("stats.json")) {
      EXPECT_EQ(*read_file(file), whole);
    }
  }
  EXPECT_EQ(Json::parse(*read_file(folder_ / "w/stats.json"))["cases"], 30) << "judged again from the first";
  folder_.file("w/campaign.json", "");
  const Ran other = fuzz({"--runs=1", "--seed=9"});
  EXPECT_EQ(other.code, kUsage);
  EXPECT_THAT(other.err, HasSubstr("damaged, and stats.json is of a campaign with --seed=1"));
}

// Other flags would not mend it.
TEST_F(Recovery, AnEditedCampaignFileIsToRestore) {
  ASSERT_EQ(fuzz({"--runs=1"}).code, kClean);
  const std::string whole = *read_file(folder_ / "w/campaign.json"),
                    stats = *read_file(folder_ / "w/stats.json");
  const auto refused = [&](const std::string& text, const std::string& says) {
    folder_.file("w/campaign.json", text);
    const Ran ran = fuzz({"--runs=1"});
    EXPECT_EQ(ran.code, kUsage) << text;
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_THAT(ran.err,
                HasSubstr("w/campaign.json: " + says + "; restore it or give --workdir another folder"));
    EXPECT_EQ(*read_file(folder_ / "w/stats.json"), stats);
  };
  refused("{}", "expected the key \"seed\", which is missing");
  Json edited = Json::parse(whole);
  edited["seed"] = "one";
  refused(edited.dump(), "seed: expected a value like 1, got \"one\"");
  fs::remove(folder_ / "w/campaign.json");
  EXPECT_THAT(fuzz({"--runs=1"}).err, HasSubstr("w/stats.json: found without its campaign.json; restore it"));
  EXPECT_FALSE(fs::exists(folder_ / "w/campaign.json"));
}

// A smaller case fails in another way, and the folder of that finding cannot be made: what no counted case
// has is met only while the first finding is minimized.
TEST_F(Recovery, AFindingMetWhileAnotherIsMinimizedIsNotLostWithTheDisk) {
  const FailingBackend failing(
      [](const Graph& graph) { throw std::runtime_error(graph.nodes().size() > 1 ? "many" : "one"); },
      "crashing");
  const auto start = [&](const std::string& workdir) {
    return fusesmith_command({"fuzz", "--json", "--jobs=1", "--baseline=cpu", "--candidate=crashing",
                              "--seed=2", "--runs=1", "--workdir=" + (folder_ / workdir)});
  };
  const auto found_in = [&](const std::string& workdir) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / (workdir + "/findings"))) {
      if (fs::exists(entry.path() / "case.json")) names.insert(entry.path().filename().string());
    }
    return names;
  };
  ASSERT_EQ(start("whole").code, kFindings);
  std::set<std::string> others = found_in("whole");
  const std::string counted = "crash-crashing-graph-any-thrown";
  ASSERT_EQ(others.erase(counted), 1U);
  ASSERT_FALSE(others.empty()) << "a smaller case should fail in another way";

  fs::create_directories(folder_ / "w/findings");
  for (const std::string& other : others) folder_.file("w/findings/" + other, "in the way");
  const Ran failed = start("w");
  EXPECT_EQ(failed.code, kCannotWrite) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("the next start finds again what is in them"));
  EXPECT_EQ(found_in("w"), std::set<std::string>{counted});
  EXPECT_FALSE(is_finished(WorkPath(folder_ / ("w/findings/" + counted))));
  EXPECT_THAT(*read_file(folder_ / ("w/findings/" + counted + "/report.md")), HasSubstr("many"));

  for (const std::string& other : others) fs::remove(folder_ / ("w/findings/" + other));
  EXPECT_EQ(start("w").code, kFindings);
  EXPECT_EQ(found_in("w"), found_in("whole"));
  EXPECT_TRUE(is_finished(WorkPath(folder_ / ("w/findings/" + counted))));
}

TEST_F(Recovery, NamesMayComeInAnotherOrder) {
  ASSERT_EQ(fuzz({"--runs=1", "--skip_patterns=sdpa,einsum_to_gemm"}).code, kClean);
  EXPECT_EQ(fuzz({"--runs=1", "--skip_patterns=einsum_to_gemm,sdpa"}).code, kClean);
  EXPECT_EQ(fuzz({"--runs=1", "--skip_patterns=sdpa,sdpa,einsum_to_gemm"}).code, kClean);
  const Ran ran = fuzz({"--runs=1", "--skip_patterns=sdpa"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr("skip_patterns [\"sdpa\",\"einsum_to_gemm\"], not [\"sdpa\"]"));
}

}  // namespace
}  // namespace fusesmith::fuzz
