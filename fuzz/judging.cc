#include "fuzz/judging.h"

#include <exception>
#include <new>

#include "backends/rewrite/pattern.h"
#include "fuzz/backends.h"
#include "fuzz/table.h"

namespace fusesmith {

namespace {

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Backend* backend : all_backends()) names.emplace_back(backend->name());
  return names;
}

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const Pattern& pattern : all_patterns()) names.emplace_back(pattern.name);
  return names;
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const FaultInfo& fault : all_faults()) names.emplace_back(fault.name);
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

CaseRun broken(VerdictClass verdict, const Judging& judging, const Case& test_case,
               const std::string& reason) {
  CaseRun run;
  run.verdict.verdict = verdict;
  run.verdict.reason = reason;
  run.verdict.baseline.backend = judging.baseline;
  run.verdict.candidate.backend = judging.candidate;
  // Counted, but no findings: a build without the backend, a machine without the memory.
  if (verdict == VerdictClass::unsupported || verdict == VerdictClass::out_of_memory) return run;
  run.verdict.finding = true;
  const std::string culprit =
      test_case.graph.nodes().size() == 1 ? semantic_name(test_case.graph.nodes()[0].op) : "graph";
  run.verdict.signature = make_signature(verdict, judging.candidate, culprit, "any", "thrown");
  return run;
}

}  // namespace

void JudgeFlags::add_to(std::vector<Flag>& flags, bool identity) {
  const auto add = [&](Flag flag) {
    flag.identity = identity;
    flags.push_back(std::move(flag));
  };
  add({.name = "baseline",
       .target = &baseline,
       .value = "NAME",
       .doc = "The backend to compare with; see `fusesmith list backends`.",
       .default_text = "cuda where a GPU answers, else cpu",
       .choices = backend_names()});
  add({.name = "candidate",
       .target = &candidate,
       .value = "NAME",
       .doc = "The backend under test.",
       .default_text = "cuda_fused where a GPU answers, else cpu_fused",
       .choices = backend_names()});
  add({.name = "policy",
       .target = &policy,
       .value = "lawful|strict",
       .doc = "strict: implicit roundings that a contract declares to leave out are findings too.",
       .default_text = policy.empty() ? "the case's own" : "",
       .choices = {"lawful", "strict"}});
  add({.name = "skip_patterns",
       .target = &skip_patterns,
       .value = "A,B",
       .doc = "Rewrite patterns to turn off; see `fusesmith list patterns`.",
       .default_text = {},
       .choices = pattern_names()});
  add({.name = "faults",
       .target = &faults,
       .value = "A,B",
       .doc = "Planted faults to turn on, in builds that carry them; see `fusesmith list faults`.",
       .default_text = {},
       .choices = fault_names(),
       .no_choice =
           "this build carries no planted faults; configure with -DFUSESMITH_FAULTS=ON (preset dev)"});
}

JudgeFlags JudgeFlags::beside_case() const { return {baseline, candidate, "", {}, faults}; }

std::string JudgeFlags::text() const {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += std::string(" --") + name + "=" + value;
  };
  add("baseline", baseline);
  add("candidate", candidate);
  add("policy", policy);
  add("skip_patterns", joined(skip_patterns));
  add("faults", joined(faults));
  return text;
}

std::string default_baseline() { return find_backend("cuda") ? "cuda" : "cpu"; }
std::string default_candidate() { return find_backend("cuda_fused") ? "cuda_fused" : "cpu_fused"; }

Judging::Judging(const JudgeFlags& flags)
    : baseline(flags.baseline.empty() ? default_baseline() : flags.baseline),
      candidate(flags.candidate.empty() ? default_candidate() : flags.candidate) {
  options.faults = Faults(flags.faults);
  options.skip_patterns = flags.skip_patterns;
  if (flags.policy == "lawful") options.implicit_casts = Policy::ImplicitCasts::may_elide;
  if (flags.policy == "strict") options.implicit_casts = Policy::ImplicitCasts::strict;
}

Judging Judging::quick() const {
  Judging judging = *this;
  judging.options.judge.minimal_deviations = false;
  return judging;
}

Judging::Judging(const JudgeFlags& flags, const Case& test_case) : Judging(flags) {
  if (!test_case.expect || test_case.expect->backends.size() != 2) return;
  if (flags.baseline.empty()) baseline = test_case.expect->backends[0];
  if (flags.candidate.empty()) candidate = test_case.expect->backends[1];
}

std::string Judging::missing() const {
  for (const std::string& name : {baseline, candidate}) {
    if (!find_backend(name)) return name;
  }
  return "";
}

CaseRun Judging::run(const Case& test_case) const {
  if (const std::string name = missing(); !name.empty()) {
    return broken(VerdictClass::unsupported, *this, test_case,
                  "no backend '" + name + "' here; this build has " + list_text(backend_names()));
  }
  try {
    CaseRun run = run_case_traced(test_case, *find_backend(baseline), *find_backend(candidate), options);
    run.verdict.baseline.backend = baseline;  // an unsupported case was not judged
    run.verdict.candidate.backend = candidate;
    return run;
  } catch (const std::bad_alloc&) {
    return broken(VerdictClass::out_of_memory, *this, test_case, "out of memory");
  } catch (const std::exception& error) {
    return broken(VerdictClass::crash, *this, test_case, error.what());
  }
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace fusesmith
