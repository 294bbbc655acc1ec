#include "graph/fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "graph/attributes.h"
#include "graph/philox.h"
#include "graph/sha256.h"

namespace fusesmith::graph {
namespace {

// The centred sum of eight 16-bit uniform numbers: an even integer / 2 with variance 8 (2^32 - 1) / 12,
// exact.
double normal_of(const PhiloxBlock& block) {
  uint32_t sum = 0;
  for (uint32_t word : block) sum += (word & 0xffffu) + (word >> 16);
  return static_cast<double>(static_cast<int32_t>(sum) - 262140) *
         1.8688123650118534e-05;  // 1 / sqrt(8 (2^32 - 1) / 12)
}

double unit_of(const PhiloxBlock& block) {  // multiples of 2^-53 in [0, 1)
  const uint64_t word = (uint64_t{block[1]} << 32 | block[0]) >> 11;
  return static_cast<double>(word) * 0x1p-53;
}

uint64_t below(const PhiloxBlock& block, uint64_t bound) {  // bound < 2^32; the bias is below 2^-32
  return (uint64_t{block[0]} * bound) >> 32;
}

double special_of(const Special& fill, const PhiloxBlock& block, Dtype dtype) {
  PhiloxBlock rest = {block[2], block[3], block[0] ^ block[2], block[1] ^ block[3]};
  if (unit_of(block) >= fill.share) return normal_of(rest);
  const double sign = block[3] & 1u ? -1.0 : 1.0;
  const double normal = std::ldexp(1.0, min_exponent(dtype));
  switch (below(rest, fill.infinities ? 8 : 6)) {
    case 0:
    case 1:
      return sign * 0.0;
    case 2:
      return sign * normal * 0.5;
    case 3:
      return sign * normal;
    case 4:
      return sign * std::ldexp(1.0, -20);
    case 5:
      return sign * std::sqrt(max_finite(dtype)) * 0.125;
    case 6:
      return sign * std::numeric_limits<double>::infinity();
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

// The real number of element i, from its own 128 random bits `block`.
double draw(const Normal& f, const PhiloxBlock& block, int64_t, Dtype) {
  return f.mean + f.stddev * normal_of(block);
}
double draw(const Uniform& f, const PhiloxBlock& block, int64_t, Dtype) {
  return f.lo + (f.hi - f.lo) * unit_of(block);
}
double draw(const Lattice& f, const PhiloxBlock& block, int64_t, Dtype) {
  const auto k = static_cast<int64_t>(below(block, static_cast<uint64_t>(2 * f.max_abs + 1))) - f.max_abs;
  return static_cast<double>(k) * std::bit_cast<double>(static_cast<uint64_t>(f.exponent + 1023) << 52);
}
double draw(const Tokens& f, const PhiloxBlock& block, int64_t, Dtype) {
  return static_cast<double>(below(block, static_cast<uint64_t>(f.count)));
}
double draw(const Bernoulli& f, const PhiloxBlock& block, int64_t, Dtype) {
  return unit_of(block) < f.p ? 1.0 : 0.0;
}
double draw(const Special& f, const PhiloxBlock& block, int64_t, Dtype dtype) {
  return special_of(f, block, dtype);
}

// Block i of the stream (key, step) is element i's.
struct Stream {
  uint64_t key;
  uint64_t step;
};

// Writes every element as store(draw(...)), in groups of lanes; the last group may be shorter.
template <class T, class F, class Store>
void fill_elements(std::span<T> elements, const F& fill, Dtype dtype, const Stream& stream, Store store) {
  PhiloxLanes words;
  for (size_t first = 0; first < elements.size(); first += kPhiloxLanes) {
    philox_lanes(stream.key, stream.step, first, words);
    std::array<double, kPhiloxLanes> values;
    for (size_t i = 0; i < kPhiloxLanes; ++i) {
      const PhiloxBlock block = {words[0][i], words[1][i], words[2][i], words[3][i]};
      values[i] = draw(fill, block, static_cast<int64_t>(first + i), dtype);
    }
    const size_t count = std::min(kPhiloxLanes, elements.size() - first);
    for (size_t i = 0; i < count; ++i) elements[first + i] = store(values[i]);
  }
}

template <class F>
Tensor fill_tensor(const F& fill, const TensorType& type, const Stream& stream) {
  Tensor tensor(type);
  const auto elements = [&]<class T>(T, auto store) {
    fill_elements(tensor.as<T>(), fill, type.dtype, stream, store);
  };
  switch (type.dtype) {
    case Dtype::f32:
      elements(float{}, [](double x) { return static_cast<float>(x); });
      break;
    case Dtype::f16:
      elements(uint16_t{}, f64_to_f16);
      break;
    case Dtype::bf16:
      elements(uint16_t{}, f64_to_bf16);
      break;
    case Dtype::i32:
      elements(int32_t{}, [](double x) { return static_cast<int32_t>(x); });
      break;
    case Dtype::boolean:
      elements(uint8_t{}, [](double x) { return static_cast<uint8_t>(x != 0); });
      break;
    default:
      elements(uint8_t{}, [dtype = type.dtype](double x) { return encode_quantized(dtype, x); });
  }
  return tensor;
}

// Element (i, j) of Sylvester's matrix is (-1)^k, k being the number of binary ones that i and j share.
Tensor fill_tensor(const Hadamard& fill, const TensorType& type, const Stream& stream) {
  Tensor tensor(type);
  const int64_t columns = type.rank() > 0 ? type.shape.back() : 1;
  const int64_t height = type.rank() > 1 ? type.shape.end()[-2] : 1;
  const auto count = static_cast<uint64_t>(fill.rows);
  for (int64_t row = 0; row * columns < tensor.size(); ++row) {
    const auto at = static_cast<uint64_t>(row), place = static_cast<uint64_t>(row % height);
    const uint64_t index = fill.drawn ? below(philox(stream.key, stream.step, at), count) : place % count;
    for (int64_t j = 0; j < columns; ++j) {
      const bool negative = std::popcount(index & static_cast<uint64_t>(j)) % 2 == 1;
      tensor.set(row * columns + j, negative ? -fill.value : fill.value);
    }
  }
  return tensor;
}

Tensor fill_tensor(const Constant& fill, const TensorType& type, const Stream&) {
  Tensor tensor(type);
  if (tensor.bytes.empty()) return tensor;
  tensor.set(0, fill.value);
  const size_t size = static_cast<size_t>(size_of(type.dtype));
  for (size_t i = size; i < tensor.bytes.size(); ++i) tensor.bytes[i] = tensor.bytes[i - size];
  return tensor;
}

Tensor fill_tensor(const OneHot& fill, const TensorType& type, const Stream&) {
  Tensor tensor(type);
  tensor.set(fill.index, fill.value);
  return tensor;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Tensor fill_tensor(const Literal& fill, const TensorType& type, const Stream&) {
  Tensor tensor(type);
  const size_t size = static_cast<size_t>(size_of(type.dtype));
  for (size_t i = 0; i < tensor.bytes.size(); ++i) {
    const size_t element = i / size,
                 digit = 2 * (size - 1 - i % size);  // little-endian bytes, big-endian digits
    const size_t at = element * size * 2 + digit;
    tensor.bytes[i] = static_cast<std::byte>(hex_digit(fill.bits[at]) << 4 | hex_digit(fill.bits[at + 1]));
  }
  return tensor;
}

Tensor fill_tensor(const FileData& fill, const TensorType& type, const Stream&) {
  Tensor tensor(type);
  std::copy_n(fill.bytes.first.get(), fill.bytes.size, tensor.bytes.data());
  return tensor;
}

std::optional<Problem> check_file(const FileData& fill, const TensorType& type) {
  if (!is_sha256(fill.sha256)) return expected("a SHA-256 of 64 hexadecimal digits in lower case");
  const auto size = static_cast<size_t>(element_count(type) * size_of(type.dtype));
  if (!fill.bytes.known() || fill.bytes.size != size)
    return expected("data of " + std::to_string(size) + " bytes, got " + std::to_string(fill.bytes.size));
  const auto is_valid = [&](std::byte b) { return is_element(type.dtype, static_cast<uint8_t>(b)); };
  if (size_of(type.dtype) == 1 && !std::ranges::all_of(fill.bytes.span(), is_valid))
    return expected("bytes 0 or 1 for each bool, and below 16 for each f4e2m1 and s4");
  return std::nullopt;
}

std::optional<Problem> check_literal(const Literal& fill, const TensorType& type) {
  const size_t digits = static_cast<size_t>(element_count(type) * size_of(type.dtype) * 2);
  if (fill.bits.size() != digits) {
    return expected(std::to_string(digits) + " hexadecimal digits for " + to_string(type) + ", got " +
                    std::to_string(fill.bits.size()));
  }
  for (size_t i = 0; i < fill.bits.size(); ++i) {
    if (hex_digit(fill.bits[i]) < 0)
      return expected("lower-case hexadecimal digits, got '" + std::string(1, fill.bits[i]) + "'");
    const bool is_byte = size_of(type.dtype) == 1 && i % 2 == 1;
    const int byte = is_byte ? hex_digit(fill.bits[i - 1]) * 16 + hex_digit(fill.bits[i]) : 0;
    if (is_byte && !is_element(type.dtype, static_cast<uint8_t>(byte)))
      return expected(type.dtype == Dtype::boolean ? "00 or 01 for each bool"
                                                   : "00 to 0f for each " + std::string(name(type.dtype)));
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(const Fill& fill) {
  return std::visit([](const auto& f) { return std::decay_t<decltype(f)>::name; }, fill);
}

bool serves(const Fill& fill, Dtype dtype) {
  if (std::holds_alternative<Tokens>(fill)) return dtype == Dtype::i32;
  if (std::holds_alternative<Bernoulli>(fill)) return dtype == Dtype::boolean;
  return is_fixed(fill) || is_rounded(dtype);
}

bool has_elements(const Fill& fill) {
  return std::holds_alternative<Literal>(fill) || std::holds_alternative<FileData>(fill);
}

bool is_fixed(const Fill& fill) {
  return has_elements(fill) || std::holds_alternative<Constant>(fill) || std::holds_alternative<OneHot>(fill);
}

std::optional<Problem> check_fill(const Fill& fill, const TensorType& type) {
  if (!serves(fill, type.dtype))
    return expected("a fill that makes " + to_string(type) + ", got " + std::string(name(fill)));
  if (auto problem = std::visit([](const auto& f) { return range_problem(f); }, fill)) return problem;
  if (const auto* literal = std::get_if<Literal>(&fill)) return check_literal(*literal, type);
  if (const auto* file = std::get_if<FileData>(&fill)) return check_file(*file, type);
  if (const auto* uniform = std::get_if<Uniform>(&fill); uniform && uniform->lo > uniform->hi) {
    return expected("lo at most hi, got " + number_text(uniform->lo) + " and " + number_text(uniform->hi));
  }
  if (const auto* constant = std::get_if<Constant>(&fill); constant && !is_rounded(type.dtype)) {
    const double hi = type.dtype == Dtype::boolean ? 1 : 1 << 24;
    if (!(constant->value >= 0 && constant->value <= hi && constant->value == std::floor(constant->value))) {
      return expected("a whole value between 0 and " + std::to_string(static_cast<int64_t>(hi)));
    }
  }
  if (const auto* one_hot = std::get_if<OneHot>(&fill)) {
    if (one_hot->index >= element_count(type))
      return expected("an index below " + std::to_string(element_count(type)));
    if (!is_rounded(type.dtype) && one_hot->value != 1) return expected("value 1 for " + to_string(type));
  }
  return std::nullopt;
}

Tensor materialize(const Fill& fill, const TensorType& type, uint64_t seed, std::string_view tensor_name,
                   int64_t step) {
  const PhiloxBlock mixed = philox(seed, hash_name(tensor_name), 0);
  const Stream stream{uint64_t{mixed[1]} << 32 | mixed[0], static_cast<uint64_t>(step)};
  return std::visit([&](const auto& f) { return fill_tensor(f, type, stream); }, fill);
}

Literal literal_of(const Tensor& tensor) {
  static constexpr char kDigits[] = "0123456789abcdef";
  Literal literal;
  const size_t size = static_cast<size_t>(size_of(tensor.type.dtype));
  literal.bits.resize(tensor.bytes.size() * 2);
  for (size_t i = 0; i < tensor.bytes.size(); ++i) {
    const size_t at = (i / size) * size * 2 + 2 * (size - 1 - i % size);
    const auto byte = static_cast<unsigned>(tensor.bytes[i]);
    literal.bits[at] = kDigits[byte >> 4];
    literal.bits[at + 1] = kDigits[byte & 15];
  }
  return literal;
}

FileData file_of(const Tensor& tensor) {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(tensor.bytes.begin(), tensor.bytes.end());
  FileData fill{sha256(*bytes), {{bytes, bytes->data()}, bytes->size()}};
  share_data(fill.sha256, fill.bytes);
  return fill;
}

IntegerRange integer_range(const Fill& fill, const TensorType& type) {
  if (const auto* tokens = std::get_if<Tokens>(&fill)) return {0, tokens->count - 1};
  if (const auto* constant = std::get_if<Constant>(&fill)) {
    return {static_cast<int64_t>(constant->value), static_cast<int64_t>(constant->value)};
  }
  if (std::holds_alternative<OneHot>(fill)) return {0, 1};
  const Tensor tensor = materialize(fill, type, 0, "", 0);
  const auto values = tensor.as<int32_t>();
  const auto [lo, hi] = std::minmax_element(values.begin(), values.end());
  return {*lo, *hi};
}

}  // namespace fusesmith::graph
