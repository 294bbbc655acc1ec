// Formats: NEP 1 (.npy, version 1.0), and the zip archive of PKWARE's APPNOTE, method 0.
#include "fuzz/export/npz.h"

#include <array>
#include <bit>
#include <cstdint>

#include "graph/result.h"

namespace fusesmith::fuzz {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they are in memory");

constexpr size_t kMaxArchive = size_t{2} << 30;
constexpr uint16_t kVersion = 20;       // of the zip format
constexpr uint16_t kDate = 1 << 5 | 1;  // 1980-01-01, the first one

std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
    table[i] = crc;
  }
  return table;
}

uint32_t crc32(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = crc_table();
  uint32_t crc = ~uint32_t{0};
  for (char c : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

void put16(std::string& out, size_t value) {
  out += {static_cast<char>(value & 0xff), static_cast<char>(value >> 8 & 0xff)};
}
void put32(std::string& out, size_t value) {
  put16(out, value & 0xffff);
  put16(out, value >> 16);
}

// What the header of a file and its entry in the directory have in common.
void put_entry(std::string& out, const std::string& name, const std::string& bytes, uint32_t crc) {
  put16(out, kVersion);
  put16(out, 0);  // flags
  put16(out, 0);  // stored
  put16(out, 0);  // time
  put16(out, kDate);
  put32(out, crc);
  put32(out, bytes.size());
  put32(out, bytes.size());
  put16(out, name.size());
  put16(out, 0);  // extra fields
}

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

}  // namespace

void NpzWriter::add(const std::string& key, const Tensor& tensor) {
  switch (tensor.type.dtype) {
    case Dtype::f32:
      return add_array(key, "<f4", tensor.type.shape, bytes_of(tensor));
    case Dtype::f16:
      return add_array(key, "<f2", tensor.type.shape, bytes_of(tensor));
    case Dtype::i32:
      return add_array(key, "<i4", tensor.type.shape, bytes_of(tensor));
    case Dtype::boolean:
      return add_array(key, "|b1", tensor.type.shape, bytes_of(tensor));
    default:  // bf16 and quantized dtypes, which NumPy lacks
      return add_bits(key, tensor);
  }
}

void NpzWriter::add_bits(const std::string& key, const Tensor& tensor) {
  const int size = size_of(tensor.type.dtype);
  add_array(key, size == 4 ? "<u4" : size == 2 ? "<u2" : "|u1", tensor.type.shape, bytes_of(tensor));
}

void NpzWriter::add(const std::string& key, const Shape& shape, const std::vector<double>& values) {
  add_array(key, "<f8", shape,
            {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
}

void NpzWriter::add_array(const std::string& key, std::string_view dtype, const Shape& shape,
                          std::string_view bytes) {
  std::string dims;
  for (int64_t dim : shape) dims += std::to_string(dim) + ", ";
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  std::string header =
      "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': (" + dims + "), }";
  constexpr size_t kPreamble = 10, kAlignment = 64;
  header.resize((kPreamble + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kPreamble - 1,
                ' ');
  header += '\n';
  std::string file = "\x93NUMPY";
  file += {'\x01', '\x00'};
  put16(file, header.size());
  file += header;
  file += bytes;
  entries_.emplace_back(key + ".npy", std::move(file));
}

std::string NpzWriter::archive() const {
  std::string out, directory;
  for (const auto& [name, bytes] : entries_) {
    if (out.size() + directory.size() + bytes.size() > kMaxArchive) return "";
    const uint32_t crc = crc32(bytes);
    directory += {'P', 'K', 1, 2};
    put16(directory, kVersion);
    put_entry(directory, name, bytes, crc);
    put16(directory, 0);  // comment
    put16(directory, 0);  // disk
    put16(directory, 0);  // internal attributes
    put32(directory, 0);  // external attributes
    put32(directory, out.size());
    directory += name;
    out += {'P', 'K', 3, 4};
    put_entry(out, name, bytes, crc);
    out += name;
    out += bytes;
  }
  const size_t start = out.size();
  out += directory;
  out += {'P', 'K', 5, 6};
  put32(out, 0);  // disks
  put16(out, entries_.size());
  put16(out, entries_.size());
  put32(out, directory.size());
  put32(out, start);
  put16(out, 0);  // comment
  return out;
}

}  // namespace fusesmith::fuzz
