#include "fuzz/findings/ablations.h"

#include <algorithm>

#include "backends/remote/remote_backend.h"
#include "fuzz/base/table.h"
#include "fuzz/run/backends.h"
#include "minimizer/edit.h"

namespace fusesmith::fuzz {

namespace {

// Nothing if no input is drawn otherwise.
std::optional<Case> with_normal_data(const Case& test_case) {
  Edits edits;
  for (const Input& input : test_case.graph.inputs()) {
    if (is_float(input.type.dtype) && !(input.fill == Fill(Normal{})))
      edits.push_back(SetFill{input.name, Normal{}});
  }
  if (edits.empty()) return std::nullopt;
  auto other = apply_edits(test_case, edits);
  if (other) ++other->seed;
  return other;
}

// The modes of the workers that fusesmith has for libraries (docs/workers.md), from the one that changes
// least.
struct WorkerModes {
  std::string_view prefix;
  std::vector<std::string_view> modes;
};
const std::vector<WorkerModes>& worker_modes() {
  static const std::vector<WorkerModes> modes = {
      {"torch:",
       {"eager", "aot_eager", "aot_eager_decomp_partition", "inductor", "inductor+emulate_precision_casts"}},
      {"ort:", {"off", "basic", "extended", "all"}},
      {"jax:", {"op_by_op", "jit"}}};
  return modes;
}

// The optimizers of ONNX Runtime (1.31) that `disabled_optimizers` of a session can leave out and that may
// change a graph of ours on the CPU, by the order in which they run; those of quantized values last.
constexpr std::string_view kOrt = "ort:";
constexpr std::string_view kOrtOptimizers[] = {
    "EliminateIdentity",
    "EliminateSlice",
    "UnsqueezeElimination",
    "EliminateDropout",
    "ExpandElimination",
    "CastElimination",
    "CastChainElimination",
    "PreShapeNodeElimination",
    "NoopElimination",
    "DivMulFusion",
    "FuseReluClip",
    "GemmSumFusion",
    "GemmTransposeFusion",
    "NotWhereFusion",
    "ConstantSharing",
    "CommonSubexpressionElimination",
    "ConstantFolding",
    "MatMulAddFusion",
    "ReshapeFusion",
    "GeluFusionL1",
    "LayerNormFusionL1",
    "TransposeOptimizer",
    "TransposeOptimizer_CPUExecutionProvider",
    "GemmActivationFusion",
    "MatMulActivationFusion",
    "GeluFusionL2",
    "LayerNormFusionL2",
    "SimplifiedLayerNormFusion",
    "AttentionFusion",
    "EmbedLayerNormFusion",
    "GatherSliceToSplitFusion",
    "GatherToSliceFusion",
    "MatmulTransposeFusion",
    "BiasGeluFusion",
    "GroupQueryAttentionFusion",
    "GroupQueryAttentionPreNormFusion",
    "SkipLayerNormFusion",
    "BiasSkipLayerNormFusion",
    "FastGeluFusion",
    "QuickGeluFusion",
    "BiasSoftmaxFusion",
    "BiasDropoutFusion",
    "MatMulScaleFusion",
    "NchwcTransformer",
    "NhwcTransformer",
    "ConvActivationFusion",
    "ConvAddActivationFusion",
    "FuseFp16InitializerToFp32NodeTransformer",
    "EnsureUniqueDQForNodeUnit",
    "QDQPropagationTransformer",
    "QDQS8ToU8Transformer",
    "QDQSelectorActionTransformer",
    "DQMatMulNBitsFusion",
    "QDQFinalCleanupTransformer",
};

// Nothing if `stop` says true before, or ends the trial.
template <class F>
std::optional<Outcome> unless_stopped(const Stop& stop, F trial) {
  const auto stopped = [&] { return stop && stop(); };
  if (stopped()) return {};
  const Outcome outcome = trial();
  return stopped() && outcome == Outcome::other ? std::nullopt : std::optional(outcome);
}

// The failing worker under other names, which have options of their own.
class OtherModes {
 public:
  OtherModes(const Case& test_case, const Reproduction& seen, const Judging& judging, const Stop& stop)
      : test_case_(test_case), seen_(seen), judging_(judging), stop_(stop) {
    const Verdict& verdict = seen.run.verdict;
    is_candidate_ = verdict.failing_region
                        ? verdict.failing_region->role == BackendRole::candidate
                        : !verdict.signature || verdict.signature->backend == judging.candidate;
  }

  const std::string& name() const { return is_candidate_ ? judging_.candidate : judging_.baseline; }
  bool stopped() const { return stop_ && stop_(); }

