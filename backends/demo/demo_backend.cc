#include "backends/demo/demo_backend.h"

#include <algorithm>
#include <cmath>

#include "backends/common/cpu_arithmetic.h"
#include "backends/common/run_node.h"
#include "backends/common/run_plan.h"

namespace fusesmith::backends {
namespace {

constexpr size_t kTile = 8;

// The softmax of one row, in tiles as on a GPU. The bug: a row of more than one tile forgets, in the sum of
// its exponentials, the elements after its last full tile.
void softmax_of_row(std::span<const float> row, std::span<float> result) {
  const float largest = *std::max_element(row.begin(), row.end());
  for (size_t i = 0; i < row.size(); ++i) result[i] = std::exp(row[i] - largest);
  const size_t summed = row.size() > kTile ? row.size() / kTile * kTile : row.size();
  float sum = 0;
  for (size_t i = 0; i < summed; ++i) sum += result[i];
  for (float& value : result) value /= sum;
}

bool is_last_axis(const Softmax& op, const TensorType& type) {
  return op.axis == -1 || op.axis == type.rank() - 1;
}

// Whether every element is a number: special values are left to the correct kernel.
bool is_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

class DemoProgram : public Program {
 public:
  DemoProgram(Graph graph, const CompileOptions& options)
      : graph_(std::move(graph)), products_(options.tf32 ? F32Products::tf32 : F32Products::ieee) {
    for (int node = 0; node < static_cast<int>(graph_.nodes().size()); ++node) {
      plan_.regions.push_back(make_region(graph_, {node}));
      Arithmetic& arithmetic = plan_.regions.back().contract.arithmetic;
      arithmetic = cpu_arithmetic();
      arithmetic.row_sums = {};  // those of softmax_of_row have one lane
      arithmetic.tf32 = options.tf32;
    }
  }

  const Plan& plan() const override { return plan_; }

  Trace run(std::span<const TensorPtr> inputs) override {
    return run_plan(graph_, plan_, inputs, layouts_, [&](const Region& region, std::span<TensorPtr> values) {
      for (const int node : region.nodes) run_one(node, values);
    });
  }

  std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override {
    return repeat_plan(*this, graph_, inputs, trace, layouts_);
  }

 private:
  void run_one(int index, std::span<TensorPtr> values) const {
    const Node& node = graph_.nodes()[static_cast<size_t>(index)];
    const auto* op = std::get_if<Softmax>(&node.op);
    if (op && is_last_axis(*op, graph_.type(node.inputs[0]))) {
      const std::vector<float> x = to_f32(*values[static_cast<size_t>(node.inputs[0])]);
      if (is_finite(x)) {
        values[static_cast<size_t>(node.first_output)] = softmax(x, graph_.type(node.first_output));
        return;
      }
    }
    run_node(graph_, index, values, products_);
  }

  static TensorPtr softmax(const std::vector<float>& x, const TensorType& type) {
    const auto length = static_cast<size_t>(type.shape.back());
    std::vector<float> result(x.size());
    for (size_t at = 0; at < x.size(); at += length)
      softmax_of_row(std::span(x).subspan(at, length), std::span(result).subspan(at, length));
    return std::make_shared<Tensor>(from_f32(result, type));
  }

  Graph graph_;
  F32Products products_;
  LayoutRuns layouts_;
  Plan plan_;
};

class DemoBackend : public Backend {
 public:
  std::string_view name() const override { return kDemoBackend; }
  std::string_view doc() const override {
    return "For `fusesmith demo`: cpu with a bug in its softmax, which forgets the end of long rows.";
  }
  std::optional<std::string> unavailable() const override { return {}; }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    return std::unique_ptr<Program>(std::make_unique<DemoProgram>(graph, options));
  }
};

}  // namespace

const Backend& demo_backend() {
  static const DemoBackend backend;
  return backend;
}

}  // namespace fusesmith::backends
