#include "fuzz/export/npz.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fusesmith::fuzz {
namespace {

uint32_t word_at(const std::string& bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i)
    word |= static_cast<uint32_t>(static_cast<unsigned char>(bytes.at(at + i))) << 8 * i;
  return word;
}

// script_agreement_test.cc reads archives with NumPy.
TEST(Npz, IsAZipArchiveOfStoredFiles) {
  NpzWriter npz;
  npz.add_text("check", "123456789");
  const std::string bytes = npz.archive();
  EXPECT_EQ(bytes.substr(0, 4), "PK\x03\x04");
  EXPECT_EQ(word_at(bytes, 14), 0xcbf43926U);  // the check value of CRC-32
  EXPECT_EQ(word_at(bytes, 18), 9U);
  EXPECT_EQ(bytes.substr(30, 14), "check123456789");
  const size_t end = bytes.size() - 22;
  EXPECT_EQ(bytes.substr(end, 4), "PK\x05\x06");
  const size_t directory = word_at(bytes, end + 16);
  EXPECT_EQ(bytes.substr(directory, 4), "PK\x01\x02");
  EXPECT_EQ(word_at(bytes, directory + 16), 0xcbf43926U);
}

TEST(Npz, HeadersNameTypeAndShape) {
  const auto header = [](const Tensor& tensor) {
    NpzWriter npz;
    npz.add("x", tensor);
    const std::string bytes = npz.archive();
    const size_t at = bytes.find("\x93NUMPY");
    const size_t size = word_at(bytes, at + 8) & 0xffff;
    EXPECT_EQ((10 + size) % 64, 0U);
    return bytes.substr(at + 10, bytes.find('}', at) - at - 9);
  };
  EXPECT_EQ(header(Tensor({Dtype::f32, {2, 3}})),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(header(Tensor({Dtype::f16, {2}})), "{'descr': '<f2', 'fortran_order': False, 'shape': (2, ), }");
  EXPECT_EQ(header(Tensor({Dtype::bf16, {}})), "{'descr': '<u2', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(header(Tensor({Dtype::boolean, {1}})),
            "{'descr': '|b1', 'fortran_order': False, 'shape': (1, ), }");
}

}  // namespace
}  // namespace fusesmith::fuzz
