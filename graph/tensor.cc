#include "graph/tensor.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace fusesmith::graph {
namespace {

std::optional<int64_t> parse_dim(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool leading_zero = text.size() > 1 && text[0] == '0';
  if (error != std::errc() || end != text.data() + text.size() || leading_zero || text[0] == '-')
    return std::nullopt;
  return value;
}

// Calls f with the elements in their C++ storage type.
template <class F>
void visit_elements(const Tensor& t, F f) {
  switch (t.type.dtype) {
    case Dtype::f32:
      return f(t.as<float>(), [](float x) { return x; });
    case Dtype::f16:
      return f(t.as<uint16_t>(), [](uint16_t x) { return f16_to_f32(x); });
    case Dtype::bf16:
      return f(t.as<uint16_t>(), [](uint16_t x) { return bf16_to_f32(x); });
    case Dtype::i32:
      return f(t.as<int32_t>(), [](int32_t x) { return x; });
    case Dtype::boolean:
      return f(t.as<uint8_t>(), [](uint8_t x) { return x; });
    default:
      return f(t.as<uint8_t>(),
               [&numbers = quantized_numbers(t.type.dtype)](uint8_t x) { return numbers[x]; });
  }
}

template <class T>
std::vector<T> convert(const Tensor& t) {
  std::vector<T> result(static_cast<size_t>(t.size()));
  visit_elements(t, [&](auto elements, auto decode) {
    for (size_t i = 0; i < elements.size(); ++i) result[i] = static_cast<T>(decode(elements[i]));
  });
  return result;
}

}  // namespace

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  bool too_many = false;
  for (int64_t dim : shape) {
    if (dim == 0) return 0;
    if (dim < 0 || dim > kMaxElements || count * dim > kMaxElements) too_many = true;
    count = too_many ? 1 : count * dim;
  }
  return too_many ? kMaxElements + 1 : count;
}

Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int64_t dim : shape) text.append(text.size() > 1 ? "," : "").append(std::to_string(dim));
  return text + "]";
}

std::string to_string(const TensorType& type) {
  return std::string(name(type.dtype)) + to_string(type.shape);
}

std::optional<TensorType> parse_tensor_type(std::string_view text) {
  const size_t bracket = text.find('[');
  if (bracket == std::string_view::npos || text.back() != ']') return std::nullopt;
  const auto dtype = parse_dtype(text.substr(0, bracket));
  if (!dtype) return std::nullopt;
  TensorType type{*dtype, {}};
  std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  while (!dims.empty()) {
    const size_t comma = dims.find(',');
    if (comma == 0) return std::nullopt;
    const auto dim = parse_dim(dims.substr(0, comma));
    if (!dim) return std::nullopt;
    type.shape.push_back(*dim);
    if (comma == std::string_view::npos) break;
    dims.remove_prefix(comma + 1);
    if (dims.empty()) return std::nullopt;
  }
  return type;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t da = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t db = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (da != db && da != 1 && db != 1) return std::nullopt;
    result[i] = da == 1 ? db : da;
  }
  return result;
}

Shape broadcast_strides(const Shape& from, const Shape& to) {
  Shape strides(to.size(), 0);
  const Shape own = strides_of(from);
  const size_t offset = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) strides[offset + i] = from[i] == 1 ? 0 : own[i];
  return strides;
}

// With memcmp, since libstdc++ compares vectors of std::byte one by one.
bool Tensor::operator==(const Tensor& other) const {
  return type == other.type && bytes.size() == other.bytes.size() &&
         (bytes.empty() || std::memcmp(bytes.data(), other.bytes.data(), bytes.size()) == 0);
}

double Tensor::value(int64_t index) const {
  double result = 0;
  visit_elements(*this, [&](auto elements, auto decode) {
    result = static_cast<double>(decode(elements[static_cast<size_t>(index)]));
  });
  return result;
}

void Tensor::set(int64_t index, double x) {
  const size_t i = static_cast<size_t>(index);
  switch (type.dtype) {
    case Dtype::f32:
      as<float>()[i] = static_cast<float>(x);
      return;
    case Dtype::f16:
      as<uint16_t>()[i] = f64_to_f16(x);
      return;
    case Dtype::bf16:
      as<uint16_t>()[i] = f64_to_bf16(x);
      return;
    case Dtype::i32:
      as<int32_t>()[i] = static_cast<int32_t>(x);
      return;
    case Dtype::boolean:
      as<uint8_t>()[i] = x != 0;
      return;
    default:
      as<uint8_t>()[i] = encode_quantized(type.dtype, x);
  }
}

std::vector<float> to_f32(const Tensor& tensor) { return convert<float>(tensor); }
std::vector<double> to_f64(const Tensor& tensor) { return convert<double>(tensor); }

Tensor from_f32(std::span<const float> values, const TensorType& type) {
  Tensor result(type);
  if (type.dtype == Dtype::f32) {
    std::copy(values.begin(), values.end(), result.as<float>().begin());
    return result;
  }
  if (type.dtype == Dtype::f16) {
    std::transform(values.begin(), values.end(), result.as<uint16_t>().begin(), f32_to_f16);
  } else if (type.dtype == Dtype::bf16) {
    std::transform(values.begin(), values.end(), result.as<uint16_t>().begin(), f32_to_bf16);
  } else {
    for (size_t i = 0; i < values.size(); ++i)
      result.set(static_cast<int64_t>(i), static_cast<double>(values[i]));
  }
  return result;
}

}  // namespace fusesmith::graph
