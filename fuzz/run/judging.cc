#include "fuzz/run/judging.h"

#include <charconv>
#include <exception>
#include <future>
#include <new>
#include <system_error>

#include "backends/demo/demo_backend.h"
#include "backends/process_faults.h"
#include "backends/remote/remote_backend.h"
#include "backends/remote/worker_names.h"
#include "backends/rewrite/pattern.h"
#include "fuzz/base/table.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/case_files.h"
#include "fuzz/run/known_names.h"
#include "fuzz/run/named_by_files.h"
#include "graph/expand.h"

namespace fusesmith::fuzz {

namespace {

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Backend* backend : all_backends()) names.emplace_back(backend->name());
  return names;
}

std::vector<std::string_view> worker_prefixes() {
  std::vector<std::string_view> prefixes;
  for (const WorkerKind& kind : worker_kinds()) prefixes.push_back(kind.prefix);
  return prefixes;
}

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const Pattern& pattern : all_patterns()) names.emplace_back(pattern.name);
  return names;
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const FaultInfo& fault : all_faults()) names.emplace_back(fault.name);
  names.insert(names.end(), process_faults().begin(), process_faults().end());
  return names;
}

// Also the one of `fusesmith demo`, which is not listed.
std::vector<std::string> candidate_names() {
  std::vector<std::string> names = backend_names();
  names.emplace_back(kDemoBackend);
  return names;
}

// What other builds have.
std::vector<std::pair<std::string_view, std::string_view>> missing_backends() {
  std::vector<std::pair<std::string_view, std::string_view>> missing;
  for (const std::string_view name : kBackendsOfAllBuilds) {
    if (!find_backend(name))
      missing.emplace_back(name, "this build has no CUDA; configure with -DFUSESMITH_CUDA=ON");
  }
  return missing;
}

bool can_run(std::string_view name) {
  const Backend* backend = find_backend(name);
  return backend && !backend->unavailable();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// Why each cannot run here. Workers are started for this, which takes seconds where they load a library: all
// at the same time. Null: nothing is asked.
std::vector<std::optional<std::string>> why_unavailable(const std::vector<const Backend*>& backends,
                                                        double start_seconds) {
  std::vector<std::future<std::optional<std::string>>> answers;
  for (const Backend* backend : backends) {
    // Where no thread can be started, it is asked when the answer is needed.
    answers.push_back(std::async(std::launch::async | std::launch::deferred, [=] {
      return backend ? backends::why_unavailable(*backend, start_seconds) : std::nullopt;
    }));
  }
  std::vector<std::optional<std::string>> all;
  for (auto& answer : answers) all.push_back(answer.get());
  return all;
}

std::string why_not_run(const std::string& baseline, const std::string& candidate, double start_seconds) {
  const std::string* const names[] = {&baseline, &candidate};
  std::vector<const Backend*> pair;
  for (const std::string* name : names) {
    pair.push_back(find_backend(*name));
    if (!pair.back()) return "no backend '" + *name + "' here; this build has " + list_text(backend_names());
  }
  if (pair[0] == pair[1]) pair.pop_back();
  const auto why = why_unavailable(pair, start_seconds);
  for (size_t i = 0; i < why.size(); ++i) {
    if (why[i]) return *names[i] + " cannot run on this machine: " + *why[i];
  }
  return "";
}

Verdict broken(VerdictClass verdict, const Judging& judging, const Case& test_case,
               const std::string& reason) {
  Verdict broken;
  broken.steps = test_case.steps;
  broken.verdict = verdict;
  broken.reason = reason;
  broken.baseline.backend = judging.baseline;
  broken.candidate.backend = judging.candidate;
  return broken;
}

// Of a case that was not judged, because a backend failed.
Signature failure_of(const std::string& backend, const Case& test_case, VerdictClass verdict,
                     Symptom symptom) {
  const std::string component =
      test_case.graph.nodes().size() == 1 ? semantic_name(test_case.graph.nodes()[0].op) : "graph";
  return {verdict, backend, component, {}, symptom};
}

Verdict crash(const Judging& judging, const Case& test_case, const std::string& reason, Symptom symptom,
              const FindIssue& find_issue = {}) {
  Verdict verdict = broken(VerdictClass::crash, judging, test_case, reason);
  verdict.fail(failure_of(judging.candidate, test_case, VerdictClass::crash, symptom), find_issue);
  return verdict;
}

CaseRun without_programs(Verdict verdict) {
  CaseRun run;
  run.verdict = std::move(verdict);
  return run;
}

}  // namespace

