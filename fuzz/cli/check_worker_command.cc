// The `check-worker` command: whether a worker speaks the protocol, and what it computes of each op.
#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "backends/remote/check_protocol.h"
#include "backends/remote/worker_names.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/cli/progress.h"
#include "fuzz/generate/generator.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/judging.h"
#include "graph/subgraph.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kCheckWorkerName = "check-worker";

struct CheckWorkerFlags {
  JudgeFlags judge;
  int64_t samples = 4;
  int64_t jobs = 1;
  uint64_t seed = 1;
  bool json = false;
  bool wide = false;
  std::vector<std::string> worker;

  FlagTable table();
};

using Json = nlohmann::ordered_json;

// What the worker did with the samples of one op.
struct OpResult {
  int64_t passed = 0, unsupported = 0, inconclusive = 0, known = 0, failed = 0;
  std::string first_reason, first_failure;
};

struct WorkerSample {
  std::string op;
  Case test_case;
};

// Single nodes of generated cases, on the inputs that they get there: at most `samples` for each op and
// dtype. From several threads.
class Samples {
 public:
  Samples(uint64_t seed, int64_t samples) : seed_(seed), samples_(samples) {}

  // Nothing after the last one.
  std::optional<WorkerSample> next() {
    constexpr uint64_t kCases = 2000;  // every op is made many times in these
    const std::lock_guard lock(mutex_);
    while (waiting_.empty() && number_ < kCases) take_nodes(generate_case(seed_, 0, number_++, {}));
    if (waiting_.empty()) return std::nullopt;
    WorkerSample sample = std::move(waiting_.front());
    waiting_.pop_front();
    return sample;
  }

 private:
  void take_nodes(const Case& whole) {
    std::vector<int> nodes;
    for (size_t n = 0; n < whole.graph.nodes().size(); ++n)
      if (wanted(whole.graph, whole.graph.nodes()[n])) nodes.push_back(static_cast<int>(n));
    if (nodes.empty()) return;
    const auto program = find_backend("cpu")->compile(whole.graph, {});
    std::vector<TensorPtr> inputs;
    for (Tensor& tensor : make_inputs(whole))
      inputs.push_back(std::make_shared<const Tensor>(std::move(tensor)));
    for (const State& s : whole.graph.states())
      inputs.push_back(std::make_shared<const Tensor>(data_of(whole, s)));
    const Trace trace = (*program)->run(inputs);
    for (const int node : nodes) {
      auto part = extract_region(whole, {&node, 1}, trace.values);
      if (part) waiting_.push_back({op_name(whole.graph.nodes()[node]), *std::move(part)});
    }
  }

  static std::string op_name(const Node& node) { return std::string(info(node.op).name); }

  bool wanted(const Graph& graph, const Node& node) {
    const std::string kind = semantic_name(node.op) + std::string(name(graph.type(node.first_output).dtype));
    return seen_[kind]++ < samples_;
  }

  const uint64_t seed_;
  const int64_t samples_;
  std::mutex mutex_;
  uint64_t number_ = 0;
  std::deque<WorkerSample> waiting_;
  std::map<std::string, int64_t> seen_;
};

class WorkerCheck {
 public:
  WorkerCheck(const CheckWorkerFlags& flags, std::string worker)
      : flags_(flags), worker_(std::move(worker)) {}

  bool check_protocol_of(const WorkerSpec& spec) {
    protocol_ = check_protocol(spec, flags_.judge.compile_timeout);
    return protocol_.back().problem.empty();
  }

  // In --jobs threads, each with a process of the worker.
  void check_ops(Console& console) {
    JudgeFlags judge = flags_.judge;
    judge.baseline = "cpu";
    judge.candidate = worker_;
    const Judging judging(judge);
    Samples samples(flags_.seed, flags_.samples);
    std::vector<std::future<void>> jobs;
    for (int64_t i = 0; i < flags_.jobs; ++i)
      jobs.push_back(std::async(std::launch::async, [&] { judge_samples(judging, samples); }));
    for (auto& job : jobs) {
      show_progress(
          console, [&](auto time) { return job.wait_for(time) == std::future_status::ready; },
          [&] { return counted(judged_, "sample") + " judged"; });
      job.get();
    }
  }

  // Why; null if it was started.
  const std::string* cannot_start() const {
    return protocol_.back().cannot_start ? &protocol_.back().problem : nullptr;
  }

  bool failed() const {
    if (!protocol_.back().problem.empty()) return true;
    return std::any_of(ops_.begin(), ops_.end(), [](const auto& op) { return op.second.failed > 0; });
  }

  std::string text(size_t columns) const {
    std::string text;
    for (const ProtocolCheck& check : protocol_)
      text += (check.problem.empty() ? "ok      " : "FAILED  ") + check.name +
              (check.problem.empty() ? "" : ": " + check.problem) + "\n";
    if (ops_.empty()) return text;
    std::vector<std::string> titles = {"op",           "passed", "unsupported",
                                       "inconclusive", "failed", "first reason"};
    const bool with_known = flags_.judge.known_issues != nullptr;
    if (with_known) titles.insert(titles.end() - 2, "known");
    Table table(std::move(titles));
    for (const auto& [op, result] : ops_) {
      std::vector<std::string> cells = {op,
                                        std::to_string(result.passed),
                                        std::to_string(result.unsupported),
                                        std::to_string(result.inconclusive),
                                        std::to_string(result.failed),
                                        result.failed > 0 ? result.first_failure : result.first_reason};
      if (with_known) cells.insert(cells.end() - 2, std::to_string(result.known));
      table.add(std::move(cells));
    }
    text += "\n" + table.text(0, columns);
    for (const auto& [issue, samples] : known_)
      text += "Known: " + counted(samples, "sample") + ", " + flags_.judge.known_issues->find(issue)->text() +
              "\n";
    return text;
  }

