// Quantized weights and activations: the scale of a tensor, of its rows or of blocks of them, the codes, and
// what reads them: products of codes whose result is scaled (W8A8), and codes that are dequantized first.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

// Of x as [..., blocks, block]: codes, and a positive scale in f32 of each tensor, row or block.
struct Codes {
  Value codes, scale;
};

enum class Granularity { tensor, row, block };

// A float tensor in f32.
Value widened(Scene& s, Value x) { return s.type(x).dtype == Dtype::f32 ? x : s.op(Cast{Dtype::f32}, {x}); }

// f32: the largest magnitude divided by the largest number of the format, and at least 2^-20.
Value scale_of(Scene& s, Value x, Granularity granularity, Dtype format) {
  Shape axes = {-1};
  if (granularity == Granularity::tensor) {
    axes.clear();
    for (int axis = 0; axis < s.type(x).rank(); ++axis) axes.push_back(axis);
  }
  const Value magnitude = s.op(Maximum{}, {x, s.op(Scale{-1}, {x})});
  const Value largest = s.op(ReduceMax{axes, true}, {magnitude});
  const Value least = s.sketch.input("least", {Dtype::f32, {1}}, Constant{0x1p-20});
  const Value scale = s.op(Scale{max_finite(format), true}, {s.op(Maximum{}, {largest, least})});
  if (!s.flip(0.25)) return scale;
  // A power of two: the next one above, which no element exceeds, or the nearest one.
  const Rounding rounding = s.choices.pick({Rounding::up, Rounding::up, Rounding::nearest});
  const Value power = s.op(Cast{Dtype::f8e8m0, Overflow::special, rounding}, {scale});
  return s.op(Cast{Dtype::f32}, {power});
}

// One that was found on other data, as for activations whose scale is calibrated once. It may be too small.
Value given_scale(Scene& s, Value x, Granularity granularity, Dtype format) {
  Shape shape = s.shape(x);
  if (granularity == Granularity::tensor) std::fill(shape.begin(), shape.end(), 1);
  shape.back() = 1;
  const double unit = 1 / max_finite(format);
  return s.sketch.input("scale", {Dtype::f32, shape}, Uniform{2 * unit, 8 * unit});
}

Value codes_of(Scene& s, Value x, Value scale, Dtype format, bool saturates) {
  const bool divides = s.flip(0.7);
  const Value scaled =
      divides ? s.op(Div{}, {x, scale})
              : s.op(Mul{}, {x, s.op(Div{}, {s.sketch.input("one", {Dtype::f32, {1}}, Constant{1}), scale})});
  const Overflow overflow = saturates || s.flip(0.8) ? Overflow::saturate : Overflow::special;
  return s.op(Cast{format, overflow}, {scaled});
}

Codes quantized(Scene& s, Value x, Granularity granularity, Dtype format) {
  x = widened(s, x);
  const bool is_given = s.flip(0.25);
  const Value scale = is_given ? given_scale(s, x, granularity, format) : scale_of(s, x, granularity, format);
  return {codes_of(s, x, scale, format, is_given), scale};
}

// [..., k] -> [..., k / block, block].
Value in_blocks(Scene& s, Value x, int64_t block) {
  Shape shape = s.shape(x);
  shape.back() /= block;
  shape.push_back(block);
  return s.op(Reshape{shape}, {x});
}

// A divisor of k that a format of blocks may have; 0 if there is none.
int64_t draw_block(Scene& s, int64_t k) {
  std::vector<int64_t> found;
  for (const int64_t block : {4, 8, 16, 32, 64, 128}) {
    if (block < k && k % block == 0) found.push_back(block);
  }
  return found.empty() ? 0 : s.choices.pick(std::span<const int64_t>(found));
}

// sum over blocks of (codes of x) (codes of w)^T times both scales. x [m, blocks, block], w [n, blocks,
// block].
Value product_of_blocks(Scene& s, const Codes& x, const Codes& w) {
  const Permute blocks_first{{1, 0, 2}};
  const Value a = s.op(blocks_first, {x.codes}), b = s.op(blocks_first, {w.codes});
  const Value product = s.op(Matmul{false, true}, {a, b});
  const Value scales = s.op(Mul{}, {s.op(blocks_first, {x.scale}), s.op(Permute{{1, 2, 0}}, {w.scale})});
  return s.op(ReduceSum{{0}}, {s.op(Mul{}, {product, scales})});
}

