#include "backends/common/placed_tensor.h"

#include <algorithm>
#include <cstring>

#include "backends/common/storage.h"
#include "backends/common/strided.h"
#include "backends/faults.h"

namespace fusesmith::backends {
namespace {

constexpr int64_t kGuard = 64;  // elements before and after a tensor
constexpr auto kAlign = static_cast<size_t>(MemoryLayout::kMaxAlign);

// Whether all elements along the axis are those of index 0.
bool repeats_along(const Tensor& tensor, int64_t axis) {
  Tensor repeated = tensor;
  repeat_elements(repeated, {axis});
  return repeated == tensor;
}

}  // namespace

PlacedTensor::PlacedTensor(const Tensor& tensor, const MemoryLayout& layout, std::byte poison)
    : type_(tensor.type), layout_(layout), poison_(poison), size_(size_of(tensor.type.dtype)) {
  for (const int64_t axis : layout.expand)
    check(repeats_along(tensor, axis), "PlacedTensor: the elements along an expanded axis differ");
  strides_ = strides_of(layout, type_.shape);
  // A whole number of the largest alignment, so that the buffer has the alignment that is asked for.
  const int64_t head = (kGuard * size_ + MemoryLayout::kMaxAlign - 1) / MemoryLayout::kMaxAlign *
                       MemoryLayout::kMaxAlign / size_;
  first_ = head + layout.offset;
  count_ = first_ + strides_.extent + (kFaultsBuilt ? element_count(type_) : 0) + kGuard;
  allocation_.assign(static_cast<size_t>(count_ * size_) + 4 * kAlign, poison);
  const auto address = reinterpret_cast<uintptr_t>(allocation_.data());
  // Aligned as asked for, and no better.
  start_ = allocation_.data() + (kAlign * 2 - address % (kAlign * 2)) % (kAlign * 2) +
           (layout.align < MemoryLayout::kMaxAlign ? layout.align : 0);
  scatter(tensor, start_ + first_ * size_);
}

void PlacedTensor::scatter(const Tensor& tensor, std::byte* elements) const {
  with_storage(type_.dtype, [&]<class T>(std::type_identity<T>) {
    const T* from = tensor.as<T>().data();
    T* const to = reinterpret_cast<T*>(elements);
    for_each_row(
        Strided<1>{type_.shape, {strides_.of_axes}},
        [&](const std::array<int64_t, 1>& offset, int64_t count, const std::array<int64_t, 1>& step) {
          for (int64_t i = 0; i < count; ++i) to[offset[0] + i * step[0]] = *from++;
        });
  });
}

std::unique_ptr<PlacedTensor> PlacedTensor::copy() const {
  return std::make_unique<PlacedTensor>(dense(), layout_, poison_);
}

Tensor PlacedTensor::dense() const {
  Tensor tensor(type_);
  with_storage(type_.dtype, [&]<class T>(std::type_identity<T>) {
    copy_strided(reinterpret_cast<const T*>(elements()), type_.shape, strides_.of_axes,
                 tensor.as<T>().data());
  });
  return tensor;
}

bool PlacedTensor::is_intact() const {
  std::vector<std::byte> expected(allocation_.size(), poison_);
  scatter(dense(), expected.data() + (elements() - allocation_.data()));
  return std::memcmp(expected.data(), allocation_.data(), expected.size()) == 0;
}

PlacedSources::PlacedSources(const Graph& graph, std::span<TensorPtr> values, size_t run) {
  for (ValueId v = 0; v < graph.source_count(); ++v) {
    TensorPtr& value = values[static_cast<size_t>(v)];
    if (!graph.layout(v) || !value) continue;
    auto memory =
        std::make_unique<const PlacedTensor>(*value, *graph.layout(v), kPoison[run % kPoison.size()]);
    value = std::make_shared<const Tensor>(memory->dense());
    placed_.emplace(v, Place{std::move(memory), value});
  }
}

const PlacedTensor* PlacedSources::find(ValueId value) const {
  const auto at = placed_.find(value);
  return at == placed_.end() ? nullptr : at->second.memory.get();
}

std::optional<ValueId> PlacedSources::damaged() const {
  for (const auto& [value, place] : placed_) {
    if (!place.memory->is_intact()) return value;
  }
  return noted_;
}

void PlacedSources::read_back(std::span<TensorPtr> values) const {
  for (const auto& [v, place] : placed_) {
    TensorPtr& value = values[static_cast<size_t>(v)];
    Tensor now = place.memory->dense();
    if (value == place.copy && !(now == *place.copy)) value = std::make_shared<const Tensor>(std::move(now));
  }
}

bool has_layouts(const Graph& graph) {
  for (ValueId v = 0; v < graph.source_count(); ++v) {
    if (graph.layout(v)) return true;
  }
  return false;
}

}  // namespace fusesmith::backends
