#include "oracle/region_judge.h"

#include <algorithm>

#include "graph/op_traits.h"
#include "oracle/explain_by_arithmetic.h"
#include "oracle/failing_node.h"
#include "oracle/lowerings.h"
#include "oracle/sampling.h"

namespace fusesmith::oracle {
namespace {

using Deviations = std::vector<Deviation>;

constexpr double kTelling = 5;  // standard score above which bits speak for a reading

class RegionJudge {
 public:
  RegionJudge(const Graph& graph, const Region& region, const Trace& trace, const RegionJudgeOptions& options)
      : graph_(graph),
        region_(region),
        trace_(trace),
        options_(options),
        declared_(region.contract.deviations) {
    if (region.contract.roundings == Roundings::any) declared_ = joined(declared_, undeclared(false));
  }

  void run(RegionVerdict& verdict) {
    judge(verdict);
    if (options_.foreign && verdict.verdict == VerdictClass::inconclusive && verdict.arithmetic.empty())
      sharpen(verdict);
  }

  void judge(RegionVerdict& verdict) {
    const Comparison strict = read({});
    if (strict.lawful()) return accept(verdict, strict, {}, true);
    if (try_deviations(verdict, declared_, true)) return show_violation(verdict, strict);
    const Deviations implicit = undeclared(false);
    if (!implicit.empty() && (try_deviations(verdict, implicit, false) ||
                              try_deviations(verdict, joined(declared_, implicit), false))) {
      if (!is_excused(verdict, strict)) show_violation(verdict, strict);
      return;
    }
    if (skipped_cast(verdict, strict)) return;
    set_out_of_bounds(verdict, strict);
  }

  // The deviations of the reading that run() reports.
  Deviations reported(const RegionVerdict& verdict) const {
    if (options_.strict_policy && !verdict.deviations.empty()) return {};
    if (verdict.outside == 0 && verdict.declared) return verdict.deviations;
    Deviations used;
    nearest_allowed(read({}), used);
    return used;
  }

 private:
  bool may_drop_any() const { return region_.contract.roundings == Roundings::any; }
  std::vector<RegionOutput> outputs(const Deviations& deviations) const {
    return evaluate(graph_, region_, trace_, {deviations}, options_.memo);
  }
  // The last reading is kept, since one that suffices is asked for again.
  Comparison read(const Deviations& deviations) const {
    if (!last_ || last_->first != deviations)
      last_.emplace(deviations,
                    compare(graph_, outputs(deviations), trace_, options_.memo,
                            options_.minimal_deviations ? ReadElements::all : ReadElements::sample));
    return last_->second;
  }

  static void fill(RegionVerdict& verdict, const Comparison& c) {
    verdict.elements = c.elements;
    verdict.outside = c.outside + c.outside_special;
    verdict.exact = c.exact;
    verdict.worst_share = c.worst_share;
    verdict.median_share = c.median_share;
    verdict.resolution = c.resolution;
    verdict.uncertain = c.uncertain;
    verdict.worst = c.worst;
  }

  void accept(RegionVerdict& verdict, const Comparison& c, Deviations used, bool declared) const {
    fill(verdict, c);
    verdict.verdict = used.empty() ? VerdictClass::reassociation : VerdictClass::precision_policy;
    const bool inner = region_.nodes.size() > 1 ||
                       has_inner_errors(graph_.nodes()[static_cast<size_t>(region_.nodes[0])].op);
    if (inner) verdict.loose = c.loose;
    const bool coarse = c.resolution.median > options_.coarsest ||
                        (std::isfinite(options_.coarsest) && c.uncertain > 0 && is_pointwise());
    if (declared && (c.unknown > 0 || (inner && c.mostly_loose) || coarse))
      verdict.verdict = VerdictClass::inconclusive;
    verdict.deviations = std::move(used);
    verdict.declared = declared;
    if (!declared) verdict.symptom = Symptom::undeclared_rounding;
  }

  // One scalar function: nothing cancels there, so that each element is right or wrong by itself.
  bool is_pointwise() const {
    return region_.nodes.size() == 1 &&
           info(graph_.nodes()[static_cast<size_t>(region_.nodes[0])].op).op_class == OpClass::pointwise;
  }

