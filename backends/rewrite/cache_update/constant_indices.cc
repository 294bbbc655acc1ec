// Indices that follow from attributes alone, as compilers fold them: aranges, rolled, cut and joined.
#include <algorithm>
#include <map>

#include "backends/common/run_node.h"
#include "backends/rewrite/cache_update/cache_update.h"

namespace fusesmith::backends {
namespace {

constexpr size_t kMaxNodes = 8;

class Folding {
 public:
  explicit Folding(const Graph& graph) : graph_(graph) {}

  const Tensor* fold(ValueId value) {
    if (const auto at = known_.find(value); at != known_.end()) return &at->second;
    const auto producer = graph_.producer(value);
    if (!producer || graph_.type(value).dtype != Dtype::i32) return nullptr;
    const Node& node = graph_.nodes()[static_cast<size_t>(*producer)];
    const OpClass op_class = info(node.op).op_class;
    const bool foldable = op_class == OpClass::source || op_class == OpClass::movement;
    if (!foldable || node.output_count != 1 || ++visited_ > kMaxNodes) return nullptr;
    std::vector<const Tensor*> inputs;
    for (ValueId v : node.inputs) {
      inputs.push_back(fold(v));
      if (inputs.back() == nullptr) return nullptr;
    }
    const TensorType types[] = {graph_.type(value)};
    nodes_.push_back(*producer);
    return &(known_[value] = std::move(run_node(node.op, inputs, types)[0]));
  }
  const std::vector<int>& nodes() const { return nodes_; }

 private:
  const Graph& graph_;
  std::map<ValueId, Tensor> known_;
  std::vector<int> nodes_;
  size_t visited_ = 0;
};

}  // namespace

std::optional<ConstantIndices> constant_indices(const Graph& graph, ValueId value) {
  Folding folding(graph);
  const Tensor* folded = folding.fold(value);
  if (folded == nullptr) return std::nullopt;
  const auto elements = folded->as<int32_t>();
  return ConstantIndices{{elements.begin(), elements.end()}, folding.nodes()};
}

}  // namespace fusesmith::backends
