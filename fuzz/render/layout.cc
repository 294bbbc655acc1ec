// The method of Sugiyama, Tagawa and Toda (1981): long edges get a dummy box in every layer that they cross,
// orders are improved by medians of neighbours, and places are then averages of neighbours, pushed apart
// where they overlap.
#include "fuzz/render/layout.h"

#include <algorithm>
#include <numeric>

namespace fusesmith::fuzz {
namespace {

constexpr double kGap = 26;         // between boxes
constexpr double kDummyWidth = 14;  // room for an edge that passes a layer
constexpr int kSweeps = 24;

struct Place {
  double width;
  int layer;
  double x = 0;
  std::vector<size_t> above = {}, below = {};
};

class Layout {
 public:
  Layout(const std::vector<LaidBox>& boxes, const std::vector<LaidEdge>& edges) {
    for (const LaidBox& box : boxes) add(box.width, box.layer);
    for (const LaidEdge& edge : edges) {
      std::vector<size_t> chain;
      auto from = static_cast<size_t>(edge.from);
      const auto to = static_cast<size_t>(edge.to);
      for (int layer = places_[from].layer + 1; layer < places_[to].layer; ++layer) {
        const size_t dummy = add(kDummyWidth, layer);
        connect(from, dummy);
        chain.push_back(from = dummy);
      }
      connect(from, to);
      chains_.push_back(std::move(chain));
    }
  }

  void run() {
    for (int sweep = 0; sweep < kSweeps; ++sweep) order(sweep % 2 == 0);
    for (auto& layer : layers_) push_apart(layer);
    for (int sweep = 0; sweep < kSweeps; ++sweep) place(sweep % 2 == 0);
  }

  // The left end of everything is 0 afterwards; returns the right end.
  double normalize() {
    double left = 1e300, right = -1e300;
    for (const Place& p : places_) {
      left = std::min(left, p.x - p.width / 2);
      right = std::max(right, p.x + p.width / 2);
    }
    for (Place& p : places_) p.x -= left;
    return places_.empty() ? 0 : right - left;
  }

  double x(size_t place) const { return places_[place].x; }
  const std::vector<size_t>& chain(size_t edge) const { return chains_[edge]; }

 private:
  size_t add(double width, int layer) {
    const size_t index = places_.size();
    places_.push_back({width, layer});
    if (layers_.size() <= static_cast<size_t>(layer)) layers_.resize(static_cast<size_t>(layer) + 1);
    auto& row = layers_[static_cast<size_t>(layer)];
    places_.back().x = static_cast<double>(row.size());
    row.push_back(index);
    return index;
  }
  void connect(size_t from, size_t to) {
    places_[from].below.push_back(to);
    places_[to].above.push_back(from);
  }

  static double median(std::vector<double> xs) {
    std::sort(xs.begin(), xs.end());
    const size_t n = xs.size();
    return n % 2 == 1 ? xs[n / 2] : (xs[n / 2 - 1] + xs[n / 2]) / 2;
  }

  // The median of the neighbours on one side; its own x where there are none.
  double wanted(size_t place, bool downwards) const {
    const auto& near = downwards ? places_[place].above : places_[place].below;
    if (near.empty()) return places_[place].x;
    std::vector<double> xs;
    for (size_t other : near) xs.push_back(places_[other].x);
    return median(xs);
  }

  template <class F>
  void for_each_layer(bool downwards, F f) {
    for (size_t i = 0; i < layers_.size(); ++i) f(layers_[downwards ? i : layers_.size() - 1 - i]);
  }

  // Here x is the index in the layer.
  void order(bool downwards) {
    for_each_layer(downwards, [&](std::vector<size_t>& layer) {
      std::vector<std::pair<double, size_t>> keyed;
      for (size_t place : layer) keyed.emplace_back(wanted(place, downwards), place);
      std::stable_sort(keyed.begin(), keyed.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < keyed.size(); ++i) {
        layer[i] = keyed[i].second;
        places_[layer[i]].x = static_cast<double>(i);
      }
    });
  }

  double distance(size_t a, size_t b) const { return (places_[a].width + places_[b].width) / 2 + kGap; }

  void push_apart(std::vector<size_t>& layer) {
    for (size_t i = 1; i < layer.size(); ++i)
      places_[layer[i]].x =
          std::max(places_[layer[i]].x, places_[layer[i - 1]].x + distance(layer[i - 1], layer[i]));
  }

  // Each box as near to its wanted place as its neighbours in the layer allow: the mean of what pushing from
  // the left and pushing from the right give.
  void place(bool downwards) {
    for_each_layer(downwards, [&](std::vector<size_t>& layer) {
      std::vector<double> left, right(layer.size());
      for (size_t place : layer) left.push_back(wanted(place, downwards));
      right = left;
      for (size_t i = 1; i < layer.size(); ++i)
        left[i] = std::max(left[i], left[i - 1] + distance(layer[i - 1], layer[i]));
      for (size_t i = layer.size() - 1; i-- > 0;)
        right[i] = std::min(right[i], right[i + 1] - distance(layer[i], layer[i + 1]));
      for (size_t i = 0; i < layer.size(); ++i) places_[layer[i]].x = (left[i] + right[i]) / 2;
    });
  }

  std::vector<Place> places_;
  std::vector<std::vector<size_t>> layers_;
  std::vector<std::vector<size_t>> chains_;
};

}  // namespace

double lay_out(std::vector<LaidBox>& boxes, std::vector<LaidEdge>& edges) {
  Layout layout(boxes, edges);
  layout.run();
  const double width = layout.normalize();
  for (size_t i = 0; i < boxes.size(); ++i) boxes[i].x = layout.x(i);
  for (size_t i = 0; i < edges.size(); ++i) {
    for (size_t dummy : layout.chain(i)) edges[i].through.push_back(layout.x(dummy));
  }
  return width;
}

}  // namespace fusesmith::fuzz
