#include "fuzz/run/run_case.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "backends/worker_error.h"
#include "fuzz/run/exposing.h"
#include "fuzz/run/metamorphic_case.h"
#include "fuzz/run/side.h"

namespace fusesmith::fuzz {
namespace {

using Tensors = std::vector<TensorPtr>;

TensorPtr shared(Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); }

Tensors first_states(const Case& test_case) {
  Tensors states;
  for (const State& s : test_case.graph.states()) states.push_back(shared(data_of(test_case, s)));
  return states;
}

struct StepRun {
  Trace trace;
  std::optional<Disagreement> disagreement;
  std::vector<Trace> other_runs = {};
};

// Inputs are shared between the backends; each goes on from its own states.
StepRun run_step(Program& program, const Graph& graph, const Tensors& inputs, Tensors& states) {
  Tensors sources = inputs;
  sources.insert(sources.end(), states.begin(), states.end());
  StepRun run{program.run(sources), {}};
  run.disagreement = overwritten_source(graph, program.plan(), sources, run.trace);
  if (!run.disagreement) {
    run.disagreement = program.recheck(sources, run.trace);
    run.other_runs.assign(program.other_runs().begin(), program.other_runs().end());
  }
  for (size_t i = 0; i < states.size(); ++i)
    states[i] = run.trace.values[static_cast<size_t>(graph.states()[i].next)];
  return run;
}

Execution execution_of(const Backend& backend, const Program& program, const StepRun& run) {
  Execution execution = fuzz::execution_of(std::string(backend.name()), program.plan(), run.trace);
  execution.disagreement = run.disagreement;
  execution.other_runs = run.other_runs;
  return execution;
}

void begin(Stage stage, BackendRole role, const RunOptions& options) {
  if (options.on_stage) options.on_stage(stage, role);
}

// Null, with the verdict set, where the backend cannot.
std::unique_ptr<Program> compile(const Backend& backend, BackendRole role, const Case& test_case,
                                 const RunOptions& options, Verdict& verdict) {
  begin(Stage::compile, role, options);
  auto program = backend.compile(test_case.graph, compile_options(test_case, options));
  if (program) return std::move(*program);
  verdict.verdict = VerdictClass::unsupported;
  verdict.reason = std::string(backend.name()) + ": " + program.problem();
  return nullptr;
}

Tensors inputs_of(const Case& test_case, int64_t step) {
  Tensors inputs;
  for (Tensor& tensor : make_inputs(test_case, step)) inputs.push_back(shared(std::move(tensor)));
  return inputs;
}

// A finding is more severe than any other verdict. `largest` is the step's own difference.
auto gravity(const Verdict& verdict, double largest) {
  return std::tuple(verdict.finding, verdict.verdict, largest);
}

// Adds to the verdict that is shown what another step has of the figures over all steps.
void add_step(Verdict& shown, const Verdict& other) {
  shown.unequal += other.unequal;
  shown.unequal_nonfinite += other.unequal_nonfinite;
  shown.output_elements += other.output_elements;
  shown.max_difference = std::max(shown.max_difference, other.max_difference);
  shown.max_finite_difference = std::max(shown.max_finite_difference, other.max_finite_difference);
  shown.deviations.insert(other.deviations.begin(), other.deviations.end());
  shown.exact = shown.exact && other.exact;
  for (const KnownFailure& failure : other.known)
    shown.add_known(failure.signature, [&](const Signature&) { return failure.issue; });
}

enum class Plans : uint8_t {
  as_compiled,
  divided,  // those of opaque programs, at the values that are observed
};

CaseRun run_steps(const Case& test_case, const Backend& baseline, const Backend& candidate,
                  const RunOptions& options, Plans plans) {
  CaseRun run;
  run.stand_ins = test_case.stand_ins;
  run.find_issue = options.judge.find_issue;
  run.verdict.steps = test_case.steps;
  auto base = compile(baseline, BackendRole::baseline, test_case, options, run.verdict);
  auto fused = base ? compile(candidate, BackendRole::candidate, test_case, options, run.verdict) : nullptr;
  if (!fused) return run;
  run.baseline = std::move(base);
  run.candidate = std::move(fused);
  if (plans == Plans::divided) {
    run.baseline = divided(test_case.graph, std::move(run.baseline));
    run.candidate = divided(test_case.graph, std::move(run.candidate));
  }

  Tensors base_states = first_states(test_case), fused_states = base_states;
  double largest = 0;  // of the step that is shown
  for (int64_t step = 0; step < test_case.steps; ++step) {
    if (step > 0 && options.stop && options.stop()) throw Interrupted{};
    const Tensors inputs = inputs_of(test_case, step);
    begin(Stage::run, BackendRole::baseline, options);
    StepRun base_run = run_step(*run.baseline, test_case.graph, inputs, base_states);
    begin(Stage::run, BackendRole::candidate, options);
    StepRun fused_run = run_step(*run.candidate, test_case.graph, inputs, fused_states);
    put_stand_ins(test_case.graph, test_case.stand_ins, fused_run.trace);
    for (Trace& other : fused_run.other_runs) put_stand_ins(test_case.graph, test_case.stand_ins, other);
    if (options.on_step) options.on_step(step, base_run.trace, fused_run.trace);
    begin(Stage::judge, BackendRole::candidate, options);
    Verdict verdict = judge(test_case, execution_of(baseline, *run.baseline, base_run),
                            execution_of(candidate, *run.candidate, fused_run), options.judge);
    verdict.step = step;
    verdict.steps = test_case.steps;
    const double difference = verdict.max_difference;
    if (step > 0 && gravity(verdict, difference) <= gravity(run.verdict, largest)) {
      add_step(run.verdict, verdict);
      continue;
    }
    if (step > 0) add_step(verdict, run.verdict);
    largest = difference;
    run.verdict = std::move(verdict);
    run.baseline_trace = std::move(base_run.trace);
    run.candidate_trace = std::move(fused_run.trace);
  }
  return run;
}

// The case with inner values as outputs; nothing where that tells no more than the case itself: it is
// unsupported, a worker fails, or what fails does not fail by itself.
std::optional<CaseRun> run_exposed(const Case& test_case, const std::vector<ValueId>& values,
                                   const Backend& baseline, const Backend& candidate,
                                   const RunOptions& options) {
  const Case exposed = expose(test_case, values);
  try {
    CaseRun run = run_steps(exposed, baseline, candidate, options, Plans::divided);
    if (!run.candidate) return std::nullopt;
    for (const ValueId v : values) run.verdict.exposed.push_back(test_case.graph.name(v));
    if (!run.verdict.finding) return run;
    const auto part = part_to_confirm(exposed, run);
    if (!part) return run;
    if (!part->test_case) return std::nullopt;
    const Verdict alone =
        run_steps(*part->test_case, baseline, candidate, options, Plans::as_compiled).verdict;
    if (alone.finding) return run;
  } catch (const WorkerError&) {
    // It failed as a program with more outputs, which is not the one of the case.
  }
  return std::nullopt;
}

// Programs of a run that will not be used any more: their workers can run others.
void let_go(CaseRun& run) {
  run.baseline.reset();
  run.candidate.reset();
}

// With the values that divide the program best; if they are chosen here and the verdict stays inconclusive,
// with all of them.
std::optional<CaseRun> run_exposed(const Case& test_case, const Backend& baseline, const Backend& candidate,
                                   const RunOptions& options) {
  const bool chooses = options.expose == kExposeWhereNeeded;
  const int64_t most = chooses ? std::numeric_limits<int64_t>::max() : options.expose;
  const std::vector<ValueId> values = values_to_expose(test_case.graph, most);
  auto run = run_exposed(test_case, values, baseline, candidate, options);
  if (!chooses || !run || run->verdict.verdict != VerdictClass::inconclusive) return run;
  const std::vector<ValueId> all = all_inner_values(test_case.graph);
  if (all.size() <= values.size()) return run;
  let_go(*run);
  auto finer = run_exposed(test_case, all, baseline, candidate, options);
  return finer ? std::move(finer) : run_exposed(test_case, values, baseline, candidate, options);
}

CaseRun run_whole_or_exposed(const Case& test_case, const Backend& baseline, const Backend& candidate,
                             const RunOptions& options) {
  const auto run_whole = [&] {
    return run_steps(test_case, baseline, candidate, options, Plans::as_compiled);
  };
  const bool exposes = can_expose(baseline.name()) || can_expose(candidate.name());
  if (options.expose == 0 || !exposes) return run_whole();
  if (options.expose == kExposeWhereNeeded) {
    CaseRun run = run_whole();
    if (!is_opaque(run)) return run;
    let_go(run);
  }
  RunOptions of_exposed = options;
  of_exposed.on_step = {};
  auto exposed = run_exposed(test_case, baseline, candidate, of_exposed);
  return exposed ? std::move(*exposed) : run_whole();
}

}  // namespace

