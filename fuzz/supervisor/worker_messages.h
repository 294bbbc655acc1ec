// What a campaign and its worker processes tell each other, as messages (fuzz/supervisor/frames.h). Both are
// the same program, so that messages need no version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/gpu.h"
#include "fuzz/run/environment.h"
#include "fuzz/supervisor/case_judge.h"

namespace fusesmith::fuzz {

// The argument with which the program is started as a worker, followed by the number of its threads. It
// inherits the journal (fuzz/supervisor/journal.h) as descriptor 3, and a socket for each thread from 4 on.
inline constexpr std::string_view kCampaignWorker = "campaign-worker";

// The first message, to the first thread; what the case depends on and reports contain.
struct WorkerSetup {
  CampaignOptions options;
  std::string program, commit;
  std::vector<Gpu> gpus;    // the one that it uses, if it has a name
  bool lists_gpus = false;  // it does nothing but to tell which GPUs there are
};

// The answer to it.
struct WorkerHello {
  std::string problem;              // why it cannot judge, in one line; else empty
  ExitCode code = kClean;           // of the problem
  std::string baseline, candidate;  // the pair that is judged
  Environment environment;          // for reports
  std::vector<Gpu> gpus;            // that there are
};

struct WorkerRequest {
  enum class Kind : uint8_t {
    judge,   // the case of this number, text, or these choices: a case of the campaign
    finish,  // the finding of this name: judge it again, minimize and report it
    query,   // this text: its verdict alone, for the minimizer
    // The answers to other_finding: whether it is on disk.
    kept,
    not_kept,
  };
  Kind kind = Kind::judge;
  std::string name, text = {};
  bool minimize = true;               // finish
  double max_seconds = 0;             // finish: FindingOptions::max_seconds
  std::vector<uint8_t> choices = {};  // judge
  double limits = 1;                  // judge: times the usual limits of time
};

// A verdict without its regions.
struct BriefVerdict {
  VerdictClass verdict = VerdictClass::identical;
  bool finding = false;
  std::optional<Signature> signature;
  std::vector<std::string> known;  // names of issues
  std::string reason;
};

struct WorkerReply {
  enum class Kind : uint8_t {
    done,
    other_finding,  // comes before `done`: one that was met while another was minimized
    interrupted,    // as it was asked to in the journal
    device_failed,  // nothing more runs in this process
    problem,        // a file cannot be read or written
  };
  Kind kind = Kind::done;
  Finished finished;     // judge; of other_finding, its signature and files
  BriefVerdict verdict;  // query
  std::string text;      // device_failed, problem: what happened
};

std::string to_message(const WorkerSetup& setup);
std::string to_message(const WorkerHello& hello);
std::string to_message(const WorkerRequest& request);
std::string to_message(const WorkerReply& reply);
// Nothing if the bytes are no such message: the sender's memory is damaged.
std::optional<WorkerSetup> parse_setup(std::string_view bytes);
std::optional<WorkerHello> parse_hello(std::string_view bytes);
std::optional<WorkerRequest> parse_request(std::string_view bytes);
std::optional<WorkerReply> parse_reply(std::string_view bytes);

BriefVerdict brief(const Verdict& verdict);
// For a judge of another process, which knows issues by itself.
Verdict verdict_of(const BriefVerdict& brief, const Judging& judging);

}  // namespace fusesmith::fuzz