// x [m, k], w [n, k], each with one scale, or with one for each row.
Value product_of_rows(Scene& s, const Codes& x, const Codes& w) {
  const Value product =
      s.flip() ? s.op(Linear{}, {x.codes, w.codes}) : s.op(Matmul{false, true}, {x.codes, w.codes});
  const Value of_columns = s.op(Permute{{1, 0}}, {w.scale});
  if (s.flip()) return s.op(Mul{}, {product, s.op(Mul{}, {x.scale, of_columns})});
  return s.op(Mul{}, {s.op(Mul{}, {product, x.scale}), of_columns});
}

Dtype draw_factor_format(Scene& s) {
  return s.choices.pick({Dtype::f8e4m3, Dtype::f8e4m3, Dtype::f8e4m3, Dtype::f8e5m2, Dtype::f4e2m1});
}

Granularity draw_granularity(Scene& s) {
  return s.choices.pick({Granularity::tensor, Granularity::row, Granularity::row});
}

// y of f32 in the dtype and with the leading axes of x, which was read as [m, k].
Value as_result(Scene& s, Value y, Value x) {
  Shape shape = s.shape(x);
  shape.back() = s.shape(y).back();
  if (shape != s.shape(y)) y = s.op(Reshape{shape}, {y});
  return s.type(x).dtype == Dtype::f32 ? y : s.op(Cast{s.type(x).dtype}, {y});
}

// What is left of f32 values after they were integers of 8 bits, with one scale that is given.
Value through_s8(Scene& s, Value x) {
  const Value scale = given_scale(s, x, Granularity::tensor, Dtype::s8);
  const Value codes = s.op(Cast{Dtype::s8, Overflow::saturate}, {s.op(Div{}, {x, scale})});
  return s.op(Mul{}, {s.op(Cast{Dtype::f32}, {codes}), scale});
}

// Of a weight [n, k] that is stored as codes: the elements of a row, and the rows, that share a scale.
struct Blocks {
  int64_t elements, rows = 1;
};

// Codes and scales as they are stored, dequantized in the dtype: numbers up to 1 to 4, divided by `divisor`.
Value stored(Scene& s, const TensorType& type, Dtype format, const Shape& of_scales, double divisor = 1) {
  const double largest = format == Dtype::f8e4m3 ? 4 : max_finite(format), unit = 1 / (largest * divisor);
  const Value codes = s.sketch.input("codes", {format, type.shape}, Fill(Uniform{-largest, largest}));
  const Value scale = s.sketch.input("scale", {type.dtype, of_scales}, Uniform{unit, 4 * unit});
  return s.op(Mul{}, {s.op(Cast{type.dtype}, {codes}), scale});
}

// [n, k] in the dtype. The scales are such that sums of k products are about as large as what the weight is
// multiplied by.
Value stored_weight(Scene& s, Dtype dtype, Dtype format, int64_t n, int64_t k, const Blocks& blocks) {
  Shape shape = {n, k / blocks.elements, blocks.elements}, of_scales = {n, k / blocks.elements, 1};
  if (blocks.rows > 1) {
    shape = {n / blocks.rows, blocks.rows, k / blocks.elements, blocks.elements};
    of_scales = {n / blocks.rows, 1, k / blocks.elements, 1};
  }
  const double divisor = 2 * static_cast<double>(root_exponent(k) + 1);
  return s.op(Reshape{{n, k}}, {stored(s, {dtype, shape}, format, of_scales, divisor)});
}

// Keys or values [..., s, d] as a cache stores them: codes, and one scale, or one for each head or position.
Value stored_cache(Scene& s, const TensorType& type, Dtype format, int scaled_axes) {
  Shape of_scales = type.shape;
  for (int axis = scaled_axes; axis < type.rank(); ++axis) of_scales[static_cast<size_t>(axis)] = 1;
  return stored(s, type, format, of_scales);
}

}  // namespace

bool add_quantized_product(Scene& s) {
  const Value x = s.any(2, 4);
  const int64_t k = s.shape(x).back(), n = s.dim();
  const Value rows = as_rows(s, x), weight = s.weight({s.type(x).dtype, {n, k}}, k);
  const Dtype format_x = draw_factor_format(s), format_w = s.flip(0.8) ? format_x : draw_factor_format(s);
  const int64_t block = s.flip(0.4) ? draw_block(s, k) : 0;
  const auto coded = [&](Value whole, Dtype format) {
    return block > 0 ? quantized(s, in_blocks(s, whole, block), Granularity::block, format)
                     : quantized(s, whole, draw_granularity(s), format);
  };
  const Codes left = coded(rows, format_x), right = coded(weight, format_w);
  const Value y = block > 0 ? product_of_blocks(s, left, right) : product_of_rows(s, left, right);
  s.keep(as_result(s, y, x));
  return true;
}

