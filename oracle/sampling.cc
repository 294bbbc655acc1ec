#include "oracle/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/op_traits.h"
#include "graph/philox.h"
#include "oracle/sample_indices.h"

namespace fusesmith::oracle {
namespace {

// What the reference of a region may cost before a sample of it is judged: a second or two, and one or two
// GiB. In multiply-adds; an element that is held counts for many, since functions and bounds cost more.
constexpr double kBudget = 0x1p30, kElement = 64;
constexpr int64_t kFewestIndices = 4;
constexpr int64_t kSmallShare = 4;  // of a region's elements, a small sample is at most this part
constexpr int64_t kSuspects = 8;    // of each output, of each kind

struct Cost {
  double operations = 0;
  int64_t largest = 0;  // elements that one node holds

  void add(const Op& op, TypeSpan inputs, const TensorType& output) {
    const Work work = work_of(op, inputs, output);
    operations += static_cast<double>(work.operations) + kElement * static_cast<double>(work.elements);
    largest = std::max(largest, work.elements);
  }
};

template <class TypeOf>
Cost cost_of(const Graph& graph, std::span<const int> nodes, TypeOf type_of) {
  Cost cost;
  for (const int n : nodes) {
    const Node& node = graph.nodes()[static_cast<size_t>(n)];
    Types inputs;
    for (const ValueId v : node.inputs) inputs.push_back(type_of(v));
    cost.add(node.op, inputs, type_of(node.first_output));
  }
  return cost;
}

using Element = std::pair<ValueId, int64_t>;

// Elements that a sample must not miss, at most kSuspects of each kind from all over the tensor.
std::vector<int64_t> suspects(const Tensor& got, const Tensor* other) {
  std::vector<int64_t> found;
  const auto size = static_cast<size_t>(size_of(got.type.dtype));
  for (int64_t part = 0; part < kSuspects; ++part) {
    int64_t not_finite = -1, furthest = -1;
    double distance = 0;
    const int64_t end = got.size() * (part + 1) / kSuspects;
    for (int64_t i = got.size() * part / kSuspects; i < end; ++i) {
      const double x = got.value(i);
      if (!std::isfinite(x) && not_finite < 0) not_finite = i;
      const auto at = static_cast<size_t>(i) * size;
      if (!other || std::memcmp(&got.bytes[at], &other->bytes[at], size) == 0) continue;
      const double apart = std::fabs(x - other->value(i));
      if (apart > distance) distance = apart, furthest = i;
    }
    for (const int64_t i : {not_finite, furthest}) {
      if (i >= 0) found.push_back(i);
    }
  }
  return found;
}

}  // namespace

class Sampler {
 public:
  Sampler(const RegionPart& part, const Graph& whole, const Region& region, const SampleOptions& options)
      : part_(part), graph_(part.graph()), whole_(whole), region_(region), options_(options) {
    for (AxisClass& axes : axis_classes(graph_)) {
      if (!axes.fixed && axes.size > 1) classes_.push_back(std::move(axes));
    }
    std::stable_sort(classes_.begin(), classes_.end(),
                     [](const AxisClass& a, const AxisClass& b) { return a.size < b.size; });
    for (size_t n = 0; n < graph_.nodes().size(); ++n) nodes_.push_back(static_cast<int>(n));
  }

  // False where the whole region fits. Short axes may stay whole where that gives many more elements.
  bool choose_counts() {
    constexpr double kManyMore = 1.5;
    double elements = 0;
    for (size_t whole = 0; whole < std::max<size_t>(classes_.size(), 1); ++whole) {
      if (whole > 0 && options_.indices > 0) break;
      const std::vector<int64_t> counts = largest_counts(whole);
      double product = 1;
      for (const int64_t count : counts) product *= static_cast<double>(count);
      if (product <= kManyMore * elements || (whole > 0 && !fits(counts))) continue;
      elements = product;
      counts_ = counts;
    }
    for (size_t c = 0; c < classes_.size(); ++c) {
      if (counts_[c] < classes_[c].size) return true;
    }
    return false;
  }

  // With these elements of outputs of the region, and others.
  std::optional<RegionSample> draw(const std::vector<Element>& elements) {
    std::vector<std::vector<int64_t>> wanted(classes_.size());
    for (const auto& [v, element] : elements) want(part_.id_of(v), element, wanted);
    std::vector<std::vector<int64_t>> indices;
    for (size_t c = 0; c < classes_.size(); ++c) {
      const ValueAxis& first = classes_[c].axes.front();
      const uint64_t key =
          hash_name(graph_.name(first.value), options_.seed) + static_cast<uint64_t>(first.axis);
      indices.push_back(sample_indices(classes_[c].size, counts_[c], key, wanted[c]));
    }
    auto cut = part_.cut(kept(indices));
    if (!cut) return std::nullopt;
    RegionSample sample;
    for (const ValueId v : region_.outputs) {
      sample.all_elements += element_count(whole_.type(v));
      sample.places_[whole_.name(v)] = places(part_.id_of(v), indices);
    }
    sample.cut = std::move(*cut);
    return sample;
  }

 private:
  // The first `whole` classes have all indices, the others as many as fit.
  std::vector<int64_t> largest_counts(size_t whole) const {
    const auto counts = [&](int64_t most) {
      std::vector<int64_t> found;
      for (const AxisClass& axes : classes_)
        found.push_back(found.size() < whole ? axes.size : std::min(axes.size, most));
      return found;
    };
    int64_t most = classes_.empty() ? 1 : classes_.back().size;
    if (options_.indices > 0) most = std::min(most, options_.indices);
    int64_t low = std::min(kFewestIndices, most), high = most;
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (fits(counts(middle)))
        low = middle;
      else
        high = middle - 1;
    }
    return counts(low);
  }

