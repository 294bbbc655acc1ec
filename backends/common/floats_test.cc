#include "backends/common/floats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace fusesmith::backends {
namespace {

TEST(Floats, LoadsEvery16BitPattern) {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    Tensor all({dtype, {65536}});
    for (size_t i = 0; i < 65536; ++i) all.as<uint16_t>()[i] = static_cast<uint16_t>(i);
    const Floats values(all);
    for (size_t i = 0; i < 65536; ++i) {
      const double want = all.value(static_cast<int64_t>(i));
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(values[i])) << name(dtype) << " " << i;
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(static_cast<float>(want)))
            << name(dtype) << " " << i;
    }
  }
}

// Bit patterns across the range, and all that lie within one f32 step of the middle between two 16-bit
// neighbours.
std::vector<float> rounding_inputs(int dropped_bits) {
  std::vector<float> inputs;
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 4999)
    inputs.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (uint32_t top = 0; top < (1u << (32 - dropped_bits)); ++top) {
    for (uint32_t low : {0x7fffffffu, 0x80000000u, 0x80000001u}) {
      inputs.push_back(
          std::bit_cast<float>((top << dropped_bits) | (low >> (32 - dropped_bits)) | (low & 1)));
    }
  }
  return inputs;
}

TEST(Floats, StoresWithOneRoundingToNearestEven) {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    const std::vector<float> inputs = rounding_inputs(dtype == Dtype::bf16 ? 16 : 13);
    Tensor stored({dtype, {static_cast<int64_t>(inputs.size())}});
    store_floats(inputs, dtype, stored.bytes.data());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const double got = stored.value(static_cast<int64_t>(i)),
                   want = round_to(dtype, static_cast<double>(inputs[i]));
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(got)) << name(dtype) << " " << i;
      else
        ASSERT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want))
            << name(dtype) << " of " << inputs[i];
    }
  }
}

TEST(Floats, BorrowsF32) {
  const Tensor x({Dtype::f32, {3}});
  EXPECT_EQ(static_cast<const void*>(Floats(x).data()), static_cast<const void*>(x.bytes.data()));
}

TEST(Floats, ShortAndUnalignedRuns) {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    for (size_t n = 0; n < 20; ++n) {
      std::vector<float> values(n + 1, 1.5f), back(n + 1, -1.0f);
      std::vector<std::byte> stored(2 * (n + 1));
      store_floats({values.data() + 1, n}, dtype, stored.data() + 2);
      load_floats(dtype, stored.data() + 2, {back.data() + 1, n});
      EXPECT_EQ(back[0], -1.0f);
      for (size_t i = 1; i <= n; ++i) EXPECT_EQ(back[i], 1.5f);
    }
  }
}

}  // namespace
}  // namespace fusesmith::backends