void JudgeFlags::add_to(std::vector<Flag>& flags) {
  flags.push_back({.name = "baseline",
                   .target = &baseline,
                   .value = "NAME",
                   .doc =
                       "The backend to compare with, or a worker, such as torch:eager; see `fusesmith list "
                       "backends`.",
                   .default_text = "cuda if a GPU is available, otherwise cpu",
                   .choices = backend_names(),
                   .prefixes = worker_prefixes(),
                   .missing_choices = missing_backends(),
                   .given = allow_worker});
  flags.push_back({.name = "candidate",
                   .target = &candidate,
                   .value = "NAME",
                   .doc = "The backend under test, or a worker.",
                   .default_text = "cuda_fused if a GPU is available, otherwise cpu_fused",
                   .choices = candidate_names(),
                   .prefixes = worker_prefixes(),
                   .missing_choices = missing_backends(),
                   .given = allow_worker});
  flags.push_back({.name = "policy",
                   .target = &policy,
                   .value = "lawful|strict",
                   .doc = "lawful: kernels may drop, move or add the implicit roundings that their contracts "
                          "declare. strict: each of these is a finding.",
                   .default_text = policy.empty() ? "the policy of the case" : "",
                   .choices = {"lawful", "strict"}});
  flags.push_back({.name = "skip_patterns",
                   .target = &skip_patterns,
                   .value = "A,B",
                   .doc = "Rewrite patterns to turn off; see `fusesmith list patterns`.",
                   .choices = pattern_names()});
  flags.push_back({.name = "faults",
                   .target = &faults,
                   .value = "A,B",
                   .doc = "Faults (injected bugs) to turn on; see `fusesmith list faults`.",
                   .choices = fault_names(),
                   .missing = kFaultsBuilt ? ""
                                           : "this build contains no faults; configure with "
                                             "-DFUSESMITH_FAULTS=ON (preset dev)"});
  add_worker_flags(flags);
  flags.push_back({.name = "sample",
                   .target = &sample,
                   .value = "auto|off|N",
                   .doc =
                       "auto: judge a sample of the elements of a region whose exact results would take more "
                       "than a few seconds. off: always judge all elements. N: sample N indices along each "
                       "axis where that is possible. The verdict says how many elements were judged."});
  flags.push_back({.name = "known",
                   .target = &known,
                   .value = "FILE",
                   .doc = "A file of known issues (docs/known.md). A failure that belongs to one of them is "
                          "counted or printed as known, and is no finding.",
                   .default_text = "none"});
}

void JudgeFlags::add_worker_flags(std::vector<Flag>& flags) {
  flags.push_back({.name = "compile_timeout",
                   .target = &compile_timeout,
                   .value = "SECONDS",
                   .doc = "How long a worker may take to start, and to compile a graph.",
                   .unit = Flag::Unit::seconds,
                   .lo = 0.01});
  flags.push_back({.name = "run_timeout",
                   .target = &run_timeout,
                   .value = "SECONDS",
                   .doc = "How long a worker may take to run a graph once.",
                   .unit = Flag::Unit::seconds,
                   .lo = 0.01});
  flags.push_back({.name = "expose",
                   .target = &expose,
                   .value = "N",
                   .doc =
                       "How many inner values a worker returns beside the outputs, so that what it "
                       "compiled as a whole is judged in parts. -1: none at first, and all that divide the "
                       "graph if the verdict would be inconclusive.",
                   .lo = kExposeWhereNeeded,
                   .hi = kMaxNodes});
}

JudgeFlags JudgeFlags::beside_case() const {
  return {baseline,    candidate, "",     {},    faults,      compile_timeout,
          run_timeout, expose,    sample, known, known_issues};
}

std::string JudgeFlags::text() const {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += std::string(" --") + name + "=" + shell_quoted(value);
  };
  add("baseline", baseline);
  add("candidate", candidate);
  add("policy", policy);
  add("skip_patterns", joined(skip_patterns));
  add("faults", joined(faults));
  if (compile_timeout != Deadlines{}.compile) add("compile_timeout", number_text(compile_timeout));
  if (run_timeout != Deadlines{}.run) add("run_timeout", number_text(run_timeout));
  if (expose != kExposeWhereNeeded) add("expose", std::to_string(expose));
  if (sample != "auto") add("sample", sample);
  add("known", known);
  return text;
}

