#include "fuzz/library/tensor_copy.h"

#include <algorithm>
#include <cstring>

#include "backends/remote/dl_type.h"

namespace fusesmith::fuzz {

namespace {

// Of DLPack 1.1.
constexpr uint8_t kDlFloat8E4m3fn = 10, kDlFloat8E5m2 = 12, kDlFloat8E8m0fnu = 14;

bool is_of_codes(const DLDataType& given, Dtype dtype) {
  if (!is_quantized(dtype) || given.bits != 8) return false;
  switch (given.code) {
    case kDLUInt:
    case kDLInt:
      return true;
    case kDlFloat8E4m3fn:
      return dtype == Dtype::f8e4m3;
    case kDlFloat8E5m2:
      return dtype == Dtype::f8e5m2;
    case kDlFloat8E8m0fnu:
      return dtype == Dtype::f8e8m0;
    default:
      return false;
  }
}

bool is_of(const DLDataType& given, Dtype dtype) {
  const DLDataType own = dl_type(dtype);
  return given.lanes == 1 &&
         ((given.code == own.code && given.bits == own.bits) || is_of_codes(given, dtype));
}

std::string type_text(const DLDataType& type) {
  for (const Dtype dtype : graph::kDtypes) {
    const DLDataType known = dl_type(dtype);
    if (!is_quantized(dtype) && known.code == type.code && known.bits == type.bits && type.lanes == 1)
      return std::string(graph::name(dtype));
  }
  return "code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits, ";
}

std::string given_text(const DLTensor& given) {
  std::string text = type_text(given.dtype) + "[";
  for (int32_t d = 0; d < given.ndim; ++d) text += (d > 0 ? "," : "") + std::to_string(given.shape[d]);
  return text + "]";
}

// Copies the elements of the last axes from `axis` on.
void copy_axis(const DLTensor& given, const Shape& strides, size_t axis, const std::byte* from, size_t width,
               std::byte*& to) {
  if (axis == strides.size()) {
    std::memcpy(to, from, width);
    to += width;
    return;
  }
  const int64_t count = given.shape[axis];
  if (axis + 1 == strides.size() && strides[axis] == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * width);
    to += static_cast<size_t>(count) * width;
    return;
  }
  const auto step = static_cast<std::ptrdiff_t>(strides[axis]) * static_cast<std::ptrdiff_t>(width);
  for (int64_t i = 0; i < count; ++i) copy_axis(given, strides, axis + 1, from + i * step, width, to);
}

bool is_dense(const Shape& shape, const Shape& strides, const Shape& row_major) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1 && strides[d] != row_major[d]) return false;
  }
  return true;
}

}  // namespace

Result<Tensor> copy_of(const DLTensor& given, const TensorType& type, const std::string& name) {
  if (given.device.device_type != kDLCPU && given.device.device_type != kDLCUDAHost)
    return Problem{name + ": expected memory of the host, got that of a device"};
  const bool has_shape = given.ndim == type.rank() && given.ndim >= 0 && (given.shape || given.ndim == 0) &&
                         std::equal(type.shape.begin(), type.shape.end(), given.shape);
  if (!is_of(given.dtype, type.dtype) || !has_shape)
    return Problem{name + ": expected " + to_string(type) + ", got " +
                   (given.ndim >= 0 && given.ndim <= 64 && given.shape ? given_text(given) : "another type")};
  if (!given.data) return Problem{name + ": the data is NULL"};
  Tensor copy(type);
  const Shape row_major = strides_of(type.shape);
  const Shape strides = given.strides ? Shape(given.strides, given.strides + given.ndim) : row_major;
  const std::byte* from = static_cast<const std::byte*>(given.data) + given.byte_offset;
  std::byte* to = copy.bytes.data();
  if (is_dense(type.shape, strides, row_major))
    std::memcpy(to, from, copy.bytes.size());
  else
    copy_axis(given, strides, 0, from, static_cast<size_t>(size_of(type.dtype)), to);
  if (type.dtype == Dtype::s4 && given.dtype.code == kDLInt) {
    for (auto& byte : copy.as<int8_t>()) {
      if (byte < -8 || byte > 7) return Problem{name + ": " + std::to_string(byte) + " is no number of s4"};
      byte = static_cast<int8_t>(byte & 15);
    }
  }
  if (size_of(type.dtype) > 1) return copy;
  for (const uint8_t byte : copy.as<uint8_t>()) {
    if (!is_element(type.dtype, byte))
      return Problem{name + ": " + std::to_string(byte) + " is no element of " +
                     std::string(graph::name(type.dtype))};
  }
  return copy;
}

}  // namespace fusesmith::fuzz
