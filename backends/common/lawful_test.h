// For tests: every op case as a graph of one node, run by a backend and judged.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/backend.h"
#include "graph/case.h"
#include "graph/op_tests/op_tests.h"
#include "oracle/judge.h"

namespace fusesmith::backends::testing_cases {

using op_tests::OpCase, op_tests::ExactCase, op_tests::SpecialCase;

inline Result<Graph> one_node(const OpCase& one, Dtype dtype, const Fill& fill) {
  Builder b;
  std::vector<ValueId> inputs;
  for (TensorType type : one.inputs) {
    Fill own = fill;
    if (type.dtype == Dtype::boolean)
      own = Bernoulli{0.6};
    else if (type.dtype == Dtype::i32)
      own = op_tests::index_fill(type);
    else
      type.dtype = dtype;
    inputs.push_back(b.input("input" + std::to_string(inputs.size()), type, own));
  }
  const ValueId first = b.node(one.op, inputs, "y");
  for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
  return b.build();
}

inline std::vector<TensorPtr> inputs_of(const Graph& graph, uint64_t seed) {
  Case test_case;
  test_case.seed = seed;
  test_case.graph = graph;
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : make_inputs(test_case))
    inputs.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  for (const State& s : graph.states())
    inputs.push_back(std::make_shared<const Tensor>(materialize(s.fill, s.type, seed, s.name, 0)));
  return inputs;
}

// The graph on inputs of this seed, run, looked at again, and judged by itself.
inline BackendVerdict judge_on(const Backend& backend, const Graph& graph, uint64_t seed,
                               const CompileOptions& options = {}) {
  const std::vector<TensorPtr> inputs = inputs_of(graph, seed);
  const auto program = std::move(*backend.compile(graph, options));
  const Trace trace = program->run(inputs);
  Execution execution;
  execution.backend = backend.name();
  execution.plan = &program->plan();
  execution.trace = &trace;
  execution.disagreement = program->recheck(inputs, trace);
  return judge_backend(graph, execution);
}

inline std::string evidence(const RegionVerdict& region) {
  const ElementEvidence& worst = region.worst;
  return std::string(name(region.verdict)) + " " + std::string(name(region.symptom)) + ": element " +
         std::to_string(worst.element) + " of " + worst.value + " is " + number_text(worst.got) +
         ", expected " + number_text(worst.lo) + " to " + number_text(worst.hi) + ", outside " +
         std::to_string(region.outside) + " of " + std::to_string(region.elements);
}

// Calls f(verdict, op) for every op case, dtype and two seeds.
template <class F>
void for_each_verdict(const Backend& backend, const Fill& fill, F f) {
  for (const OpCase& one : op_tests::op_cases()) {
    for (Dtype dtype : kFloatDtypes) {
      for (uint64_t seed = 1; seed <= 2; ++seed) {
        SCOPED_TRACE(to_string(one.op) + " in " + std::string(name(dtype)) + ", " + std::string(name(fill)));
        const auto graph = one_node(one, dtype, fill);
        ASSERT_TRUE(graph.ok()) << graph.problem();
        f(judge_on(backend, *graph, seed), one.op);
      }
    }
  }
}

// Roundings that a library adds are allowed if the contract declares them, and no others.
inline bool only_adds(const RegionVerdict& region) {
  const auto adds = [](const Deviation& d) { return d.kind == Deviation::Kind::add; };
  return region.declared && std::all_of(region.deviations.begin(), region.deviations.end(), adds);
}

