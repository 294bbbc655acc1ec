#include "fuzz/supervisor/campaign_worker.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <system_error>
#include <thread>

#include "backends/remote/worker_names.h"
#include "fuzz/findings/finding.h"
#include "fuzz/findings/finding_record.h"
#include "fuzz/run/case_files.h"
#include "fuzz/run/gpus.h"
#include "fuzz/supervisor/frames.h"
#include "fuzz/supervisor/journal.h"
#include "fuzz/supervisor/worker_messages.h"
#include "fuzz/workdir/work_directory.h"
#include "graph/op_traits.h"

namespace fusesmith::fuzz {

namespace {

constexpr int kJournal = 3, kFirstSocket = 4;
constexpr int kMostThreads = 4096;

thread_local JournalSlot* slot_of_thread = nullptr;

// How long a stage of the case may take, in ms: 1 / `share` of its limit. Cases of a corpus may be much
// larger than generated ones, whose time limit grows with their multiply-adds. A case without a graph is one
// that is still to be made.
int64_t patience(const Case& test_case, const CampaignOptions& options, double share = 1) {
  constexpr double kCampaignOperations = 1e9;  // of a graph, with all that generated graphs have and more
  if (options.timeout <= 0) return kNoLimit;
  const Graph& graph = test_case.graph;
  double operations = 0;
  for (const Node& node : graph.nodes()) {
    std::vector<TensorType> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(graph.type(v));
    operations += static_cast<double>(work_of(node.op, inputs, graph.type(node.first_output)).operations);
  }
  constexpr double kLeast = 1;
  double seconds =
      std::max(kLeast, options.timeout * std::max(1.0, operations / kCampaignOperations) / share);
  // A worker of another program has limits of its own for each of its answers.
  constexpr int kAnswers = 4;
  if (worker_kind(options.judge.baseline) || worker_kind(options.judge.candidate))
    seconds += kAnswers * std::max(options.judge.compile_timeout, options.judge.run_timeout);
  return static_cast<int64_t>(std::min(seconds * 1000, static_cast<double>(kNoLimit)));
}

// All that the threads share.
class Server {
 public:
  Server(const WorkerSetup& setup, Judging judging, Journal& journal)
      : setup_(setup), journal_(journal), source_(setup.options), judging_(std::move(judging)) {
    judging_.options.stop = [this] { return journal_.stopped(); };
    judging_.options.on_stage = [](Stage stage, BackendRole role) {
      if (slot_of_thread) slot_of_thread->begin(stage, role);
    };
    quick_ = judging_.quick();
    by_case_ = quick_;
    by_case_.options.skip_patterns.clear();
    by_case_.options.implicit_casts.reset();
  }

  void serve(int index) {
    slot_of_thread = &journal_.slot(index);
    const int socket = kFirstSocket + index;
    while (const auto message = read_message(socket)) {
      const auto request = parse_request(*message);
      if (!request) break;
      const WorkerReply reply = answer(*request, socket);
      slot_of_thread->end_case();
      if (!write_message(socket, to_message(reply))) break;
    }
    _exit(kClean);  // the supervisor has gone
  }

 private:
  static WorkerReply telling(WorkerReply::Kind kind, std::string text = "") {
    WorkerReply reply;
    reply.kind = kind;
    reply.text = std::move(text);
    return reply;
  }

  WorkerReply answer(const WorkerRequest& request, int socket) {
    try {
      slot_of_thread->begin_case(patience({}, setup_.options));
      switch (request.kind) {
        case WorkerRequest::Kind::judge:
          return judge(request);
        case WorkerRequest::Kind::finish:
          return finish(request, socket);
        case WorkerRequest::Kind::query:
          return query(request);
        case WorkerRequest::Kind::kept:
        case WorkerRequest::Kind::not_kept:
          break;
      }
      return telling(WorkerReply::Kind::problem, "no such request");
    } catch (const Interrupted&) {
      return telling(WorkerReply::Kind::interrupted);
    } catch (const DeviceError& error) {
      return telling(WorkerReply::Kind::device_failed, error.what());
    }
  }

  WorkerReply judge(const WorkerRequest& request) const {
    CampaignCase judged;
    if (request.text.empty()) {
      uint64_t counter = 0;
      std::from_chars(request.name.data(), request.name.data() + request.name.size(), counter);
      judged = source_.generated(counter, request.choices);
    } else {
      auto test_case = parse_case(request.text);
      if (!test_case) return telling(WorkerReply::Kind::problem, test_case.problem());
      judged = source_.given(std::move(*test_case));
    }
    WorkerReply reply;
    slot_of_thread->begin_case(static_cast<int64_t>(
        request.limits * static_cast<double>(patience(judged.test_case, setup_.options))));
    reply.finished = judge_case(judged, quick_.with_limits(request.limits));
    return reply;
  }

