// Graphs and inputs for the tests of metamorphic checks.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/common/lawful_test.h"
#include "backends/rewrite/pattern.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/metamorphic.h"

namespace fusesmith::fuzz {

struct LabelledGraph {
  std::string label;
  Graph graph;
};

// One of each op, and the examples of all patterns, in every float dtype.
inline std::vector<LabelledGraph> graphs_of_all() {
  std::vector<LabelledGraph> all;
  for (Dtype dtype : kFloatDtypes) {
    const std::string in = " in " + std::string(name(dtype));
    for (const auto& one : op_tests::op_cases())
      all.push_back({to_string(one.op) + in, *testing_cases::one_node(one, dtype, Normal{})});
    for (const Pattern& pattern : all_patterns()) {
      for (const GraphRecipe& recipe : pattern.examples)
        all.push_back({std::string(recipe.name) + in, recipe.build(dtype, {})});
    }
  }
  return all;
}

// Drawn as those of a case.
inline Inputs inputs_of(const Graph& graph, uint64_t seed) {
  Case test_case;
  test_case.seed = seed;
  test_case.graph = graph;
  Inputs inputs;
  for (Tensor& tensor : make_inputs(test_case))
    inputs.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  return inputs;
}

// cpu, with something done to every result.
class Changed : public Program {
 public:
  using Change = std::function<void(Tensor& result)>;
  Changed(const Graph& graph, Change change)
      : program_(std::move(*find_backend("cpu")->compile(graph, {}))), change_(std::move(change)) {}
  const Plan& plan() const override { return program_->plan(); }
  Trace run(std::span<const TensorPtr> inputs) override {
    Trace trace = program_->run(inputs);
    for (const Region& region : plan().regions) {
      for (ValueId v : region.outputs) {
        TensorPtr& result = trace.values[static_cast<size_t>(v)];
        Tensor changed = *result;
        change_(changed);
        result = std::make_shared<const Tensor>(std::move(changed));
      }
    }
    return trace;
  }
  std::optional<Disagreement> recheck(std::span<const TensorPtr>, const Trace&) override { return {}; }

 private:
  std::unique_ptr<Program> program_;
  Change change_;
};

// Of the backend that the parameter names; skipped where it cannot run.
class OnBackend : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    backend_ = find_backend(GetParam());
    if (!backend_) GTEST_SKIP() << GetParam() << " is not in this build";
    if (const auto why = backend_->unavailable()) GTEST_SKIP() << GetParam() << ": " << *why;
  }
  const Backend* backend_ = nullptr;
};

}  // namespace fusesmith::fuzz
