// The inputs and states of a run in memory as their layouts say: the elements lie between padding and guards
// that are filled with a pattern. A kernel that reads the padding into a result, or writes it, is found: the
// pattern differs from run to run, and is compared after each.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "oracle/plan.h"

namespace fusesmith::backends {

// What memory that belongs to no element is filled with, in turn: NaN of every float dtype, zeros, large
// numbers.
inline constexpr std::array<std::byte, 3> kPoison = {std::byte{0xFF}, std::byte{0x00}, std::byte{0x7B}};

class PlacedTensor {
 public:
  // The elements must repeat along the axes that the layout expands.
  PlacedTensor(const Tensor& tensor, const MemoryLayout& layout, std::byte poison);
  PlacedTensor(const PlacedTensor&) = delete;
  PlacedTensor& operator=(const PlacedTensor&) = delete;

  const TensorType& type() const { return type_; }
  const Shape& strides() const { return strides_.of_axes; }
  // All of the memory, and where element 0 is in it, counted in elements. In builds with faults it is so
  // large that a kernel with dense strides, for all axes or for some, reads wrong elements, but no other
  // memory.
  std::span<const std::byte> memory() const { return {start_, static_cast<size_t>(count_ * size_)}; }
  int64_t first() const { return first_; }
  int64_t offset() const { return layout_.offset; }
  const std::byte* elements() const { return start_ + first_ * size_; }

  // Other memory with the same elements and padding.
  std::unique_ptr<PlacedTensor> copy() const;
  std::byte* elements() { return start_ + first_ * size_; }

  // The elements in row-major order.
  Tensor dense() const;
  // Whether all memory that belongs to no element is as it was.
  bool is_intact() const;

 private:
  void scatter(const Tensor& tensor, std::byte* elements) const;

  TensorType type_;
  MemoryLayout layout_;
  std::byte poison_;
  Strides strides_;
  int64_t size_, count_ = 0, first_ = 0;
  std::vector<std::byte> allocation_;
  std::byte* start_ = nullptr;
};

// The sources of one run that have a layout.
class PlacedSources {
 public:
  // `values`, by ValueId, holds the sources; those that have a layout are replaced by dense copies, made from
  // their places. `run` counts the runs of a program.
  PlacedSources(const Graph& graph, std::span<TensorPtr> values, size_t run);

  bool empty() const { return placed_.empty(); }
  // Null if the value has no layout.
  const PlacedTensor* find(ValueId value) const;
  // The first source around which memory was written; empty if there is none.
  std::optional<ValueId> damaged() const;
  // Of a kernel that found this in memory of its own, which lies as that of the source does.
  void note_damage(ValueId source) const { noted_ = source; }
  // Puts what the memory holds now in place of the copies that the constructor left in `values`.
  void read_back(std::span<TensorPtr> values) const;

 private:
  struct Place {
    std::unique_ptr<const PlacedTensor> memory;
    TensorPtr copy;
  };
  std::map<ValueId, Place> placed_;
  mutable std::optional<ValueId> noted_;
};

bool has_layouts(const Graph& graph);

}  // namespace fusesmith::backends
