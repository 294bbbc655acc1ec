// Campaigns that are continued with fewer flags, and what their work directories say of how they ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "backends/faults.h"
#include "backends/remote/child_process.h"
#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Resume : public testing::Test {
 protected:
  Ran fuzz(std::vector<std::string> more) const {
    more.insert(more.begin(), {"fuzz", "--json", "--jobs=1", "--workdir=" + (folder_ / "w")});
    return fusesmith_command(more);
  }
  std::string campaign() const { return *read_file(folder_ / "w/campaign.json"); }
  Json stats() const { return Json::parse(*read_file(folder_ / "w/stats.json")); }
  std::string state() const {
    return Json::parse(fusesmith_command({"whatsup", "--json", folder_ / "w"}).out)["campaigns"][0]["state"];
  }
  const TemporaryFolder folder_;
};

TEST_F(Resume, FlagsThatAreNotGivenComeFromTheCampaign) {
  std::vector<std::string> first = {"--runs=4",        "--baseline=cpu",       "--candidate=cpu_fused",
                                    "--seed=7",        "--shard=1/3",          "--policy=strict",
                                    "--data=lattice",  "--skip_patterns=sdpa", "--ops=softmax,matmul",
                                    "--metamorphic=3", "--engine=random",      "--minimize=0"};
  if (kFaultsBuilt) first.push_back("--faults=no_rescale,where_branches_swapped");
  fuzz(first);
  const std::string before = campaign();
  const Ran ran = fuzz({"--runs=4", "--minimize=0"});
  ASSERT_NE(ran.code, kUsage) << ran.err;
  EXPECT_EQ(campaign(), before);
  EXPECT_EQ(stats()["next_counter"], 8);
  EXPECT_EQ(stats()["seed"], 7);
  EXPECT_EQ(stats()["shard"], "1/3");
  const Json coverage = stats()["coverage"]["ops"];
  for (const auto& [op, count] : coverage.items()) EXPECT_TRUE(op == "softmax" || op == "matmul") << op;

  for (const std::string& given : first) {
    if (!given.starts_with("--runs")) {
      EXPECT_NE(fuzz({"--runs=1", "--minimize=0", given}).code, kUsage) << given;
    }
  }
}

// Also when the value is the default of the flag, and when an old campaign.json lacks the key.
TEST_F(Resume, AFlagThatIsGivenAndDiffersIsRefused) {
  fuzz({"--runs=1", "--minimize=0", "--baseline=cpu", "--candidate=cpu_fused", "--seed=7", "--policy=strict",
        "--metamorphic=3"});
  for (const auto& [flag, says] : {std::pair{"--seed=1", "seed 7, not 1"},
                                   {"--policy=lawful", "policy \"strict\", not \"lawful\""},
                                   {"--skip_patterns=sdpa", "skip_patterns [], not [\"sdpa\"]"},
                                   {"--metamorphic=64", "metamorphic 3, not 64"}}) {
    const Ran ran = fuzz({"--runs=1", flag});
    EXPECT_EQ(ran.code, kUsage) << flag;
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(says));
  }
  Json edited = Json::parse(campaign());
  edited["data"] = "poetry";
  folder_.file("w/campaign.json", edited.dump());
  const Ran ran = fuzz({"--runs=1"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("w/campaign.json: --data: expected one of "));
  edited.erase("data");
  edited.erase("metamorphic");
  edited["data"] = "mixed";
  folder_.file("w/campaign.json", edited.dump());
  EXPECT_NE(fuzz({"--runs=1", "--minimize=0"}).code, kUsage);
  EXPECT_EQ(stats()["cases"], 2);
}

TEST_F(Resume, WhatsupTellsHowACampaignEnded) {
  const std::vector<std::string> pair = {"--baseline=cpu", "--candidate=cpu_fused"};
  ASSERT_EQ(fuzz({"--runs=1", pair[0], pair[1]}).code, kClean);
  EXPECT_EQ(state(), "ended");
  const auto signalled = [&](int signal, int code, const std::string& wanted) {
    auto child =
        backends::ChildProcess::start({program(), "fuzz", "--jobs=1", "--workdir=" + (folder_ / "w")});
    ASSERT_TRUE(child.ok()) << child.problem();
    const int64_t cases = stats()["cases"];
    while (stats()["cases"] == cases) usleep(10'000);
    EXPECT_EQ(state(), "running");
    kill((*child)->id(), signal);
    while (!(*child)->ended_within(std::chrono::milliseconds(100))) {
    }
    EXPECT_THAT((*child)->how_it_ended(), HasSubstr(std::to_string(code)));
    child->reset();  // nobody has its id any more
    while (state() == "running") usleep(10'000);
    EXPECT_EQ(state(), wanted);
  };
  signalled(SIGTERM, kInterrupted, "interrupted");
  signalled(SIGUSR1, kPreempted, "preempted");
  signalled(SIGKILL, SIGKILL, "killed");
  EXPECT_EQ(fuzz({"--runs=1"}).code, kClean);
  EXPECT_EQ(state(), "ended");
  // As an earlier version wrote it, and one of a later version.
  Json old = stats();
  old["status"].erase("end");
  folder_.file("w/stats.json", old.dump());
  EXPECT_EQ(state(), "ended");
  old["status"]["end"] = "retired";
  folder_.file("w/stats.json", old.dump());
  EXPECT_EQ(state(), "ended");
  fs::remove(folder_ / "w/stats.json");
  EXPECT_EQ(state(), "killed") << "before it saved anything";
}

}  // namespace
}  // namespace fusesmith::fuzz