  bool fits(const std::vector<int64_t>& counts) const {
    Types types;
    for (ValueId v = 0; v < graph_.value_count(); ++v) types.push_back(graph_.type(v));
    for (size_t c = 0; c < classes_.size(); ++c) {
      for (const ValueAxis& at : classes_[c].axes)
        types[static_cast<size_t>(at.value)].shape[static_cast<size_t>(at.axis)] = counts[c];
    }
    const Cost cost = cost_of(graph_, nodes_, [&](ValueId v) { return types[static_cast<size_t>(v)]; });
    return options_.indices > 0 ? cost.largest <= kMaxElements : cost.operations <= kBudget;
  }

  // Adds the places of the element to what is wanted of each class.
  void want(ValueId value, int64_t element, std::vector<std::vector<int64_t>>& wanted) const {
    const Shape& shape = graph_.type(value).shape;
    for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis]) {
      for (size_t c = 0; c < classes_.size(); ++c) {
        const auto& axes = classes_[c].axes;
        if (std::find(axes.begin(), axes.end(), ValueAxis{value, static_cast<int>(axis)}) != axes.end())
          wanted[c].push_back(element % shape[axis]);
      }
    }
  }

  KeptIndices kept(const std::vector<std::vector<int64_t>>& indices) const {
    KeptIndices kept;
    for (ValueId v = 0; v < graph_.value_count(); ++v)
      kept.emplace_back(static_cast<size_t>(graph_.type(v).rank()), nullptr);
    for (size_t c = 0; c < classes_.size(); ++c) {
      if (static_cast<int64_t>(indices[c].size()) == classes_[c].size) continue;
      for (const ValueAxis& at : classes_[c].axes)
        kept[static_cast<size_t>(at.value)][static_cast<size_t>(at.axis)] = &indices[c];
    }
    return kept;
  }

  RegionSample::Places places(ValueId value, const std::vector<std::vector<int64_t>>& indices) const {
    RegionSample::Places places{graph_.type(value).shape, {}};
    const Kept kept_axes = kept(indices)[static_cast<size_t>(value)];
    for (const auto* axis : kept_axes) places.kept.push_back(axis ? *axis : std::vector<int64_t>{});
    return places;
  }

  const RegionPart& part_;
  const Graph& graph_;
  const Graph& whole_;
  const Region& region_;
  const SampleOptions& options_;
  std::vector<AxisClass> classes_;  // of independent axes, the shortest first
  std::vector<int> nodes_;
  std::vector<int64_t> counts_;  // by class
};

namespace {

std::optional<RegionSample> sample_with(const std::vector<Element>& elements, const Graph& graph,
                                        const Region& region, const Trace& trace,
                                        const SampleOptions& options) {
  const auto part = RegionPart::make(graph, region, trace);
  if (!part) return std::nullopt;
  Sampler sampler(*part, graph, region, options);
  if (!sampler.choose_counts()) return std::nullopt;
  return sampler.draw(elements);
}

}  // namespace

int64_t RegionSample::in_whole(const std::string& value, int64_t element) const {
  const Places& places = places_.at(value);
  const Shape strides = strides_of(places.whole);
  int64_t found = 0;
  for (size_t axis = places.whole.size(); axis-- > 0;) {
    const std::vector<int64_t>& kept = places.kept[axis];
    const int64_t size = kept.empty() ? places.whole[axis] : static_cast<int64_t>(kept.size());
    const int64_t at = element % size;
    found += strides[axis] * (kept.empty() ? at : kept[static_cast<size_t>(at)]);
    element /= size;
  }
  return found;
}

std::optional<RegionSample> draw_sample(const Graph& graph, const Region& region, const Trace& trace,
                                        const SampleOptions& options, const Trace* other) {
  if (options.indices == 0) return std::nullopt;
  const auto type_of = [&](ValueId v) -> const TensorType& { return graph.type(v); };
  if (options.indices < 0 && cost_of(graph, region.nodes, type_of).operations <= kBudget) return std::nullopt;
  std::vector<Element> elements;
  for (const ValueId v : region.outputs) {
    const auto at = static_cast<size_t>(v);
    for (const int64_t element : suspects(*trace.values[at], other ? other->values[at].get() : nullptr))
      elements.emplace_back(v, element);
  }
  return sample_with(elements, graph, region, trace, options);
}

std::optional<RegionSample> draw_small_sample(const Graph& graph, const Region& region, const Trace& trace,
                                              const std::string& value, int64_t element) {
  constexpr SampleOptions kSmall{.indices = kFewestIndices};
  const auto v = graph.find(value);
  if (!v || std::find(region.outputs.begin(), region.outputs.end(), *v) == region.outputs.end())
    return std::nullopt;
  auto sample = sample_with({{*v, element}}, graph, region, trace, kSmall);
  if (!sample) return std::nullopt;
  int64_t elements = 0;
  for (const ValueId output : sample->cut.region.outputs)
    elements += element_count(sample->cut.graph.type(output));
  return elements * kSmallShare <= sample->all_elements ? std::move(sample) : std::nullopt;
}

}  // namespace fusesmith::oracle
