// How the data of an input or state is made: random recipes, or exact values. A value depends only on
// (case seed, tensor name, step, element): removing a node never changes another tensor, and every
// platform and compiler draws the same bits (only integer arithmetic and single roundings are used).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "graph/data_files.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

// Each fill declares a name, a doc line and its fields, like an op. `check_fill` knows which dtypes it
// supports.
struct Normal {  // float
  double mean = 0;
  double stddev = 1;
  static constexpr std::string_view name = "normal";
  static constexpr std::string_view doc =
      "Normal distribution, as the sum of eight 16-bit uniform numbers (at most 4.9 standard deviations).";
  static constexpr auto fields() {
    return std::tuple{Field{"mean", &Normal::mean, RealRange{-1e6, 1e6}},
                      Field{"stddev", &Normal::stddev, RealRange{0, 1e6}}};
  }
  bool operator==(const Normal&) const = default;
};

struct Uniform {  // float
  double lo = 0;
  double hi = 1;
  static constexpr std::string_view name = "uniform";
  static constexpr std::string_view doc = "Uniform distribution in [lo, hi).";
  static constexpr auto fields() {
    return std::tuple{Field{"lo", &Uniform::lo, RealRange{-1e30, 1e30}},
                      Field{"hi", &Uniform::hi, RealRange{-1e30, 1e30}}};
  }
  bool operator==(const Uniform&) const = default;
};

struct Lattice {  // float: k 2^exponent with integer |k| <= max_abs: products and sums of such values are
                  // exact
  int64_t max_abs = 8;
  int64_t exponent = 0;
  static constexpr std::string_view name = "lattice";
  static constexpr std::string_view doc =
      "k 2^exponent, where k is an integer with |k| <= max_abs: sums of products are exact.";
  static constexpr auto fields() {
    return std::tuple{Field{"max_abs", &Lattice::max_abs, IntRange{0, 128}},
                      Field{"exponent", &Lattice::exponent, IntRange{-20, 20}}};
  }
  bool operator==(const Lattice&) const = default;
};

struct Hadamard {  // float, last axis of 2^k elements: products of rows are 0, or n value^2 of equal ones
  double value = 4;
  int64_t rows = 64;
  bool drawn = false;
  static constexpr std::string_view name = "hadamard";
  static constexpr std::string_view doc =
      "value times rows of Hadamard's matrix (Sylvester's: 1 or -1) along the last axis: row i of the axis "
      "before it is the matrix's row i mod `rows`. Different rows are orthogonal.";
  static constexpr auto fields() {
    return std::tuple{
        Field{"value", &Hadamard::value, RealRange{-1e6, 1e6}},
        Field{"rows", &Hadamard::rows, IntRange{1, 4096}},
        Field{"drawn", &Hadamard::drawn, Free{"if true, each row is a random one of `rows` rows"}}};
  }
  bool operator==(const Hadamard&) const = default;
};

struct Tokens {  // i32
  int64_t count = 1;
  static constexpr std::string_view name = "tokens";
  static constexpr std::string_view doc = "Integers in [0, count), as indices into a table of `count` rows.";
  static constexpr auto fields() {
    return std::tuple{Field{"count", &Tokens::count, IntRange{1, 1 << 24}, true}};
  }
  bool operator==(const Tokens&) const = default;
};

struct Bernoulli {  // bool
  double p = 0.5;
  static constexpr std::string_view name = "bernoulli";
  static constexpr std::string_view doc = "True with probability p.";
  static constexpr auto fields() { return std::tuple{Field{"p", &Bernoulli::p, RealRange{0, 1}}}; }
  bool operator==(const Bernoulli&) const = default;
};

struct Special {  // float
  double share = 0.1;
  bool infinities = false;
  static constexpr std::string_view name = "special";
  static constexpr std::string_view doc =
      "Normal distribution, with a share of zeros of both signs, subnormals, and very small and very large "
      "values "
      "(and of infinities and NaN).";
  static constexpr auto fields() {
    return std::tuple{Field{"share", &Special::share, RealRange{0, 1}},
                      Field{"infinities", &Special::infinities, Free{"infinities and NaN too"}}};
  }
  bool operator==(const Special&) const = default;
};

struct Constant {  // any dtype
  double value = 0;
  static constexpr std::string_view name = "constant";
  static constexpr std::string_view doc = "The same value for every element, rounded to the dtype.";
  static constexpr auto fields() {
    return std::tuple{Field{"value", &Constant::value, Free{"or \"inf\", \"-inf\""}, true}};
  }
  bool operator==(const Constant&) const = default;
};

struct OneHot {  // any dtype
  int64_t index = 0;
  double value = 1;
  static constexpr std::string_view name = "one_hot";
  static constexpr std::string_view doc = "Zero except for one element (row-major index).";
  static constexpr auto fields() {
    return std::tuple{Field{"index", &OneHot::index, IntRange{0, kMaxElements}},
                      Field{"value", &OneHot::value, Free{"or \"inf\", \"-inf\""}}};
  }
  bool operator==(const OneHot&) const = default;
};

struct Literal {     // any dtype
  std::string bits;  // hexadecimal, the most significant digit of each element first: 8 digits for f32 and
                     // i32, 4 for 16 bits, 2 for bool
  static constexpr std::string_view name = "literal";
  static constexpr std::string_view doc = "The bit patterns of all elements, in hexadecimal.";
  static constexpr auto fields() {
    return std::tuple{Field{"bits", &Literal::bits, Free{"hexadecimal digits"}, true}};
  }
  bool operator==(const Literal&) const = default;
};

struct FileData {  // any dtype
  std::string sha256;
  DataBytes bytes = {};  // what the file has
  static constexpr std::string_view name = "file";
  static constexpr std::string_view doc =
      "All elements, row-major and little-endian, in the file data/SHA256 beside the case or up to three "
      "folders above it.";
  static constexpr auto fields() {
    return std::tuple{
        Field{"sha256", &FileData::sha256, Free{"of the file, 64 hexadecimal digits in lower case"}, true}};
  }
  bool operator==(const FileData& other) const { return sha256 == other.sha256; }
};

using Fill = std::variant<Normal, Uniform, Lattice, Hadamard, Tokens, Bernoulli, Special, Constant, OneHot,
                          Literal, FileData>;

std::string_view name(const Fill& fill);
// Whether the case says every element: a literal or a file.
bool has_elements(const Fill& fill);
// Whether the data depends on neither the seed nor the name of the tensor.
bool is_fixed(const Fill& fill);
// Whether this kind of fill supports the dtype.
bool serves(const Fill& fill, Dtype dtype);
// The error if this fill cannot make a tensor of this type.
std::optional<Problem> check_fill(const Fill& fill, const TensorType& type);
// Draws the tensor. The fill must have passed check_fill.
Tensor materialize(const Fill& fill, const TensorType& type, uint64_t seed, std::string_view tensor_name,
                   int64_t step);

// The exact bits of a tensor as a literal.
Literal literal_of(const Tensor& tensor);
// The same as the data of a file, which is yet to be written (fuzz/run/case_files.h).
FileData file_of(const Tensor& tensor);

// The values that an i32 fill can produce.
struct IntegerRange {
  int64_t lo, hi;
};
IntegerRange integer_range(const Fill& fill, const TensorType& type);

}  // namespace fusesmith::graph