Case with_options(Case test_case, const RunOptions& options) {
  if (options.implicit_casts) test_case.policy.implicit_casts = *options.implicit_casts;
  auto& skipped = test_case.policy.skip_patterns;
  for (const std::string& pattern : options.skip_patterns) {
    if (std::find(skipped.begin(), skipped.end(), pattern) == skipped.end()) skipped.push_back(pattern);
  }
  return test_case;
}

void put_stand_ins(const Graph& graph, const std::vector<StandIn>& stand_ins, Trace& trace) {
  for (const StandIn& pair : stand_ins) {
    trace.values[static_cast<size_t>(*graph.find(pair.value))] =
        trace.values[static_cast<size_t>(*graph.find(pair.by))];
  }
}

CaseRun run_case_traced(const Case& test_case, const Backend& baseline, const Backend& candidate,
                        const RunOptions& options) {
  const Case judged = with_options(test_case, options);
  CaseRun run = run_whole_or_exposed(judged, baseline, candidate, options);
  begin(Stage::run, BackendRole::candidate, options);
  const auto compile_part = [&](const Graph& graph, BackendRole role) -> std::unique_ptr<Program> {
    const Backend& backend = role == BackendRole::baseline ? baseline : candidate;
    auto program = backend.compile(graph, compile_options(judged, options));
    return program ? std::move(*program) : nullptr;
  };
  check_metamorphic(judged, compile_part, run);
  return run;
}