  Json json() const {
    Json protocol = Json::array(), ops = Json::object();
    for (const ProtocolCheck& check : protocol_)
      protocol.push_back(
          {{"check", check.name}, {"passed", check.problem.empty()}, {"problem", check.problem}});
    for (const auto& [op, result] : ops_)
      ops[op] = {{"passed", result.passed},
                 {"unsupported", result.unsupported},
                 {"inconclusive", result.inconclusive},
                 {"known", result.known},
                 {"failed", result.failed},
                 {"first_unsupported", result.first_reason},
                 {"first_failure", result.first_failure}};
    return {{"worker", worker_}, {"protocol", protocol}, {"ops", ops}, {"known", known_}};
  }

 private:
  void judge_samples(const Judging& judging, Samples& samples) {
    while (!Signals::interrupted()) {
      const auto sample = samples.next();
      if (!sample) return;
      const Verdict verdict = judging.run(sample->test_case).verdict;
      const std::lock_guard lock(mutex_);
      ++judged_;
      add(ops_[sample->op], verdict);
      for (const KnownFailure& failure : verdict.known) ++known_[failure.issue];
    }
  }

  static void add(OpResult& result, const Verdict& verdict) {
    if (verdict.finding) {
      if (result.failed++ == 0)
        result.first_failure =
            verdict.signature_text() + (verdict.reason.empty() ? "" : ": " + verdict.reason);
    } else if (!verdict.known.empty()) {
      ++result.known;
    } else if (verdict.verdict == VerdictClass::unsupported || is_shortage(verdict.verdict)) {
      if (result.unsupported++ == 0) result.first_reason = verdict.reason;
    } else if (verdict.verdict == VerdictClass::inconclusive) {
      ++result.inconclusive;
    } else {
      ++result.passed;
    }
  }

  const CheckWorkerFlags& flags_;
  const std::string worker_;
  std::vector<ProtocolCheck> protocol_;
  std::mutex mutex_;  // of what follows
  std::atomic<int64_t> judged_ = 0;
  std::map<std::string, OpResult> ops_;
  std::map<std::string, int64_t> known_;  // samples that fail by a known issue, by its name
};

FlagTable CheckWorkerFlags::table() {
  FlagTable table;
  table.command = kCheckWorkerName;
  table.doc = "check that a worker speaks the protocol, and judge it op by op.";
  table.details =
      "WORKER is a name such as torch:eager or plugin:PATH.so; `fusesmith list backends` lists them. COMMAND "
      "starts a program of yours.\n"
      "\n"
      "Starts the worker and checks its answers against docs/workers.md. Then it judges single nodes of "
      "generated graphs, on the inputs that they get there, with the worker as the candidate, and prints for "
      "each op how many passed, which the worker does not support, and which failed.\n"
      "\n"
      "With --known, a sample that fails only by known issues is counted apart and is no failure.\n"
      "\n"
      "Exit codes: 0 all passed, unsupported or known, 1 wrong usage, or the worker cannot be started here, "
      "72 "
      "interrupted, 77 a check failed.";
  table.positional = {"WORKER|COMMAND", &worker, 1, 1};
  judge.add_to(table.flags);
  std::erase_if(table.flags, [](const Flag& flag) {
    static constexpr std::string_view kTaken[] = {"policy", "compile_timeout", "run_timeout", "known"};
    return std::find(std::begin(kTaken), std::end(kTaken), flag.name) == std::end(kTaken);
  });
  table.flags.push_back({.name = "samples",
                         .target = &samples,
                         .value = "N",
                         .doc = "Nodes to judge of each op, with its attributes, and dtype.",
                         .lo = 1,
                         .hi = 1e6});
  table.flags.push_back({.name = "jobs",
                         .target = &jobs,
                         .value = "N",
                         .doc = "Number of processes of the worker, each of which judges samples.",
                         .lo = 1,
                         .hi = 1024});
  table.flags.push_back(
      {.name = "seed", .target = &seed, .value = "N", .doc = "Which graphs are generated.", .hi = 0x1p64});
  table.flags.push_back(wide_flag(wide));
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there."});
  table.examples = {{"check-worker torch:eager", "Check our own worker for PyTorch."},
                    {"check-worker torch:inductor --jobs=8", "Check one that compiles slowly."},
                    {"check-worker \"python3 my_worker.py\"", "Check a program of yours."}};
  return table;
}

int run(CheckWorkerFlags& flags, Console& console) {
  const std::string worker = worker_kind(flags.worker[0]) ? flags.worker[0] : "remote:" + flags.worker[0];
  allow_worker(worker);
  const auto spec = worker_spec(worker);
  if (!spec) return fail(console, kCheckWorkerName, spec.problem());
  if (const auto problem = flags.judge.read_known()) return fail(console, kCheckWorkerName, problem->what);
  Signals::finish_first();
  WorkerCheck check(flags, worker);
  if (check.check_protocol_of(*spec)) check.check_ops(console);
  if (const std::string* why = check.cannot_start())
    return fail(console, kCheckWorkerName, flags.worker[0] + " cannot be started: " + *why);
  if (flags.json)
    console.out << check.json().dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  else
    console.out << check.text(flags.wide ? kAllColumns : kColumns);
  if (Signals::interrupted()) return fail(console, kCheckWorkerName, "interrupted", kInterrupted);
  return check.failed() ? kFindings : kClean;
}

}  // namespace

Command check_worker_command() { return command_of<CheckWorkerFlags>(); }

}  // namespace fusesmith::fuzz