// Weights that are stored as codes of 4 or 8 bits, with a scale for each group of a row or each block of
// rows.
bool add_quantized_weight(Scene& s) {
  const Value x = s.any(1, 4);
  const Dtype dtype = s.type(x).dtype;
  const int64_t k = s.shape(x).back(), n = s.dim();
  const int64_t drawn = draw_block(s, k), rows = s.flip(0.25) ? draw_block(s, n) : 0;
  const Blocks blocks{drawn > 0 ? drawn : k, std::max<int64_t>(1, rows)};
  const Dtype format = s.choices.pick({Dtype::s4, Dtype::s4, Dtype::s8, Dtype::f4e2m1, Dtype::f8e4m3});
  s.keep(s.op(Linear{}, {x, stored_weight(s, dtype, format, n, k, blocks)}));
  return true;
}

// Attention of live queries to keys and values that are stored as codes.
bool add_quantized_cache(Scene& s) {
  const Value q = s.any(3, 4);
  TensorType type = s.type(q);
  type.shape.end()[-2] = s.dim();
  const Dtype format = s.choices.pick({Dtype::f8e4m3, Dtype::f8e4m3, Dtype::f8e5m2, Dtype::s8});
  const int scaled_axes = s.choices.pick({0, type.rank() - 2, type.rank() - 1});
  const Value k = stored_cache(s, type, format, scaled_axes), v = stored_cache(s, type, format, scaled_axes);
  Sdpa op;
  if (s.flip()) {
    op.mask = Sdpa::Mask::causal;
    if (s.shape(q).end()[-2] <= type.shape.end()[-2]) op.alignment = CausalAlignment::bottom_right;
  }
  s.keep(s.op(op, {q, k, v}));
  return true;
}

// Codes of a value that is read again, as of a cache or of activations that are kept for the backward pass.
bool add_quantized_value(Scene& s) {
  const Value x = s.any(1, 4);
  const Dtype format =
      s.choices.pick({Dtype::f8e4m3, Dtype::f8e5m2, Dtype::f4e2m1, Dtype::s8, Dtype::s4, Dtype::s8});
  const int64_t block = s.flip(0.4) ? draw_block(s, s.shape(x).back()) : 0;
  const Value whole = block > 0 ? in_blocks(s, x, block) : x;
  const Codes codes = quantized(s, whole, block > 0 ? Granularity::block : draw_granularity(s), format);
  const Value y = s.op(Mul{}, {s.op(Cast{Dtype::f32}, {codes.codes}), codes.scale});
  const Value back = s.type(x).dtype == Dtype::f32 ? y : s.op(Cast{s.type(x).dtype}, {y});
  s.keep(block > 0 ? s.op(Reshape{s.shape(x)}, {back}) : back);
  return true;
}

// A layer between quantized and dequantized values with given scales, as exporters write it, for which
// compilers have operators of integers.
bool add_quantized_layer(Scene& s) {
  const Value source = s.any(1, 4);
  const Value x = through_s8(s, widened(s, source));
  const int64_t k = s.shape(x).back();
  Value y;
  switch (s.choices.below(6)) {
    case 0:
      y = activate(s, x);
      break;
    case 1:
      y = add_either_way(s, x, through_s8(s, s.activation(s.type(x))));
      break;
    case 2:
      y = s.flip() ? s.op(random_permute(s, s.shape(x)), {x}) : s.op(random_reshape(s, s.shape(x)), {x});
      break;
    default:
      y = s.op(Linear{}, {x, stored_weight(s, Dtype::f32, Dtype::s8, s.dim(), k, {k})});
      if (s.flip(0.3)) y = activate(s, y);
  }
  if (s.flip(0.75)) y = through_s8(s, y);
  s.keep(s.type(source).dtype == Dtype::f32 ? y : s.op(Cast{s.type(source).dtype}, {y}));
  return true;
}

// Products of codes that are exact in every order: whole numbers and powers of two.
bool add_exact_quantized(Scene& s) {
  const int64_t m = s.dim(), k = s.dim(512), n = s.dim();
  const Dtype format = draw_factor_format(s);
  const Value a = s.activation({format, {m, k}}), b = s.weight({format, {n, k}}, k);
  const auto scales = [&](const Shape& shape) {
    return s.sketch.input("scale", {Dtype::f32, shape}, Constant{s.choices.pick({1.0, 0.5, 4.0, 0.125})});
  };
  const Codes left{a, scales({m, 1})}, right{b, scales({n, 1})};
  s.keep(product_of_rows(s, left, right));
  return true;
}

}  // namespace fusesmith::fuzz