  // Whether a kernel of others, which leaves out roundings that its contract does not, may compute so
  // instead.
  bool is_excused(RegionVerdict& verdict, const Comparison& strict) const {
    if (!options_.foreign || verdict.declared) return false;
    RegionVerdict other = verdict;
    other.deviations.clear();
    set_out_of_bounds(other, strict);
    if (other.symptom != Symptom::none) return false;
    verdict = std::move(other);
    return true;
  }

  // Whether the region is within its bounds with these deviations, or with some of them.
  bool try_deviations(RegionVerdict& verdict, const Deviations& candidates, bool declared) const {
    std::optional<Deviations> lawful = lawful_subset(candidates);
    if (!lawful) return false;
    if (options_.minimal_deviations || !declared) *lawful = without_needless(*lawful);
    accept(verdict, read(*lawful), *lawful, declared || all_declared(*lawful));
    return true;
  }

  // All of them, else (a kernel may use only part of what it may) every subset of a few; of many, all but one
  // or one alone. Of a compiler whose choice is not known, at last what covers every subset; of a kernel that
  // may use a lowering, what covers it and the op, since a vector loop and its tail may differ.
  std::optional<Deviations> lawful_subset(const Deviations& candidates) const {
    const size_t n = candidates.size();
    if (n == 0) return std::nullopt;
    const auto lawful = [&](auto chooses) -> std::optional<Deviations> {
      Deviations chosen;
      for (size_t i = 0; i < n; ++i) {
        if (chooses(i)) chosen.push_back(candidates[i]);
      }
      return read(chosen).lawful() ? std::optional(chosen) : std::nullopt;
    };
    if (auto chosen = lawful([](size_t) { return true; })) return chosen;
    if (n <= 4) {
      for (uint32_t mask = (uint32_t{1} << n) - 1; mask-- > 1;) {
        if (auto chosen = lawful([&](size_t i) { return (mask >> i & 1) != 0; })) return chosen;
      }
    }
    const bool mixes = may_drop_any() || std::any_of(candidates.begin(), candidates.end(), is_lowering);
    if (mixes) {
      Deviations covering = optional_ones(candidates);
      if (read(covering).lawful()) return std::optional(std::move(covering));
      if (may_drop_any()) return std::nullopt;
    }
    if (n <= 4) return std::nullopt;
    for (size_t one = 0; one < n; ++one) {
      if (auto chosen = lawful([&](size_t i) { return i != one; })) return chosen;
      if (auto chosen = lawful([&](size_t i) { return i == one; })) return chosen;
    }
    return std::nullopt;
  }

  // The same, each of which may happen or not, for every reader and element: covers all subsets. Roundings
  // are dropped by reader and element only by compilers.
  Deviations optional_ones(Deviations dropped) const {
    const bool any = may_drop_any();
    for (Deviation& d : dropped) {
      if (any && d.kind == Deviation::Kind::drop) d.kind = Deviation::Kind::maybe;
      if (d.kind == Deviation::Kind::lower && !find_lowering(d.lowering)->is_uniform)
        d.kind = Deviation::Kind::maybe_lower;
    }
    return dropped;
  }

