// Arrays for NumPy: .npz files, which are zip archives of .npy files. Stored without compression and without
// dates, so that equal arrays give equal bytes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/tensor.h"

namespace fusesmith::fuzz {

class NpzWriter {
 public:
  // Keys are not empty, are given once, and contain letters, digits, '_' and '.', so that no archive program
  // writes outside of its folder.

  // The numbers of a tensor: float32, float16, int32, bool; NumPy has no bf16, so that this is its bits as
  // uint16.
  void add(const std::string& key, const Tensor& tensor);
  // The bits of a tensor: uint32, uint16 or uint8.
  void add_bits(const std::string& key, const Tensor& tensor);
  // As float64.
  void add(const std::string& key, const Shape& shape, const std::vector<double>& values);
  // Not an array: the bytes of this text.
  void add_text(const std::string& key, std::string text) { entries_.emplace_back(key, std::move(text)); }

  // Empty where the archive would be larger than 2 GiB.
  std::string archive() const;

 private:
  void add_array(const std::string& key, std::string_view dtype, const Shape& shape, std::string_view bytes);

  std::vector<std::pair<std::string, std::string>> entries_;  // file name, bytes
};

}  // namespace fusesmith::fuzz