Verdict run_case(const Case& test_case, const Backend& baseline, const Backend& candidate,
                 const RunOptions& options) {
  return run_case_traced(test_case, baseline, candidate, options).verdict;
}

Result<Trace> first_step(const Case& test_case, const Backend& backend, const RunOptions& options) {
  Verdict verdict;
  const auto program = compile(backend, BackendRole::baseline, test_case, options, verdict);
  if (!program) return Problem{verdict.reason};
  Tensors sources = inputs_of(test_case, 0);
  const Tensors states = first_states(test_case);
  sources.insert(sources.end(), states.begin(), states.end());
  return program->run(sources);
}

Result<std::vector<TensorPtr>> final_states(const Case& test_case, const Backend& backend,
                                            const RunOptions& options) {
  Verdict verdict;
  const auto program = compile(backend, BackendRole::baseline, test_case, options, verdict);
  if (!program) return Problem{verdict.reason};
  Tensors states = first_states(test_case);
  for (int64_t step = 0; step < test_case.steps; ++step) {
    Tensors sources = inputs_of(test_case, step);
    sources.insert(sources.end(), states.begin(), states.end());
    const Trace trace = program->run(sources);
    for (size_t i = 0; i < states.size(); ++i)
      states[i] = trace.values[static_cast<size_t>(test_case.graph.states()[i].next)];
  }
  return states;
}

}  // namespace fusesmith::fuzz