  static Deviations joined(Deviations a, const Deviations& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  // Leaves out every deviation without which the region is lawful too, unless the bits speak for it: the
  // slack of one deviation may cover for another that did happen.
  Deviations without_needless(Deviations used) const {
    std::vector<RegionOutput> with = outputs(used);
    for (size_t i = used.size(); i-- > 0 && used.size() > 1;) {
      Deviations fewer = used;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      std::vector<RegionOutput> without = outputs(fewer);
      if (!compare(graph_, without, trace_).lawful() || preference(with, without, trace_) > kTelling)
        continue;
      used = std::move(fewer);
      with = std::move(without);
    }
    return used;
  }

  bool all_declared(const Deviations& used) const {
    return std::all_of(used.begin(), used.end(), [&](Deviation d) {
      if (d.kind == Deviation::Kind::maybe) d.kind = Deviation::Kind::drop;
      if (d.kind == Deviation::Kind::maybe_lower) d.kind = Deviation::Kind::lower;
      return std::find(declared_.begin(), declared_.end(), d) != declared_.end();
    });
  }

  // Roundings whose dropping the contract does not declare.
  Deviations undeclared(bool casts) const {
    Deviations found;
    for (const InnerRounding& inner : inner_roundings(graph_, region_)) {
      const auto declares = [&](const Deviation& d) { return d.value == inner.value && !is_lowering(d); };
      const bool declared = std::any_of(declared_.begin(), declared_.end(), declares);
      if (!declared && inner.is_explicit == casts)
        found.push_back({Deviation::Kind::drop, inner.value, inner.dtype, 0, ""});
    }
    return found;
  }

  // Lawful only if an explicit cast's rounding is left out: a defect, whatever else is allowed. The evidence
  // is from the reading with everything that is allowed, so that it is an element that the cast makes wrong.
  bool skipped_cast(RegionVerdict& verdict, const Comparison& strict) const {
    const Deviations casts = undeclared(true);
    if (casts.empty()) return false;
    const Deviations declared = joined(casts, declared_);
    std::optional<Deviations> lawful = lawful_subset(casts);
    if (!lawful) lawful = lawful_subset(declared);
    if (!lawful) lawful = lawful_subset(joined(declared, undeclared(false)));
    if (!lawful) return false;
    Deviations used = without_needless(*lawful);
    std::erase_if(used, [&](const Deviation& d) { return all_declared({d}); });
    accept(verdict, read(*lawful), std::move(used), false);
    fill(verdict, options_.strict_policy ? strict : nearest_allowed(strict));
    verdict.verdict = VerdictClass::defect;
    verdict.symptom = Symptom::explicit_cast_skipped;
    return true;
  }

  // The region is within its bounds only with deviations. If these are not allowed, the evidence is from the
  // reading that rejects them, because the accepting reading has no element outside. The result under the
  // strict policy is then known, even if nothing is known about some elements.
  void show_violation(RegionVerdict& verdict, const Comparison& strict) const {
    if (!verdict.declared) return fill(verdict, options_.strict_policy ? strict : nearest_allowed(strict));
    if (!options_.strict_policy) return;
    fill(verdict, strict);
    verdict.verdict = VerdictClass::precision_policy;
    verdict.symptom = Symptom::declared_rounding;
  }

  // Of the readings that are allowed, the one that leaves the fewest elements outside.
  Comparison nearest_allowed(const Comparison& strict) const {
    Deviations ignored;
    return nearest_allowed(strict, ignored);
  }
  Comparison nearest_allowed(const Comparison& strict, Deviations& used) const {
    used.clear();
    if (declared_.empty()) return strict;
    // A compiler may leave out any of them, so its evidence is against the interval that covers all readings.
    used = may_drop_any() ? optional_ones(declared_) : declared_;
    Comparison declared = read(used);
    if (may_drop_any()) return declared;
    const bool nearer = declared.outside + declared.outside_special < strict.outside + strict.outside_special;
    if (nearer) return declared;
    used.clear();
    return strict;
  }

  // Out of bounds under every reading.
  void set_out_of_bounds(RegionVerdict& verdict, const Comparison& strict) const {
    const Comparison best = nearest_allowed(strict);
    fill(verdict, best);
    const bool only_special = best.outside == 0;
    verdict.verdict = only_special ? VerdictClass::exceptional : VerdictClass::defect;
    verdict.symptom = only_special ? best.special_symptom : Symptom::out_of_bounds;
    if (options_.foreign) explain(verdict, strict);
  }

  // How it is judged with another contract.
  RegionVerdict judged_with(const Contract& contract, const RegionVerdict& verdict) const {
    return judged_with(contract, verdict, {graph_, region_, trace_});
  }
  struct Judged {
    const Graph& graph;
    const Region& region;
    const Trace& trace;
  };
  RegionVerdict judged_with(const Contract& contract, const RegionVerdict& verdict,
                            const Judged& what) const {
    Region granted = what.region;
    granted.contract = contract;
    RegionJudgeOptions options = options_;
    options.memo = nullptr;  // has what the contract of the region gives
    options.foreign = options.strict_policy = options.minimal_deviations = false;
    RegionVerdict judged = verdict;
    judged.symptom = Symptom::none;
    judged.loose = 0;
    judged.deviations.clear();
    RegionJudge(what.graph, granted, what.trace, options).run(judged);
    return judged;
  }

  static Within within(const RegionVerdict& judged, bool was_special) {
    if (judged.outside > 0 || !judged.declared) return Within::no;
    if (judged.verdict == VerdictClass::inconclusive)
      return was_special ? Within::undecided : Within::loosely;  // anything explains a NaN
    const double sharp = std::max(kCoarsest / 16, 4 * unit_roundoff(judged.dtype));
    return judged.resolution.median <= sharp ? Within::sharply : Within::decidedly;
  }

  // What no customary arithmetic explains: the elements that are outside with the nearest of them.
  static void show_nearest(RegionVerdict& verdict, const RegionVerdict& nearest) {
    verdict.verdict = nearest.verdict;
    verdict.symptom = nearest.symptom;
    verdict.deviations = nearest.deviations;
    verdict.declared = nearest.declared;
    verdict.outside = nearest.outside;
    verdict.worst_share = nearest.worst_share;
    verdict.worst = nearest.worst;
  }

  // An excuse makes the verdict that of a kernel that declares it: `inconclusive` where its bounds say too
  // little. What does not explain a small sample is not tried on all elements.
  void explain(RegionVerdict& verdict, const Comparison& strict) const {
    const bool was_special = verdict.verdict == VerdictClass::exceptional;
    const auto small = draw_small_sample(graph_, region_, trace_, verdict.worst.value, verdict.worst.element);
    const auto outside_of_small = [&](const Contract& contract) {
      return judged_with(contract, verdict, {small->cut.graph, small->cut.region, small->cut.trace}).outside;
    };
    std::optional<RegionVerdict> nearest;
    std::optional<Contract> nearest_of_small;
    int64_t fewest_of_small = small ? outside_of_small(region_.contract) : 0;
    const auto look = [&](const Contract& contract, bool as_excuse) {
      if (const int64_t outside = small ? outside_of_small(contract) : 0; outside > 0) {
        if (as_excuse && outside < fewest_of_small) fewest_of_small = outside, nearest_of_small = contract;
        return Within::no;
      }
      RegionVerdict judged = judged_with(contract, verdict);
      const Within how = within(judged, was_special);
      const bool is_nearer = judged.outside < (nearest ? nearest->outside : verdict.outside);
      if (as_excuse && judged.outside > 0 && is_nearer) nearest = std::move(judged);
      return how;
    };
    const auto found = explain_by_arithmetic(
        graph_, region_, {.all = options_.minimal_deviations, .is_kernel = options_.is_kernel}, look);
    const bool is_excused = found && found->is_excuse;
    if (!is_excused && !nearest && nearest_of_small) nearest = judged_with(*nearest_of_small, verdict);
    verdict.unexplained = !found && options_.minimal_deviations;
    const bool is_nearer = nearest && nearest->outside > 0 && nearest->outside < verdict.outside;
    if (!is_excused && is_nearer && !options_.strict_policy) show_nearest(verdict, *nearest);
    if (!found) return;
    if (is_excused) {
      verdict = judged_with(found->contract, verdict);
      if (verdict.verdict != VerdictClass::inconclusive) verdict.verdict = VerdictClass::precision_policy;
      if (options_.strict_policy) {
        verdict.verdict = VerdictClass::precision_policy;
        fill(verdict, strict);
        verdict.symptom = Symptom::declared_rounding;
      }
    }
    verdict.arithmetic = found->diagnoses;
    verdict.alternatives = found->alternatives;
  }

  static bool is_decided(const RegionVerdict& judged) {
    return judged.outside == 0 && judged.declared && judged.verdict <= VerdictClass::precision_policy;
  }

  // If any rounding may be left out, or operands may be read in two ways, the bounds may be too loose to
  // decide, although the kernel is right in one customary way whose bounds are not. The same where sums are
  // long, but have the errors of independent roundings.
  void sharpen(RegionVerdict& verdict) const {
    if (!options_.is_kernel) {
      sharpen(verdict, region_.contract);
      return;
    }
    Contract probable = region_.contract;
    probable.arithmetic.probable_sums = true;
    for (auto& [op, arithmetic] : probable.arithmetic_of) arithmetic.probable_sums = true;
    RegionVerdict judged = judged_with(probable, verdict);
    judged.probable_sums = true;
    if (is_decided(judged)) {
      verdict = std::move(judged);
      return;
    }
    if (sharpen(verdict, region_.contract)) return;
    verdict.probable_sums = sharpen(verdict, probable);
  }
  // What the contract allows beside `base`, and nothing else: where all that may happen is allowed at once, a
  // wide bound covers an exact one.
  static Contract with_new_alone(Contract contract, const Contract& base) {
    contract.roundings = Roundings::kept;
    std::erase_if(contract.deviations, [&](const Deviation& d) {
      return std::find(base.deviations.begin(), base.deviations.end(), d) != base.deviations.end();
    });
    return contract;
  }
  // How the region is judged with these beside what `base` has; nothing where they do not apply.
  std::optional<RegionVerdict> judged_beside(const Granted& ways, const RegionVerdict& verdict,
                                             const Contract& base) const {
    Contract contract = base;
    for (const KnownArithmetic* one : ways) {
      if (!one->grant(graph_, region_, contract)) return {};
    }
    if (!ways.back()->is_sharper && contract.deviations == region_.contract.deviations) return {};
    RegionVerdict judged = judged_with(contract, verdict);
    if (!is_decided(judged) && ways.back()->is_graph) {
      if (const Contract alone = with_new_alone(contract, base); alone != contract)
        judged = judged_with(alone, verdict);
    }
    if (!is_decided(judged) || ways.front()->is_plain) return judged;
    judged.verdict = VerdictClass::precision_policy;
    judged.arithmetic.clear();
    for (const KnownArithmetic* one : ways) judged.arithmetic.push_back(one->diagnosis);
    return judged;
  }

  // Whether a customary way beside what `base` has decides. If none does, the verdict gets those with which
  // the region would fail.
  bool sharpen(RegionVerdict& verdict, const Contract& base) const {
    std::optional<RegionVerdict> sharp;
    std::vector<Diagnosis> fails_with;
    for (const Granted& ways : ways_to_sharpen(options_.is_kernel)) {
      if (sharp && ways.size() > 1) break;
      auto judged = judged_beside(ways, verdict, base);
      if (!judged) continue;
      if (!is_decided(*judged)) {
        if (judged->outside > 0 && ways.size() == 1 && ways[0]->narrows())
          fails_with.push_back(ways[0]->diagnosis);
        continue;
      }
      if (sharp)
        sharp->alternatives.push_back(ways.front()->diagnosis);
      else
        sharp = std::move(judged);
      if (ways.front()->is_plain || !options_.minimal_deviations) break;
    }
    if (!sharp) {
      if (!base.arithmetic.probable_sums) verdict.fails_with = std::move(fails_with);
      return false;
    }
    verdict = *std::move(sharp);
    return true;
  }

  const Graph& graph_;
  const Region& region_;
  const Trace& trace_;
  const RegionJudgeOptions& options_;
  Deviations declared_;
  mutable std::optional<std::pair<Deviations, Comparison>> last_;
};

}  // namespace

Reading reported_reading(const Graph& graph, const Region& region, const Trace& trace,
                         const RegionVerdict& verdict, bool strict_policy) {
  RegionJudgeOptions options;
  options.strict_policy = strict_policy;
  return {RegionJudge(graph, region, trace, options).reported(verdict)};
}

RegionVerdict judge_region(const Graph& graph, const Plan& plan, size_t index, const Trace& trace,
                           const RegionJudgeOptions& options) {
  const Region& region = plan.regions[index];
  const Node& last = graph.nodes()[static_cast<size_t>(region.nodes.back())];
  RegionVerdict verdict;
  verdict.region = index;
  verdict.name = last.name;
  verdict.op = semantic_name(last.op);
  verdict.patterns = region.patterns;
  verdict.dtype = graph.type(last.first_output).dtype;
  for (ValueId v : region.outputs)
    check(trace.values[static_cast<size_t>(v)] != nullptr,
          "judge: a region output is missing from the trace");
  if (const auto sample = draw_sample(graph, region, trace, options.sample, options.other)) {
    RegionJudge(sample->cut.graph, sample->cut.region, sample->cut.trace, options).run(verdict);
    verdict.all_elements = sample->all_elements;
    if (!verdict.worst.value.empty())
      verdict.worst.element = sample->in_whole(verdict.worst.value, verdict.worst.element);
  } else {
    RegionJudge(graph, region, trace, options).run(verdict);
    verdict.all_elements = verdict.elements;
  }
  if (verdict.symptom == Symptom::none) return verdict;
  if (const auto value = graph.find(verdict.worst.value)) verdict.worst.shape = graph.type(*value).shape;
  if (!region.patterns.empty()) return verdict;
  if (const auto index_of_node = failing_node(graph, verdict)) {
    const Node& node = graph.nodes()[static_cast<size_t>(*index_of_node)];
    verdict.name = node.name;
    verdict.op = semantic_name(node.op);
    const auto failing = graph.find(verdict.worst.value);
    const bool is_its_output = failing && graph.producer(*failing) == index_of_node;
    verdict.dtype = graph.type(is_its_output ? *failing : node.first_output).dtype;
  }
  return verdict;
}

}  // namespace fusesmith::oracle