  WorkerReply finish(const WorkerRequest& request, int socket) const {
    const WorkPath folder = WorkPath(setup_.options.workdir) / "findings" / request.name;
    const auto start = read_work_case(folder / kCaseFile);
    if (!start) return telling(WorkerReply::Kind::problem, start.problem());
    slot_of_thread->begin_case(patience(*start, setup_.options));
    FindingOptions options;
    options.judging = without_issue_of(judging_, request.name);
    options.flags = setup_.options.judge.beside_case().text();
    options.program = setup_.program;
    options.commit = setup_.commit;
    options.environment = environment_of({judging_.baseline, judging_.candidate}, setup_.commit, setup_.gpus);
    options.minimize = request.minimize;
    options.why_not_minimized = request.text;
    options.max_seconds = request.max_seconds;
    options.stop = judging_.options.stop;
    const auto tell_other = [&](const Verdict& verdict, const Case& test_case) {
      WorkerReply other = telling(WorkerReply::Kind::other_finding);
      other.finished = finished_of(verdict, test_case);
      if (!write_message(socket, to_message(other))) return false;
      const auto answer = read_message(socket);
      const auto kept = answer ? parse_request(*answer) : std::nullopt;
      return kept && kept->kind == WorkerRequest::Kind::kept;
    };
    const auto problem = finish_finding(folder, request.name, options, tell_other);
    return problem ? telling(WorkerReply::Kind::problem, problem->what) : WorkerReply{};
  }

  // Its case holds the options of the campaign. A case that hangs is minimized by cases that hang: these have
  // less time, as they are smaller than a case that was seen to take all of its time. The limits of workers
  // of other programs stay: a compiler takes seconds for the smallest graph.
  WorkerReply query(const WorkerRequest& request) const {
    const auto test_case = parse_case(request.text);
    if (!test_case) return telling(WorkerReply::Kind::problem, test_case.problem());
    constexpr double kShare = 30;
    slot_of_thread->begin_case(patience(*test_case, setup_.options, kShare));
    WorkerReply reply;
    reply.verdict = brief(by_case_.run(*test_case).verdict);
    return reply;
  }

  const WorkerSetup& setup_;
  Journal& journal_;
  const CaseSource source_;
  Judging judging_, quick_{judging_}, by_case_{judging_};
};

WorkerHello hello_of(WorkerSetup& setup, std::optional<Judging>& judging) {
  WorkerHello hello;
  if (setup.lists_gpus) {
    auto gpus = gpus_here();
    if (gpus) hello.gpus = std::move(*gpus);
    if (!gpus) hello.problem = "--gpus: " + gpus.problem();
    hello.code = kHasCuda ? kDeviceUnhealthy : kUsage;
    return hello;
  }
  JudgeFlags& flags = setup.options.judge;
  for (const std::string* name : {&flags.baseline, &flags.candidate})
    allow_worker(*name);  // the supervisor's
  if (const auto why = flags.cannot_run()) {
    hello.problem = why->why;
    hello.code = why->code;
    return hello;
  }
  if (const auto problem = flags.read_known()) {
    hello.problem = problem->what;
    hello.code = kUsage;
    return hello;
  }
  judging.emplace(flags);
  hello.baseline = flags.baseline = judging->baseline;
  hello.candidate = flags.candidate = judging->candidate;
  hello.environment = environment_of({judging->baseline, judging->candidate}, setup.commit, setup.gpus);
  return hello;
}

// The supervisor ends the process. What a terminal or a batch system sends to all processes of a job is the
// supervisor's to answer; only SIGTERM, by which it may end this process, is left as it is.
void leave_signals_to_the_supervisor() {
  for (const int signal : {SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ, SIGPIPE})
    std::signal(signal, SIG_IGN);
}

// Until the process ends.
[[noreturn]] void beat(Journal& journal) {
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(200))) journal.beat();
}

}  // namespace

void serve_campaign(const std::string& text) {
  leave_signals_to_the_supervisor();
  dup2(STDERR_FILENO, STDOUT_FILENO);  // nobody reads the standard output
  int threads = 0;
  std::from_chars(text.data(), text.data() + text.size(), threads);
  const auto journal = threads > 0 && threads <= kMostThreads ? Journal::open(kJournal, threads) : nullptr;
  const auto message = journal ? read_message(kFirstSocket) : std::nullopt;
  auto setup = message ? parse_setup(*message) : std::nullopt;
  if (!setup) {
    std::fprintf(stderr, "fusesmith: campaign-worker is started by `fusesmith fuzz`\n");
    _exit(kUsage);
  }
  for (int i = 0; i < threads; ++i) make_private(kFirstSocket + i);
  make_private(kJournal);
  std::thread([&] { beat(*journal); }).detach();
  std::optional<Judging> judging;
  WorkerHello hello = hello_of(*setup, judging);
  std::optional<Server> server;
  try {
    if (judging) {
      server.emplace(*setup, *judging, *journal);
      for (int i = 0; i < threads; ++i) std::thread([&, i] { server->serve(i); }).detach();
    }
  } catch (const std::system_error&) {
    hello.problem = "cannot start " + std::to_string(threads) + " threads; give fewer --jobs";
    hello.code = kOutOfMemory;
  }
  if (!write_message(kFirstSocket, to_message(hello))) _exit(kClean);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0 || errno == EINTR) {
  }
  _exit(kClean);
}

}  // namespace fusesmith::fuzz
