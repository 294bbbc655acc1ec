// Signals: what was done so far stays and is told, and the exit code is 72.
#include "fuzz/base/interrupt_test.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "fuzz/cli/test_support.h"
#include "fuzz/generate/generator.h"
#include "fuzz/report/finding_markdown.h"
#include "fuzz/report/first_report.h"

namespace fusesmith::fuzz {
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
  const CaughtSignals caught(args[0]);
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
  const CaughtSignals caught("generate");
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
  // The backend counts the graphs that it compiles, of which metamorphic checks have some more.
  const Ran ran = on_interrupting(
      {"fuzz", "--json", "--jobs=1", "--seed=2", "--metamorphic=0", "--workdir=" + (folder / "w")});
  EXPECT_EQ(ran.code, kInterrupted) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["cases"], 2);
  EXPECT_EQ(*read_file(folder / "w/stats.json"), ran.out);
}

// cpu_fused, told of each step before it is run.
class Stepping : public Backend {
 public:
  using Before = std::function<void(int64_t step)>;
  explicit Stepping(Before before) : before_(std::move(before)), listed_(*this) {}
  std::string_view name() const override { return "stepping"; }
  std::string_view doc() const override { return "tells of its steps"; }
  std::optional<std::string> unavailable() const override { return {}; }
  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    auto program = cpu_fused_backend().compile(graph, options);
    if (!program) return Problem{program.problem()};
    return std::unique_ptr<Program>(new Steps(std::move(*program), before_));
  }

 private:
  struct Steps : Program {
    Steps(std::unique_ptr<Program> of, const Before& tell) : program(std::move(of)), before(tell) {}
    const Plan& plan() const override { return program->plan(); }
    Trace run(std::span<const TensorPtr> inputs) override {
      before(step++);
      return program->run(inputs);
    }
    std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override {
      return program->recheck(inputs, trace);
    }
    const std::unique_ptr<Program> program;
    const Before& before;
    int64_t step = 0;
  };
  const Before before_;
  const ListedBackend listed_;
};

constexpr int64_t kSteps = 200, kSignalled = 3;

// A case of many steps, and a backend that counts them and sends the signal at one.
class InterruptBetweenSteps : public testing::Test {
 protected:
  InterruptBetweenSteps() {
    Builder b;
    b.output(b.node(Relu{}, {b.input("x", {Dtype::f32, {2}}, Normal{})}, "y"));
    Case test_case;
    test_case.steps = kSteps;
    test_case.graph = *b.build();
    file_ = folder_.file("cases/0.json", to_json(test_case));
  }
  Ran run(std::vector<std::string> args) {
    const CaughtSignals caught(args[0]);
    run_ = 0;
    args.insert(args.begin() + 1, {"--baseline=cpu", "--candidate=stepping"});
    return fusesmith_command(args);
  }
  Ran fuzz(std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"fuzz", "--json", "--jobs=1", "--workdir=" + (folder_ / "w"), folder_ / "cases"});
    return run(more);
  }

  const TemporaryFolder folder_;
  std::string file_;
  int64_t run_ = 0;
  int signal_ = SIGINT;  // 0: none
  std::function<void(int64_t)> also_;
  const Stepping backend_{[this](int64_t step) {
    ++run_;
    if (step == kSignalled && signal_) raise(signal_);  // to this thread, so that it has come when it returns
    if (also_) also_(step);
  }};
};

TEST_F(InterruptBetweenSteps, ReplayTellsNothingOfTheCase) {
  const Ran ran = run({"replay", "--json", file_, file_});
  EXPECT_EQ(ran.code, kInterrupted);
  EXPECT_EQ(run_, kSignalled + 1);
  EXPECT_EQ(ran.err, "fusesmith replay: interrupted after 0 cases\n");
  EXPECT_TRUE(Json::parse(ran.out)["cases"].empty());
}

