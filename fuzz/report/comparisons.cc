#include "fuzz/report/comparisons.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "oracle/difference.h"
#include "oracle/evaluate.h"

namespace fusesmith::fuzz {

namespace {

// Whether |a - b| <= atol + rtol |b|, or both are equal or NaN, where each operation is rounded as PyTorch
// rounds those of this dtype.
bool is_close(Dtype dtype, double a, double b, double tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  const auto stored = [&](double x) {
    return is_float(dtype) ? round_to(dtype, static_cast<float>(x)) : static_cast<float>(x);
  };
  const double allowed = stored(tolerance + std::fabs(stored(tolerance * b)));
  const double actual = std::fabs(stored(a - b));
  return std::isfinite(actual) && actual <= allowed;
}

// Of each element.
template <class Of>
bool all_close(const Tensor& result, double tolerance, Of of) {
  for (int64_t i = 0; i < result.size(); ++i) {
    if (!is_close(result.type.dtype, of(i), result.value(i), tolerance)) return false;
  }
  return true;
}

double root_mean_square_error(const Tensor& tensor, std::span<const double> exact) {
  double squares = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double error = exact[i] - tensor.value(static_cast<int64_t>(i));
    squares += error * error;
  }
  return std::sqrt(squares / static_cast<double>(exact.size()));
}

bool has_nan(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (std::isnan(tensor.value(i))) return true;
  }
  return false;
}

// How many times as large as the reference's the error of the result may be.
double largest_ratio(const TensorType& type) {
  constexpr int64_t kSmall = 1000;  // elements
  const size_t rank = type.shape.size();
  const bool single = rank == 4 && type.shape[rank - 1] == 1 && type.shape[rank - 2] == 1;
  return size_of(type.dtype) == 2 || element_count(type) < kSmall || single ? 3 : 2;
}

// The outputs of the graph in f64, without any rounding in between, from the sources of a run.
std::map<ValueId, oracle::BoundedPtr> outputs_in_f64(const Graph& graph, const Trace& trace) {
  Region whole;
  whole.nodes.resize(graph.nodes().size());
  std::iota(whole.nodes.begin(), whole.nodes.end(), 0);
  for (ValueId value = 0; value < graph.source_count(); ++value) whole.inputs.push_back(value);
  for (const ValueId value : graph.outputs()) {
    const bool is_known = std::find(whole.outputs.begin(), whole.outputs.end(), value) != whole.outputs.end();
    if (value >= graph.source_count() && !is_known) whole.outputs.push_back(value);
  }
  oracle::Reading unrounded;
  for (const oracle::InnerRounding& inner : oracle::inner_roundings(graph, whole))
    unrounded.deviations.push_back({oracle::Deviation::Kind::drop, inner.value, inner.dtype, 0, ""});
  std::map<ValueId, oracle::BoundedPtr> outputs;
  for (const oracle::RegionOutput& output : oracle::evaluate(graph, whole, trace, unrounded))
    outputs.emplace(output.value, output.bounded);
  return outputs;
}

struct Outputs {
  TensorPtr result, reference;  // of the candidate, of the baseline
  ValueId value;
};

// What both backends returned.
std::vector<Outputs> outputs_of(const Graph& graph, const CaseRun& run) {
  std::vector<Outputs> outputs;
  for (const ValueId value : graph.outputs()) {
    const auto at = static_cast<size_t>(value);
    if (at >= run.candidate_trace.values.size() || at >= run.baseline_trace.values.size()) continue;
    const TensorPtr &result = run.candidate_trace.values[at], &reference = run.baseline_trace.values[at];
    if (result && reference) outputs.push_back({result, reference, value});
  }
  return outputs;
}

// torch.testing.assert_close takes its tolerances by dtype (_DTYPE_PRECISIONS in
// torch/testing/_comparison.py, PyTorch 2.11; those of oracle/difference.cc). Its NaNs are unequal by
// default; here they are equal, as both backends may be right to give one.
Comparison by_assert_close(std::span<const Outputs> outputs) {
  Comparison comparison{"torch.testing.assert_close", "default tolerances of each dtype, equal_nan=True"};
  Difference all;
  for (const Outputs& one : outputs) all += difference(*one.reference, *one.result);
  comparison.beyond = all.beyond, comparison.elements = all.elements;
  return comparison;
}

Comparison by_same(const Graph& graph, const CaseRun& run, std::span<const Outputs> outputs) {
  Comparison comparison{"torch._dynamo.utils.same",
                        "with fp64_ref, tol 0.0001, equal_nan=True; counts elements of whole outputs"};
  const auto in_f64 = outputs_in_f64(graph, run.candidate_trace);
  for (const Outputs& one : outputs) {
    const auto exact = in_f64.find(one.value);
    const bool same =
        exact == in_f64.end() || is_same(*one.reference, *one.result, std::span(exact->second->v));
    comparison.elements += one.result->size();
    comparison.beyond += same ? 0 : one.result->size();
  }
  return comparison;
}

// By the rule |a - b| <= atol + rtol |b| on the numbers in f64.
Comparison by_allclose(std::span<const Outputs> outputs) {
  constexpr double kRelative = 1e-5, kAbsolute = 1e-8;  // defaults of numpy.allclose
  Comparison comparison{"numpy.allclose", "rtol 1e-05, atol 1e-08"};
  for (const Outputs& one : outputs) {
    for (int64_t i = 0; i < one.result->size(); ++i) {
      const double got = one.result->value(i), wanted = one.reference->value(i);
      const bool same = got == wanted || (std::isnan(got) && std::isnan(wanted));
      comparison.beyond += !same && !(std::fabs(got - wanted) <= kAbsolute + kRelative * std::fabs(wanted));
      ++comparison.elements;
    }
  }
  return comparison;
}

}  // namespace

bool is_same(const Tensor& reference, const Tensor& result, std::span<const double> exact) {
  constexpr double kTolerance = 1e-4, kLoose = 4e-2;
  const Dtype dtype = result.type.dtype;
  if (all_close(result, kTolerance, [&](int64_t i) { return reference.value(i); })) return true;
  if (!is_float(dtype)) return false;
  const bool exact_has_nan = std::any_of(exact.begin(), exact.end(), [](double x) { return std::isnan(x); });
  const auto rounded = [&](int64_t i) { return round_to(dtype, exact[static_cast<size_t>(i)]); };
  if (!exact_has_nan && !has_nan(result) && has_nan(reference) && all_close(result, kLoose, rounded))
    return true;
  const double wanted = root_mean_square_error(reference, exact), got = root_mean_square_error(result, exact);
  return got <= largest_ratio(result.type) * wanted + kTolerance / 10 ||
         (std::isnan(got) && std::isnan(wanted));
}

std::vector<Comparison> comparisons_of(const Case& test_case, const CaseRun& run) {
  const std::vector<Outputs> outputs = outputs_of(test_case.graph, run);
  if (outputs.empty()) return {};
  return {by_assert_close(outputs), by_same(test_case.graph, run, outputs), by_allclose(outputs)};
}

}  // namespace fusesmith::fuzz
