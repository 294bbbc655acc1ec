// Tensors: a type (dtype and shape) and the bits of the elements, contiguous and row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"

namespace fusesmith::graph {

using Shape = std::vector<int64_t>;

// Tensors with more elements are rejected everywhere (2^27: 512 MiB of f32).
inline constexpr int64_t kMaxElements = int64_t{1} << 27;
inline constexpr int kMaxRank = 8;

struct TensorType {
  Dtype dtype = Dtype::f32;
  Shape shape;

  int rank() const { return static_cast<int>(shape.size()); }
  bool operator==(const TensorType&) const = default;
};
using Types = std::vector<TensorType>;
using TypeSpan = std::span<const TensorType>;

// Product of the dimensions; 1 for a scalar. Saturates at kMaxElements + 1.
int64_t element_count(const Shape& shape);
inline int64_t element_count(const TensorType& type) { return element_count(type.shape); }

// Row-major strides, in elements.
Shape strides_of(const Shape& shape);

// "f32[4,16,256]"; a scalar is "f32[]". Parsing accepts exactly what printing writes.
std::string to_string(const TensorType& type);
std::string to_string(const Shape& shape);
std::optional<TensorType> parse_tensor_type(std::string_view text);

// The shape to which both broadcast under numpy's rules; empty if they do not.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
// The strides for reading a tensor of shape `from` as one of shape `to` (0 along broadcast dimensions).
Shape broadcast_strides(const Shape& from, const Shape& to);

struct Tensor {
  TensorType type;
  std::vector<std::byte> bytes;

  Tensor() = default;
  explicit Tensor(TensorType t)
      : type(std::move(t)), bytes(static_cast<size_t>(element_count(type) * size_of(type.dtype))) {}

  int64_t size() const { return static_cast<int64_t>(bytes.size()) / size_of(type.dtype); }
  // T is float (f32), uint16_t (f16, bf16), int32_t (i32) or uint8_t (bool, quantized dtypes).
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  // One element as a real number; and the stored element nearest to x.
  double value(int64_t index) const;
  void set(int64_t index, double x);

  bool operator==(const Tensor& other) const;  // same type and same bits
};

// All elements as f32 (exact for every dtype except large i32 values); and back with one rounding.
std::vector<float> to_f32(const Tensor& tensor);
Tensor from_f32(std::span<const float> values, const TensorType& type);
// All elements as real numbers, exactly.
std::vector<double> to_f64(const Tensor& tensor);

}  // namespace fusesmith::graph
