// Exchanges: the classes of axes that run along with each other (graph/axis_classes.h), where each value has
// at most one axis of the class, and no op reduces it, cuts it or reads it by its position.
#include "fuzz/run/symmetry.h"
#include "graph/axis_classes.h"

namespace fusesmith::fuzz {
namespace {

std::optional<Exchange> exchange_of(const AxisClass& axes, int value_count) {
  if (axes.fixed || axes.size < 2) return std::nullopt;
  Exchange exchange{std::vector<int>(static_cast<size_t>(value_count), -1), axes.size, !axes.tiled};
  for (const ValueAxis& at : axes.axes) {
    int& own = exchange.axes[static_cast<size_t>(at.value)];
    if (own >= 0) return std::nullopt;  // also a diagonal
    own = at.axis;
  }
  return exchange;
}

}  // namespace

std::vector<Exchange> exchanges_of(const Graph& graph) {
  if (!graph.states().empty()) return {};
  std::vector<Exchange> found;
  for (const AxisClass& axes : axis_classes(graph)) {
    if (auto exchange = exchange_of(axes, graph.value_count())) found.push_back(std::move(*exchange));
  }
  return found;
}

}  // namespace fusesmith::fuzz