std::optional<int64_t> JudgeFlags::sample_indices() const {
  if (sample == "auto") return kSampleWhereNeeded;
  if (sample == "off") return 0;
  int64_t indices = 0;
  const auto [end, error] = std::from_chars(sample.data(), sample.data() + sample.size(), indices);
  const bool whole = error == std::errc() && end == sample.data() + sample.size();
  return whole && indices >= 1 && indices <= kMaxElements ? std::optional(indices) : std::nullopt;
}

std::optional<CannotRun> JudgeFlags::cannot_run() const {
  if (!sample_indices())
    return CannotRun{"--sample=" + sample + ": expected auto, off, or a number between 1 and 2^27", kUsage};
  const std::pair<const char*, const std::string&> chosen[] = {{"baseline", baseline},
                                                               {"candidate", candidate}};
  std::vector<const Backend*> backends;
  for (const auto& [flag, name] : chosen) {
    if (worker_kind(name)) {
      if (const auto spec = worker_spec(name); !spec)
        return CannotRun{std::string("--") + flag + ": " + spec.problem(), kUsage};
    }
    backends.push_back(find_backend(name));
  }
  if (baseline == candidate) backends.pop_back();
  const auto unavailable = why_unavailable(backends, compile_timeout);
  for (size_t i = 0; i < unavailable.size(); ++i) {
    if (!unavailable[i]) continue;
    const auto& [flag, name] = chosen[i];
    const std::string why =
        std::string("--") + flag + "=" + name + " cannot run on this machine: " + *unavailable[i];
    if (worker_kind(name)) return CannotRun{why, kUsage};
    return CannotRun{why + "; `fusesmith list backends` shows the available ones", kDeviceUnhealthy};
  }
  return {};
}

std::optional<Problem> JudgeFlags::read_known() {
  if (known.empty()) return {};
  auto issues = KnownIssues::read(known);
  if (!issues) return Problem{issues.problem()};
  known_issues = std::make_shared<const KnownIssues>(std::move(*issues));
  return {};
}

std::string default_baseline() { return can_run("cuda") ? "cuda" : "cpu"; }
std::string default_candidate() { return can_run("cuda_fused") ? "cuda_fused" : "cpu_fused"; }

RunOptions run_options(const JudgeFlags& flags) {
  RunOptions options;
  options.faults = Faults(flags.faults);
  options.skip_patterns = flags.skip_patterns;
  options.expose = flags.expose;
  options.judge.sample.indices = flags.sample_indices().value_or(kSampleWhereNeeded);
  options.deadlines = {flags.compile_timeout, flags.run_timeout};
  if (flags.policy == "lawful") options.implicit_casts = Policy::ImplicitCasts::may_elide;
  if (flags.policy == "strict") options.implicit_casts = Policy::ImplicitCasts::strict;
  return options;
}

Judging::Judging(const JudgeFlags& flags)
    : baseline(flags.baseline.empty() ? default_baseline() : flags.baseline),
      candidate(flags.candidate.empty() ? default_candidate() : flags.candidate),
      why_not(why_not_run(baseline, candidate, flags.compile_timeout)),
      options(run_options(flags)),
      known_issues(flags.known_issues) {}

Judging::Judging(const JudgeFlags& flags, Elsewhere run_elsewhere)
    : baseline(flags.baseline),
      candidate(flags.candidate),
      options(run_options(flags)),
      known_issues(flags.known_issues),
      elsewhere(std::move(run_elsewhere)) {}

Judging Judging::quick() const {
  Judging judging = *this;
  judging.options.judge.minimal_deviations = false;
  return judging;
}

Judging Judging::with_limits(double times) const {
  Judging judging = *this;
  judging.options.deadlines.compile *= times;
  judging.options.deadlines.run *= times;
  return judging;
}

