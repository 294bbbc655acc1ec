#include "backends/common/floats.h"

#include <cstring>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace fusesmith::backends {
namespace {

// Blocks of constant length, which g++ -O2 vectorises.
template <class From, class To, class F>
void convert(const From* from, size_t n, To* to, F f) {
  constexpr size_t kBlock = 16;
  size_t done = 0;
  for (; done + kBlock <= n; done += kBlock) {
    To block[kBlock];
    for (size_t j = 0; j < kBlock; ++j) block[j] = f(from[done + j]);
    std::memcpy(to + done, block, sizeof block);
  }
  for (; done < n; ++done) to[done] = f(from[done]);
}

#ifdef __F16C__
void load_f16(const uint16_t* stored, size_t n, float* values) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(values + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(stored + i))));
  }
  for (; i < n; ++i) values[i] = f16_to_f32(stored[i]);
}

void store_f16(const float* values, size_t n, uint16_t* stored) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i half =
        _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(stored + i), half);
  }
  for (; i < n; ++i) stored[i] = f32_to_f16(values[i]);
}
#else
void load_f16(const uint16_t* stored, size_t n, float* values) { convert(stored, n, values, f16_to_f32); }
void store_f16(const float* values, size_t n, uint16_t* stored) { convert(values, n, stored, f32_to_f16); }
#endif

}  // namespace

void load_floats(Dtype dtype, const std::byte* stored, std::span<float> values) {
  const auto* halves = reinterpret_cast<const uint16_t*>(stored);
  switch (dtype) {
    case Dtype::f32:
      std::memcpy(values.data(), stored, values.size_bytes());
      return;
    case Dtype::f16:
      return load_f16(halves, values.size(), values.data());
    case Dtype::bf16:
      return convert(halves, values.size(), values.data(), [](uint16_t x) { return bf16_to_f32(x); });
    case Dtype::i32:
    case Dtype::boolean:
      return check(false, "load_floats: expected a float or quantized dtype");
    default:
      return convert(reinterpret_cast<const uint8_t*>(stored), values.size(), values.data(),
                     [&numbers = quantized_numbers(dtype)](uint8_t code) { return numbers[code]; });
  }
}

void store_floats(std::span<const float> values, Dtype dtype, std::byte* stored) {
  auto* halves = reinterpret_cast<uint16_t*>(stored);
  switch (dtype) {
    case Dtype::f32:
      std::memcpy(stored, values.data(), values.size_bytes());
      return;
    case Dtype::f16:
      return store_f16(values.data(), values.size(), halves);
    case Dtype::bf16:
      return convert(values.data(), values.size(), halves, [](float x) { return f32_to_bf16(x); });
    case Dtype::i32:
    case Dtype::boolean:
      return check(false, "store_floats: expected a float or quantized dtype");
    default:
      return convert(values.data(), values.size(), reinterpret_cast<uint8_t*>(stored),
                     [dtype](float x) { return encode_quantized(dtype, static_cast<double>(x)); });
  }
}

Floats::Floats(const Tensor& tensor) {
  if (tensor.type.dtype == Dtype::f32) {
    values_ = tensor.as<float>();
    return;
  }
  const size_t n = static_cast<size_t>(tensor.size());
  copy_ = std::make_unique_for_overwrite<float[]>(n);
  load_floats(tensor.type.dtype, tensor.bytes.data(), {copy_.get(), n});
  values_ = {copy_.get(), n};
}

Floats::Floats(const PlacedTensor& tensor) {
  const std::span<const std::byte> memory = tensor.memory();
  const auto first = static_cast<size_t>(tensor.first());
  const auto count = memory.size() / static_cast<size_t>(size_of(tensor.type().dtype));
  if (tensor.type().dtype == Dtype::f32) {
    values_ = std::span(reinterpret_cast<const float*>(memory.data()), count).subspan(first);
    return;
  }
  copy_ = std::make_unique_for_overwrite<float[]>(count);
  load_floats(tensor.type().dtype, memory.data(), {copy_.get(), count});
  values_ = std::span<const float>(copy_.get(), count).subspan(first);
}

}  // namespace fusesmith::backends
