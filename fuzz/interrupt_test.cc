// Signals: what was done so far stays and is told, and the exit code is 72.
#include "fuzz/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "fuzz/generator.h"
#include "fuzz/test_support.h"

namespace fusesmith {
namespace {

using Json = nlohmann::json;

// Sends the process a signal while it works on its second case.
class Interrupting {
 public:
  explicit Interrupting(int signal)
      : backend_(
            [this, signal](const Graph&) {
              if (++cases_ == 2) kill(getpid(), signal);
            },
            "interrupting") {}

 private:
  int cases_ = 0;
  const FailingBackend backend_;
};

std::vector<std::string> cases(const TemporaryFolder& folder, uint64_t count) {
  std::vector<std::string> files;
  for (uint64_t i = 0; i < count; ++i)
    files.push_back(folder.file(std::to_string(i) + ".json", to_json(generate_case(5, 0, i))));
  return files;
}

Ran on_interrupting(std::vector<std::string> args) {
  args.insert(args.begin() + 1, {"--baseline=cpu", "--candidate=interrupting"});
  return fusesmith_command(args);
}

TEST(Interrupt, ReplayEndsAfterTheCaseAtHand) {
  const TemporaryFolder folder;
  const auto files = cases(folder, 4);
  {
    const Interrupting backend(SIGINT);
    const Ran ran = on_interrupting({"replay", "--json", folder.string()});
    EXPECT_EQ(ran.code, kInterrupted);
    EXPECT_EQ(ran.err, "fusesmith replay: interrupted after 2 cases\n");
    EXPECT_EQ(Json::parse(ran.out)["cases"].size(), 2U);
  }
  const Interrupting backend(SIGTERM);
  const Ran text = on_interrupting({"replay", files[0], files[1], files[2]});
  EXPECT_EQ(text.code, kInterrupted);
  EXPECT_NE(text.out.find("1.json: "), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("2.json: "), std::string::npos) << text.out;
}

TEST(Interrupt, GenerateKeepsWhatIsWritten) {
  const TemporaryFolder folder;
  std::jthread interrupter([&] {
    while (!std::filesystem::exists(folder / "g/1-0-0.json"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(getpid(), SIGINT);
  });
  const Ran ran = fusesmith_command({"generate", "--count=1000000", "--json", "--output=" + (folder / "g")});
  EXPECT_EQ(ran.code, kInterrupted);
  EXPECT_TRUE(ran.err.starts_with("fusesmith generate: interrupted after ")) << ran.err;
  auto told = Json::parse(ran.out)["files"].get<std::vector<std::string>>();
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, *list_json(folder / "g"));
}

TEST(Interrupt, AHangupEndsACampaignLikeATerm) {
  const TemporaryFolder folder;
  const Interrupting backend(SIGHUP);
  const Ran ran = on_interrupting({"fuzz", "--json", "--jobs=1", "--seed=2", "--workdir=" + (folder / "w")});
  EXPECT_EQ(ran.code, kInterrupted) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["cases"], 2);
  EXPECT_EQ(*read_file(folder / "w/stats.json"), ran.out);
}

TEST(Interrupt, NohupIsRespected) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const InterruptGuard guard;
    kill(getpid(), SIGHUP);
    EXPECT_FALSE(InterruptGuard::interrupted());
  }
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
}

TEST(InterruptDeathTest, ExplainHasNothingToKeep) {
  const TemporaryFolder folder;
  const std::string file = cases(folder, 1)[0];
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const FailingBackend backend([](const Graph&) { kill(getpid(), SIGINT); }, "interrupting");
  EXPECT_EXIT(_exit(on_interrupting({"explain", file}).code), testing::ExitedWithCode(kInterrupted), "");
}

TEST(InterruptDeathTest, TheSecondSignalEndsAtOnce) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto twice = [] {
    const InterruptGuard guard;
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
    _exit(0);
  };
  EXPECT_EXIT(twice(), testing::ExitedWithCode(kInterrupted), "");
}

}  // namespace
}  // namespace fusesmith
