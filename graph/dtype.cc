#include "graph/dtype.h"

#include <cmath>

namespace fusesmith::graph {
namespace {

struct Format {
  std::string_view name;
  int size;
  int precision;  // 0 for integers
  int min_exponent;
  double max_finite;
};

constexpr Format kFormats[] = {
    {"f32", 4, 24, -126, 3.4028234663852886e38},
    {"f16", 2, 11, -14, 65504.0},
    {"bf16", 2, 8, -126, 3.3895313892515355e38},
    {"i32", 4, 0, 0, 2147483647.0},
    {"bool", 1, 0, 0, 1.0},
};

const Format& format(Dtype dtype) { return kFormats[static_cast<int>(dtype)]; }

}  // namespace

std::string_view name(Dtype dtype) { return format(dtype).name; }

std::optional<Dtype> parse_dtype(std::string_view text) {
  for (Dtype dtype : kDtypes) {
    if (name(dtype) == text) return dtype;
  }
  return std::nullopt;
}

int size_of(Dtype dtype) { return format(dtype).size; }
bool is_float(Dtype dtype) { return format(dtype).precision > 0; }
int precision(Dtype dtype) { return format(dtype).precision; }
double unit_roundoff(Dtype dtype) { return std::ldexp(1.0, -format(dtype).precision); }
int min_exponent(Dtype dtype) { return format(dtype).min_exponent; }
double max_finite(Dtype dtype) { return format(dtype).max_finite; }

}  // namespace fusesmith::graph