TEST_F(InterruptBetweenSteps, MinimizeWritesNothing) {
  signal_ = SIGTERM;
  const Ran ran = run({"minimize", "--output=" + (folder_ / "min.json"), file_});
  EXPECT_EQ(ran.code, kInterrupted);
  EXPECT_EQ(run_, kSignalled + 1);
  EXPECT_EQ(ran.err, "fusesmith minimize: interrupted, nothing written\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "min.json"));
}

TEST_F(InterruptBetweenSteps, ACampaignDoesTheCaseAgain) {
  const Ran ran = fuzz();
  EXPECT_EQ(ran.code, kInterrupted) << ran.err;
  EXPECT_EQ(run_, kSignalled + 1);
  const Json stats = Json::parse(ran.out);
  EXPECT_EQ(stats["cases"], 0);
  EXPECT_EQ(stats["corpus"]["done"], 0);
  EXPECT_EQ(*read_file(folder_ / "w/stats.json"), ran.out);
  EXPECT_TRUE(list_json(folder_ / "w/corpus")->empty());
  signal_ = 0;
  const Ran again = fuzz({"--runs=1"});
  EXPECT_EQ(again.code, kClean) << again.err;
  EXPECT_GE(run_, kSteps);
  EXPECT_EQ(Json::parse(again.out)["cases"], 2);
}

// Once the finding is on disk and counted, the signal comes while it is judged again for its report.
TEST_F(InterruptBetweenSteps, AFindingIsReportedByTheNextStart) {
  bool seen = false;
  signal_ = 0;
  also_ = [&](int64_t step) {
    if (step == 0 && seen) raise(SIGINT);
    if (step < 2) return;
    seen = true;
    throw std::runtime_error("no luck");
  };
  const Ran ran = fuzz();
  EXPECT_EQ(ran.code, kInterrupted) << ran.err;
  const Json stats = Json::parse(ran.out);
  EXPECT_EQ(stats["cases"], 1);
  ASSERT_EQ(stats["findings"].size(), 1U);
  const std::string at = folder_ / ("w/findings/" + stats["findings"].begin().key() + "/");
  EXPECT_TRUE(std::filesystem::exists(at + "case.json"));
  EXPECT_TRUE(std::filesystem::exists(at + "verdict.json")) << "as the campaign saw it";
  EXPECT_FALSE(std::filesystem::exists(at + "min.json"));
  const std::string first = *read_file(at + "report.md");
  EXPECT_TRUE(first.starts_with(kNotFinished)) << "the summary names it, so that it must be there";
  EXPECT_NE(first.find("no luck"), std::string::npos) << first;
  EXPECT_TRUE(first.ends_with(kReportEnd));
  also_ = [](int64_t step) {
    if (step == 2) throw std::runtime_error("no luck");
  };
  EXPECT_EQ(fuzz({"--runs=1"}).code, kFindings);
  EXPECT_TRUE(std::filesystem::exists(at + "verdict.json"));
  EXPECT_FALSE(read_file(at + "report.md")->starts_with(kNotFinished));
}

TEST(Interrupt, NohupIsRespected) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  const CaughtSignals caught("fuzz");
  Signals::finish_first();
  raise(SIGHUP);
  EXPECT_FALSE(Signals::interrupted());
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
    Signals::catch_all("fuzz");
    Signals::finish_first();
    raise(SIGTERM);
    raise(SIGINT);
    _exit(0);
  };
  EXPECT_EXIT(twice(), testing::ExitedWithCode(kInterrupted), "");
}

// Of a command that has not begun, or has nothing to finish.
TEST(InterruptDeathTest, TheFirstSignalEndsAtOnce) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto once = [](std::string_view command, int signal) {
    Signals::catch_all(command);
    raise(signal);
    _exit(0);
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    EXPECT_EXIT(once("fuzz", signal), testing::ExitedWithCode(kInterrupted), "");
  for (const int signal : {SIGUSR1, SIGUSR2, SIGXCPU}) {
    EXPECT_EXIT(once("fuzz", signal), testing::ExitedWithCode(kPreempted), "");
    EXPECT_EXIT(once("merge", signal), testing::ExitedWithCode(kPreempted), "");
    EXPECT_EXIT(once("explain", signal), testing::ExitedWithCode(kInterrupted), "");
  }
}

// What came before a command can finish what it is at, and what came while another signal was blocked.
TEST(Interrupt, NothingIsForgotten) {
  const CaughtSignals caught("fuzz");
  Signals::finish_first();
  EXPECT_FALSE(Signals::interrupted());
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &one, nullptr);
  raise(SIGUSR1);
  EXPECT_FALSE(Signals::interrupted());
  Signals::catch_all("fuzz");
  EXPECT_TRUE(Signals::preempted());
  Signals::finish_first();
  EXPECT_TRUE(Signals::preempted());
  raise(SIGTERM);
  EXPECT_TRUE(Signals::interrupted());
  EXPECT_FALSE(Signals::preempted());
}

}  // namespace
}  // namespace fusesmith::fuzz
