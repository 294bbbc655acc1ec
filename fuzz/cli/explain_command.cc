#include "fuzz/cli/explain_command.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/explain/explanation.h"
#include "fuzz/report/definitions.h"
#include "fuzz/report/verdict_json.h"
#include "fuzz/report/verdict_text.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/known_names.h"

namespace fusesmith::fuzz {

namespace {

std::string regions_text(const BackendVerdict& backend, std::span<const Difference> differences) {
  if (backend.regions.empty()) return "";
  return "\nRegions of " + backend.backend + ", in the order in which they run:\n" +
         region_table(backend, Regions::all, differences).text(2);
}

std::string reasons_text(const BackendVerdict& backend) {
  std::string text;
  for (const RegionVerdict& region : backend.regions) {
    for (const Deviation& deviation : region.deviations) {
      text += wrapped("  " + region.name + ": " + to_string(deviation) + " (" +
                          std::string(name(deviation.dtype)) + ")" +
                          (deviation.why.empty() ? "" : ": " + deviation.why),
                      4) +
              "\n";
    }
  }
  return text.empty() ? "" : "\nRoundings that " + backend.backend + " left out or moved:\n" + text;
}

std::string text_of(const Case& test_case, const CaseRun& run, const Explanation& explanation,
                    const std::vector<DefinitionDifference>& definitions) {
  const Verdict& verdict = run.verdict;
  std::string text = std::string(name(verdict.verdict)) +
                     (verdict.finding ? ", finding " + verdict.signature_text() : "") + "\n" +
                     wrapped(sentence(verdict)) + "\n";
  text += shown_step_text(verdict);
  if (verdict.failing_region) text += wrapped("Evidence: " + evidence_text(verdict) + ".") + "\n";
  if (run.candidate) text += wrapped("What happened: " + explanation.what_happened) + "\n";
  text += stand_in_text(test_case, definitions);
  text += regions_text(verdict.candidate, region_differences(run)) + reasons_text(verdict.candidate);
  text += regions_text(verdict.baseline, {}) + reasons_text(verdict.baseline);
  text += to_text(explanation, run);
  return text +
         "\nworst/bound, median/bound: error against the exact result from the inputs that the region got, "
         "as a share of\n"
         "what its contract allows (empty: out of a bound that is 0). exact: elements with one lawful bit "
         "pattern.\n"
         "unequal: against the other backend.\n"
         "gain: rms at the outputs / rms injected. share: part of the whole difference at the outputs. "
         "relative: rms of\n"
         "difference / rms of value; grows: against what it was computed from. Tolerance: as "
         "torch.testing.assert_close.\n";
}

}  // namespace

FlagTable ExplainFlags::table() {
  FlagTable table;
  table.command = "explain";
  table.doc = "say what happened with a case, region by region, and what makes the difference.";
  table.details =
      "Goes on from the verdict by experiments: each region of the candidate on the baseline's values (what "
      "it "
      "injects), the baseline on what that region left (gain, share of the final difference, where it "
      "grows), "
      "one inner value at a time of the region taken from the baseline (swaps), each pattern turned off. "
      "docs/explain.md has an example.\n"
      "\n"
      "Exit codes: 0 no finding, 1 a file that cannot be read, 71 out of memory, 72 interrupted, 76 the GPU "
      "is missing or "
      "failed, 77 a finding.";
  table.positional = {"CASE.json", &files, 1, 1};
  judge.add_to(table.flags, false);
  table.flags.push_back({.name = "max_seconds",
                         .target = &max_seconds,
                         .value = "S",
                         .doc = "Begin no experiment after S seconds; what is left out is named.",
                         .hi = 1e6});
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output, nothing else there."});
  table.examples = {
      {"explain corpus/scenarios/einsum_projections.json",
       "Who rewrote what, and how far each region is from its bound."},
      {"explain corpus/scenarios/layer_norm_linear_bf16.json",
       "Whose statistics differ, and what makes more of it."},
      {"explain --skip_patterns=sdpa case.json", "Is it the attention rewrite?"},
  };
  return table;
}

int run(ExplainFlags& flags, Console& console) {
  const std::string& file = flags.files[0];
  const InterruptGuard guard(InterruptGuard::First::ends);  // there is nothing to keep
  const auto test_case = read_known_case(file);
  if (!test_case) return fail(console, "explain", test_case.problem());
  if (const auto why = flags.judge.unavailable()) return fail(console, "explain", *why, kDeviceUnhealthy);
  CaseRun run;
  Explanation explanation;
  std::vector<DefinitionDifference> definitions;
  try {
    const Judging judging(flags.judge, *test_case);
    Budget budget{.max_seconds = flags.max_seconds};
    const auto begun = std::chrono::steady_clock::now();
    run = judging.run(*test_case, [&](CaseRun& judged) {
      budget.judging_seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      definitions =
          definition_differences(*test_case, judged, *find_backend(judging.candidate), judging.options);
    });
    explanation = explain(*test_case, run, judging, budget);
  } catch (const DeviceError& error) {
    return fail_device(console, "explain", file, error);
  }
  if (flags.json) {
    nlohmann::ordered_json json = {
        {"file", file}, {"step", run.verdict.step}, {"sentence", sentence(run.verdict)}};
    json.update(to_json(run.verdict, region_differences(run)));
    json.update(to_json(explanation));
    if (!definitions.empty()) json["definitions"] = to_json(definitions);
    console.out << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    console.out << file << ": " << text_of(*test_case, run, explanation, definitions);
  }
  if (run.verdict.verdict == VerdictClass::out_of_memory) return kOutOfMemory;
  return run.verdict.finding ? kFindings : kClean;
}

}  // namespace fusesmith::fuzz