Result<Judging> Judging::of_case(JudgeFlags flags, const std::string& file, const Case& test_case) {
  if (test_case.expect && test_case.expect->backends.size() == 2) {
    if (flags.baseline.empty()) flags.baseline = test_case.expect->backends[0];
    if (flags.candidate.empty()) flags.candidate = test_case.expect->backends[1];
  }
  const NamedBackend named[] = {{"baseline", flags.baseline}, {"candidate", flags.candidate}};
  if (const auto problem = programs_named_by(file == kStandardInput ? "standard input" : file, named))
    return *problem;
  return Judging(flags);
}

CaseRun Judging::run(const Case& test_case, const std::function<void(CaseRun&)>& then) const {
  if (!why_not.empty()) return without_programs(broken(VerdictClass::unsupported, *this, test_case, why_not));
  try {
    RunOptions of_case = options;
    of_case.judge.find_issue = find_issue(test_case);
    CaseRun run =
        elsewhere ? elsewhere(test_case)
                  : run_case_traced(test_case, *find_backend(baseline), *find_backend(candidate), of_case);
    run.verdict.baseline.backend = baseline;  // an unsupported case was not judged
    run.verdict.candidate.backend = candidate;
    if (then) then(run);
    return run;
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::unhealthy && elsewhere)
      return without_programs(device_failure(test_case, error));
    if (error.kind() == DeviceError::Kind::unhealthy) {
      if (on_device_failure) on_device_failure(test_case);
      throw;
    }
    return without_programs(broken(VerdictClass::out_of_memory, *this, test_case, error.what()));
  } catch (const WorkerError& error) {
    return without_programs(worker_failure(test_case, error));
  } catch (const InnerValuesTooLarge& error) {
    return without_programs(broken(VerdictClass::out_of_memory, *this, test_case, error.what()));
  } catch (const std::bad_alloc&) {
    return without_programs(broken(VerdictClass::out_of_memory, *this, test_case, "out of memory"));
  } catch (const std::system_error& error) {
    // A limit of this machine, not a mistake of a backend.
    const bool scarce = error.code() == std::errc::resource_unavailable_try_again ||
                        error.code() == std::errc::not_enough_memory;
    if (scarce) return without_programs(broken(VerdictClass::out_of_memory, *this, test_case, error.what()));
    return without_programs(
        crash(*this, test_case, error.what(), Symptom::thrown, find_issue(test_case, error.what())));
  } catch (const std::exception& error) {
    return without_programs(
        crash(*this, test_case, error.what(), Symptom::thrown, find_issue(test_case, error.what())));
  }
}

// The signature names the backend that the worker is of.
Verdict Judging::worker_failure(const Case& test_case, const WorkerError& error) const {
  using Kind = WorkerError::Kind;
  const std::string reason = error.backend() + ": " + error.what();
  if (error.kind() == Kind::out_of_memory)
    return broken(VerdictClass::out_of_memory, *this, test_case, reason);
  if (error.kind() == Kind::overloaded) return broken(VerdictClass::overloaded, *this, test_case, reason);
  const Symptom symptom = error.kind() == Kind::died        ? Symptom::died
                          : error.kind() == Kind::timed_out ? Symptom::timed_out
                          : error.kind() == Kind::bad_reply ? Symptom::bad_reply
                                                            : Symptom::thrown;
  const VerdictClass found = symptom == Symptom::timed_out   ? VerdictClass::timeout
                             : symptom == Symptom::bad_reply ? VerdictClass::defect
                                                             : VerdictClass::crash;
  Verdict verdict = broken(found, *this, test_case, reason);
  verdict.details = error.details();
  verdict.fail(failure_of(error.backend(), test_case, found, symptom), find_issue(test_case, reason));
  return verdict;
}

ExitCode code_of_shortage(VerdictClass verdict) {
  return verdict == VerdictClass::overloaded ? kPreempted : kOutOfMemory;
}

Verdict Judging::device_failure(const Case& test_case, const DeviceError& error) const {
  return crash(*this, test_case, error.what(), Symptom::device_error);
}

FindIssue Judging::find_issue(const Case& test_case, const std::string& reason) const {
  if (!known_issues) return {};
  return [issues = known_issues, reported = reported, traits = CaseTraits::of(test_case.graph),
          reason](const Signature& failure) -> std::string {
    if (to_string(failure) == reported) return "";
    const KnownIssue* issue = issues->find(failure, traits, reason);
    return issue ? issue->name : "";
  };
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace fusesmith::fuzz
