#include "fuzz/supervisor/worker_messages.h"

#include <algorithm>

#include "fuzz/base/bytes.h"

namespace fusesmith::fuzz {

template <class Archive>
void transfer(Archive& archive, Signature& signature) {
  archive(signature.verdict, signature.backend, signature.component, signature.dtype, signature.symptom);
}

// Names every member, so that a new flag that the workers would not get does not compile. They read known
// issues from the file.
template <class Archive>
void transfer(Archive& archive, JudgeFlags& flags) {
  auto& [baseline, candidate, policy, skip_patterns, faults, compile_timeout, run_timeout, expose, sample,
         known, known_issues] = flags;
  static_cast<void>(known_issues);
  archive(baseline, candidate, policy, skip_patterns, faults, compile_timeout, run_timeout, expose, sample,
          known);
}

// Not what the workers have no use for: limits of the campaign, files of the corpus.
template <class Archive>
void transfer(Archive& archive, CampaignOptions& options) {
  archive(options.judge, options.seed, options.shard, options.engine, options.data, options.ops,
          options.require, options.metamorphic, options.workdir, options.timeout);
}

template <class Archive>
void transfer(Archive& archive, GenerationCoverage& coverage) {
  archive(coverage.cases, coverage.nodes, coverage.ops, coverage.pieces, coverage.examples,
          coverage.near_misses, coverage.fills, coverage.dtypes);
}

template <class Archive>
void transfer(Archive& archive, CaseOutcome& outcome) {
  archive(outcome.verdict, outcome.signature, outcome.known, outcome.arithmetic, outcome.unsupported,
          outcome.out_of_memory, outcome.patterns, outcome.coverage, outcome.events, outcome.metamorphic,
          outcome.baseline_resolution, outcome.candidate_resolution, outcome.exact, outcome.invalid);
}

template <class Archive>
void transfer(Archive& archive, NewFinding& found) {
  archive(found.case_text, found.verdict_text, found.title, found.what);
}

template <class Archive>
void transfer(Archive& archive, Finished& finished) {
  archive(finished.outcome, finished.found, finished.problem);
}

template <class Archive>
void transfer(Archive& archive, BriefVerdict& verdict) {
  archive(verdict.verdict, verdict.finding, verdict.signature, verdict.known, verdict.reason);
}

template <class Archive>
void transfer(Archive& archive, Gpu& gpu) {
  archive(gpu.uuid, gpu.name);
}

template <class Archive>
void transfer(Archive& archive, WorkerSetup& setup) {
  archive(setup.options, setup.program, setup.commit, setup.gpus, setup.lists_gpus);
}

template <class Archive>
void transfer(Archive& archive, WorkerHello& hello) {
  archive(hello.problem, hello.code, hello.baseline, hello.candidate, hello.environment, hello.gpus);
}

template <class Archive>
void transfer(Archive& archive, WorkerRequest& request) {
  archive(request.kind, request.name, request.text, request.minimize, request.max_seconds, request.choices,
          request.limits);
}

template <class Archive>
void transfer(Archive& archive, WorkerReply& reply) {
  archive(reply.kind, reply.finished, reply.verdict, reply.text);
}

std::string to_message(const WorkerSetup& setup) { return to_bytes(setup); }
std::string to_message(const WorkerHello& hello) { return to_bytes(hello); }
std::string to_message(const WorkerRequest& request) { return to_bytes(request); }
std::string to_message(const WorkerReply& reply) { return to_bytes(reply); }

std::optional<WorkerSetup> parse_setup(std::string_view bytes) { return from_bytes<WorkerSetup>(bytes); }
std::optional<WorkerHello> parse_hello(std::string_view bytes) { return from_bytes<WorkerHello>(bytes); }
std::optional<WorkerRequest> parse_request(std::string_view bytes) {
  return from_bytes<WorkerRequest>(bytes);
}

namespace {

// It names a folder.
bool is_signature(const std::string& text) {
  constexpr size_t kMost = 255;
  const auto is_safe = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= kMost && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), is_safe);
}

}  // namespace

// What indexes or names something is checked: a kernel may have written over the worker's memory.
std::optional<WorkerReply> parse_reply(std::string_view bytes) {
  auto reply = from_bytes<WorkerReply>(bytes);
  if (!reply) return {};
  const auto is_class = [](VerdictClass verdict) {
    return static_cast<size_t>(verdict) < kVerdictNames.size();
  };
  const CoverageEvents& events = reply->finished.outcome.events;
  const bool known_cells =
      std::all_of(events.begin(), events.end(), [](uint32_t cell) { return cell < coverage_cells().size(); });
  const auto& signature = reply->verdict.signature;
  const bool known_signature =
      !signature ||
      (is_class(signature->verdict) && static_cast<size_t>(signature->symptom) < kSymptomNames.size() &&
       (!signature->dtype || static_cast<size_t>(*signature->dtype) < kDtypes.size()));
  const std::string& named = reply->finished.outcome.signature;
  if ((reply->finished.found || !named.empty()) && !is_signature(named)) return {};
  if (!known_cells || !known_signature || !is_class(reply->finished.outcome.verdict) ||
      !is_class(reply->verdict.verdict) || reply->kind > WorkerReply::Kind::problem)
    return {};
  return reply;
}

BriefVerdict brief(const Verdict& verdict) {
  BriefVerdict brief{verdict.verdict, verdict.finding, verdict.signature, {}, verdict.reason};
  for (const KnownFailure& failure : verdict.known) brief.known.push_back(failure.issue);
  return brief;
}

Verdict verdict_of(const BriefVerdict& brief, const Judging& judging) {
  Verdict verdict;
  verdict.verdict = brief.verdict;
  verdict.finding = brief.finding;
  verdict.signature = brief.signature;
  verdict.reason = brief.reason;
  for (const std::string& issue : brief.known)
    verdict.known.push_back({issue, brief.signature.value_or(Signature{})});
  verdict.baseline.backend = judging.baseline;
  verdict.candidate.backend = judging.candidate;
  return verdict;
}

}  // namespace fusesmith::fuzz