// The law of an unfused backend on data where bounds are tight: every node within its bounds, with every
// rounding where the graph has it. Bounds that follow from a formula may be too loose on constant rows, whose
// differences from their mean are 0, and for log_softmax_backward of 100, whose exponential overflows;
// results of log_softmax are below 0.
inline void expect_lawful_on_ordinary_data(const Backend& backend) {
  for (const Fill& fill : {Fill{Normal{}}, Fill{Normal{100, 1}}, Fill{Normal{0, 20}}, Fill{Lattice{}},
                           Fill{Constant{3}}, Fill{OneHot{}}}) {
    for_each_verdict(backend, fill, [&](const BackendVerdict& verdict, const Op& op) {
      const RegionVerdict& region = verdict.regions.at(0);
      const bool overflows = std::holds_alternative<LogSoftmaxBackward>(op) && fill == Fill{Normal{100, 1}};
      const bool may_be_loose = overflows || (is_defined(op) && std::holds_alternative<Constant>(fill));
      EXPECT_LE(verdict.verdict, may_be_loose ? VerdictClass::inconclusive : VerdictClass::precision_policy)
          << evidence(region);
      EXPECT_TRUE(only_adds(region));
      EXPECT_EQ(region.outside, 0);
    });
  }
}

// Zeros of both signs, subnormals, huge values, infinities and NaN. Bounds may be too loose to say, never
// broken.
inline void expect_lawful_on_special_data(const Backend& backend) {
  for (const Fill& fill :
       {Fill{Special{0.3, false}}, Fill{Special{0.05, true}}, Fill{Uniform{-1e-38, 1e-38}}}) {
    for_each_verdict(backend, fill, [](const BackendVerdict& verdict, const Op&) {
      EXPECT_LE(verdict.verdict, VerdictClass::inconclusive) << evidence(verdict.regions.at(0));
      EXPECT_TRUE(only_adds(verdict.regions.at(0)));
      EXPECT_EQ(verdict.regions.at(0).outside, 0);
    });
  }
}

// Exact data: every element of every op has one correct bit pattern, which the backend must give.
// `in_one_pass`: its variances are.
inline void expect_exact_on_exact_data(const Backend& backend, bool in_one_pass = false) {
  for (const ExactCase& one : op_tests::exact_cases()) {
    for (Dtype dtype : kFloatDtypes) {
      SCOPED_TRACE(to_string(one.op) + " in " + std::string(name(dtype)));
      const auto graph = op_tests::exact_graph(one, dtype);
      ASSERT_TRUE(graph.ok()) << graph.problem();
      for (const RegionVerdict& region : judge_on(backend, *graph, 3).regions) {
        EXPECT_EQ(region.verdict, VerdictClass::reassociation) << evidence(region);
        if (one.two_pass && in_one_pass) continue;
        // A bias that cancels some of a norm's product leaves what a kernel in f64 keeps of eps.
        const bool may_cancel = info(one.op).op_class == OpClass::reduction && graph->source_count() == 3;
        EXPECT_GE(region.exact, may_cancel ? region.elements * 3 / 4 : region.elements);
      }
    }
  }
}

// Of NaN, infinities, subnormals, huge values and zeros, what the op's doc line says; ops that move values
// keep the sign of zeros.
inline void expect_special_outcomes(const Backend& backend) {
  for (Dtype dtype : kFloatDtypes) {
    for (const SpecialCase& one : op_tests::special_cases(dtype)) {
      SCOPED_TRACE(to_string(one.op) + " in " + std::string(name(dtype)));
      const auto graph = op_tests::special_graph(one, dtype);
      ASSERT_TRUE(graph.ok()) << graph.problem();
      const Trace trace = (*backend.compile(*graph, {}))->run(inputs_of(*graph, 1));
      const bool moves = info(one.op).op_class == OpClass::movement;
      for (size_t k = 0; k < one.want.size(); ++k) {
        const Tensor& y = *trace.values[static_cast<size_t>(graph->outputs()[k])];
        ASSERT_EQ(y.size(), static_cast<int64_t>(one.want[k].size()));
        for (int64_t i = 0; i < y.size(); ++i) {
          const double want = round_to(y.type.dtype, one.want[k][static_cast<size_t>(i)]), got = y.value(i);
          const bool same_sign = !moves || std::isnan(want) || std::signbit(want) == std::signbit(got);
          EXPECT_TRUE((got == want && same_sign) || (std::isnan(got) && std::isnan(want)))
              << "element " << i << " of output " << k << ": " << got << ", expected " << want;
        }
      }
    }
  }
}

}  // namespace fusesmith::backends::testing_cases
