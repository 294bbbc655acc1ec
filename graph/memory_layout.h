// MemoryLayout: how the elements of an input or a state lie in memory. It changes no value: backends place
// the same elements elsewhere, between padding that no kernel may read into a result or write. Several
// tensors in one buffer (interleaved QKV) are not expressed yet; a further key would name the buffer.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct MemoryLayout {
  static constexpr int64_t kMaxAlign = 256, kMaxOffset = 1 << 20;

  Shape order = {};  // axes from the outermost in memory to the innermost; empty: as in the type
  Shape pad = {};    // by axis: elements of padding that follow its own elements; empty: none
  int64_t offset = 0;
  Shape expand = {};
  int64_t align = kMaxAlign;

  static constexpr auto fields() {
    return std::tuple{
        Field{
            "order", &MemoryLayout::order,
            Free{"every axis once, from the outermost in memory to the innermost; default: as in the type"}},
        Field{
            "pad", &MemoryLayout::pad,
            Free{"for each axis, how many elements the memory has beyond those of the type; default: none"}},
        Field{"offset", &MemoryLayout::offset, IntRange{0, kMaxOffset}},
        Field{"expand", &MemoryLayout::expand,
              Free{"axes of stride 0, whose elements are stored once; their data must repeat"}},
        Field{"align", &MemoryLayout::align, IntRange{1, kMaxAlign}}};
  }
  bool operator==(const MemoryLayout&) const = default;
};

// The error of a layout for a tensor of this type; `repeated`: the axes along which its data is known to
// repeat.
std::optional<Problem> check_layout(const MemoryLayout& layout, const TensorType& type,
                                    const Shape& repeated);
// The error of `repeat`: axes along which all elements are those of index 0. Not of i32, so that what is
// known of indices holds.
std::optional<Problem> check_repeat(const Shape& repeat, const TensorType& type);
// Makes the elements along these axes those of index 0.
void repeat_elements(Tensor& tensor, const Shape& axes);

// The stride of each axis, in elements, and how many elements the memory has from the first element on.
struct Strides {
  Shape of_axes;
  int64_t extent = 0;
};
Strides strides_of(const MemoryLayout& layout, const Shape& shape);

// What a layout does, of which it may do several; for coverage and reports.
enum class LayoutClass : uint8_t { dense, permuted, padded, offset, expanded, misaligned };
inline constexpr std::array<std::string_view, 6> kLayoutClasses = {"dense",  "permuted", "padded",
                                                                   "offset", "expanded", "misaligned"};
std::vector<LayoutClass> classes_of(const std::optional<MemoryLayout>& layout, const TensorType& type);

// "strides [64,1], offset 3, 2-byte aligned".
std::string to_string(const MemoryLayout& layout, const TensorType& type);

}  // namespace fusesmith::graph