  std::optional<Outcome> outcome(const std::string& mode) const {
    return unless_stopped(stop_, [&] {
      Judging other = judging_;
      (is_candidate_ ? other.candidate : other.baseline) = mode;
      const Outcome outcome = trial_of(seen_, other, stop_)(test_case_);
      if (const Backend* backend = find_backend(mode)) backends::end_idle_workers(*backend);
      return outcome;
    });
  }

 private:
  const Case& test_case_;
  const Reproduction& seen_;
  const Judging& judging_;
  const Stop& stop_;
  bool is_candidate_ = true;
};

// Which of the other modes of the failing worker fail as well: what changes the graph between them is to
// blame. Whether one of them passes.
bool add_modes(const OtherModes& modes, std::vector<Ablation>& ablations) {
  const std::string& name = modes.name();
  bool passes = false;
  for (const auto& [prefix, all] : worker_modes()) {
    if (!name.starts_with(prefix)) continue;
    const std::string options = name.find('+') == std::string::npos ? "" : name.substr(name.find('+'));
    for (const std::string_view mode : all) {
      const std::string changed = std::string(prefix) + std::string(mode) + options;
      const size_t own = mode.find('+');
      const bool has_option =
          own != std::string_view::npos && options.find(mode.substr(own)) != std::string::npos;
      if (changed == name || has_option) continue;
      ablations.push_back({Ablation::Kind::mode, changed + " in place of " + name, modes.outcome(changed)});
      passes = passes || ablations.back().outcome == Outcome::passes;
    }
  }
  return passes;
}

std::string without_optimizers(const std::string& mode, std::span<const std::string_view> names) {
  std::string text = mode;
  for (const std::string_view name : names) text += "-" + std::string(name);
  return text;
}

// Which optimizers of ONNX Runtime make the difference, if it computes the case correctly without some.
void add_optimizers(const OtherModes& modes, std::vector<Ablation>& ablations) {
  const std::string& name = modes.name();
  if (!name.starts_with(kOrt)) return;
  const auto passes = [&](std::span<const std::string_view> names) {
    return !modes.stopped() && modes.outcome(without_optimizers(name, names)) == Outcome::passes;
  };
  const std::vector<std::string_view> needed = needed_names(kOrtOptimizers, passes);
  const std::string all = "all " + std::to_string(std::size(kOrtOptimizers)) +
                          " optimizers left out that fusesmith knows by name";
  if (modes.stopped()) {
    ablations.push_back({Ablation::Kind::optimizers, all});
    return;
  }
  if (needed.empty()) {
    ablations.push_back({Ablation::Kind::optimizers, all, Outcome::fails});
    return;
  }
  std::vector<std::string> words(needed.begin(), needed.end());
  ablations.push_back({Ablation::Kind::optimizers,
                       "the optimizer" + std::string(needed.size() > 1 ? "s " : " ") + list_text(words) +
                           " left out (" + without_optimizers(name, needed) + "; all others run)",
                       Outcome::passes, words});
}

}  // namespace

std::vector<std::string_view> needed_names(
    std::span<const std::string_view> names,
    const std::function<bool(std::span<const std::string_view>)>& passes) {
  std::vector<std::string_view> needed(names.begin(), names.end());
  if (!passes(needed)) return {};
  for (size_t chunk = needed.size() / 2; chunk > 0; chunk /= 2) {
    for (size_t i = 0; i < needed.size() && needed.size() > 1;) {
      std::vector<std::string_view> fewer = needed;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(i);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(chunk, fewer.size() - i)));
      if (!fewer.empty() && passes(fewer))
        needed = std::move(fewer);
      else
        i += chunk;
    }
  }
  return needed;
}

std::vector<Ablation> ablations_of(const Case& test_case, const Reproduction& seen, const Judging& judging,
                                   const Stop& stop) {
  const Trial trial = trial_of(seen, judging, stop);
  std::vector<Ablation> ablations;
  const auto add = [&](Ablation::Kind kind, std::string what, const Case& changed) {
    ablations.push_back({kind, std::move(what), unless_stopped(stop, [&] { return trial(changed); })});
  };
  const RegionVerdict* region = seen.run.verdict.failing();
  if (region && !region->patterns.empty()) {
    Case other = test_case;
    auto& off = other.policy.skip_patterns;
    off.insert(off.end(), region->patterns.begin(), region->patterns.end());
    add(Ablation::Kind::rewrite, "rewrite " + list_text(region->patterns) + " off", other);
  }
  if (const auto other = with_normal_data(test_case))
    add(Ablation::Kind::data, "normally distributed data of another seed", *other);
  if (test_case.steps > 1) {
    Case other = test_case;
    other.steps = 1;
    add(Ablation::Kind::steps, "one step", other);
  }
  const OtherModes modes(test_case, seen, judging, stop);
  if (add_modes(modes, ablations)) add_optimizers(modes, ablations);
  return ablations;
}

}  // namespace fusesmith::fuzz
