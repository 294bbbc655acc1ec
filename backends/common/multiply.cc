// A product runs as one Eigen GEMM for each batch element; operands that are not a matrix with a unit
// stride are packed first. Small products, and those that sum over an axis of only one operand, run as
// plain loops. (Summing such an axis first would be cheaper, but its sum could overflow where no term
// does.)
#include "backends/common/multiply.h"

#include <Eigen/Core>
#include <algorithm>
#include <memory>
#include <optional>

#include "backends/common/strided.h"

namespace fusesmith::backends {
namespace {

// Below this number of terms, the order in which Eigen adds depends on the alignment of the result.
constexpr int64_t kSmallestGemm = 512;

// One operand or the result: a matrix for each batch element.
struct Matrices {
  Shape batch;  // strides
  int64_t rows = 1, cols = 1;
  int64_t row_stride = 0, col_stride = 0;
  bool row_major() const { return col_stride == 1 || cols == 1; }
  bool col_major() const { return row_stride == 1 || rows == 1; }
};

struct Part {
  const Shape &sizes, &strides;
};

// Empty unless rows and columns each have one common stride, one of which is 1.
std::optional<Matrices> as_matrices(Part batch, Part rows, Part cols) {
  const auto row_stride = joint_stride(rows.sizes, rows.strides),
             col_stride = joint_stride(cols.sizes, cols.strides);
  if (!row_stride || !col_stride) return std::nullopt;
  const Matrices matrices{batch.strides, element_count(rows.sizes), element_count(cols.sizes), *row_stride,
                          *col_stride};
  if (!matrices.row_major() && !matrices.col_major()) return std::nullopt;
  return matrices;
}

struct Operand {
  const float* data;
  Matrices matrices;
  std::unique_ptr<float[]> packed;
};

// The operand in place, or packed to [batch, rows, cols] without the batch axes along which it broadcasts.
Operand make_operand(const float* data, Part batch, Part rows, Part cols) {
  if (auto matrices = as_matrices(batch, rows, cols)) return {data, std::move(*matrices), nullptr};
  Shape sizes = batch.sizes;
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = batch.strides[i] == 0 ? 1 : sizes[i];
  Matrices matrices{strides_of(sizes), element_count(rows.sizes), element_count(cols.sizes), 0, 1};
  matrices.row_stride = matrices.cols;
  for (size_t i = 0; i < sizes.size(); ++i) {
    matrices.batch[i] = batch.strides[i] == 0 ? 0 : matrices.batch[i] * matrices.rows * matrices.cols;
  }
  sizes = join(join(std::move(sizes), rows.sizes), cols.sizes);
  auto packed = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(element_count(sizes)));
  copy_strided(data, sizes, join(join(batch.strides, rows.strides), cols.strides), packed.get());
  const float* start = packed.get();
  return {start, std::move(matrices), std::move(packed)};
}

template <int Order>
using Map = Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Order>, 0, Eigen::OuterStride<>>;
template <int Order>
using ConstMap =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Order>, 0, Eigen::OuterStride<>>;

// Calls f with the matrix at `data` as an Eigen expression.
template <class F>
void with_map(const float* data, const Matrices& m, F f) {
  if (m.row_major())
    f(ConstMap<Eigen::RowMajor>(data, m.rows, m.cols, Eigen::OuterStride<>(m.row_stride)));
  else
    f(ConstMap<Eigen::ColMajor>(data, m.rows, m.cols, Eigen::OuterStride<>(m.col_stride)));
}

// The result is row-major: out = a b for one batch element.
void gemm(const float* a, const Matrices& in_a, const float* b, const Matrices& in_b, float* out,
          int64_t out_stride) {
  Map<Eigen::RowMajor> result(out, in_a.rows, in_b.cols, Eigen::OuterStride<>(out_stride));
  with_map(a, in_a, [&](const auto& left) {
    with_map(b, in_b, [&](const auto& right) { result.noalias() = left * right; });
  });
}

void multiply_by_gemm(const Product& p, const float* a, const float* b, float* out) {
  const Operand left = make_operand(a, {p.batch.sizes, p.batch.a}, {p.m.sizes, p.m.a}, {p.k.sizes, p.k.a});
  const Operand right = make_operand(b, {p.batch.sizes, p.batch.b}, {p.k.sizes, p.k.b}, {p.n.sizes, p.n.b});
  const auto direct = as_matrices({p.batch.sizes, p.batch.out}, {p.m.sizes, p.m.out}, {p.n.sizes, p.n.out});
  const bool in_place = direct && direct->row_major();
  const int64_t m = p.m.volume(), n = p.n.volume();
  const auto scratch = std::make_unique_for_overwrite<float[]>(in_place ? 0 : static_cast<size_t>(m * n));
  const Shape out_sizes = join(p.m.sizes, p.n.sizes), out_strides = join(p.m.out, p.n.out);

  using Three = std::array<int64_t, 3>;
  const Strided<3> batch{p.batch.sizes, {left.matrices.batch, right.matrices.batch, p.batch.out}};
  for_each_row(batch, [&](const Three& at, int64_t count, const Three& step) {
    for (int64_t i = 0; i < count; ++i) {
      const float* one_a = left.data + at[0] + i * step[0];
      const float* one_b = right.data + at[1] + i * step[1];
      float* one_out = out + at[2] + i * step[2];
      if (in_place) {
        gemm(one_a, left.matrices, one_b, right.matrices, one_out, direct->row_stride);
        continue;
      }
      gemm(one_a, left.matrices, one_b, right.matrices, scratch.get(), n);
      const float* from = scratch.get();
      for_each_row(Strided<1>{out_sizes, {out_strides}},
                   [&](const auto& to, int64_t row, const auto& to_step) {
                     for (int64_t j = 0; j < row; ++j) one_out[to[0] + j * to_step[0]] = *from++;
                   });
    }
  });
}

// Term by term, the summed axes outermost, so that the innermost loop runs along the result where it can.
void multiply_by_loops(const Product& p, const float* a, const float* b, float* out) {
  const auto all = [&](Shape ProductAxes::*of) {
    return join(join(join(p.k.*of, p.batch.*of), p.m.*of), p.n.*of);
  };
  using Three = std::array<int64_t, 3>;
  const Strided<3> terms{all(&ProductAxes::sizes),
                         {all(&ProductAxes::a), all(&ProductAxes::b), all(&ProductAxes::out)}};
  for_each_row(terms, [&](const Three& at, int64_t count, const Three& step) {
    for (int64_t i = 0; i < count; ++i)
      out[at[2] + i * step[2]] += a[at[0] + i * step[0]] * b[at[1] + i * step[1]];
  });
}

// If b is the same for the whole batch and the rows of a and of the result are consecutive, the batch is
// one tall matrix.
Product fold_batch(const Product& p) {
  const bool shared =
      std::all_of(p.batch.b.begin(), p.batch.b.end(), [](int64_t stride) { return stride == 0; });
  const Shape sizes = join(p.batch.sizes, p.m.sizes), a = join(p.batch.a, p.m.a),
              out = join(p.batch.out, p.m.out);
  if (!shared || !joint_stride(sizes, a) || !joint_stride(sizes, out)) return p;
  return {{}, {sizes, a, Shape(sizes.size(), 0), out}, p.n, p.k};
}

bool is_gemm(const Product& p) {
  for (size_t i = 0; i < p.k.sizes.size(); ++i) {
    if (p.k.sizes[i] > 1 && (p.k.a[i] == 0 || p.k.b[i] == 0)) return false;
  }
  const int64_t m = p.m.volume(), n = p.n.volume(), k = p.k.volume();
  return m * n > 1 && k > 1 && m * n * k >= kSmallestGemm;
}

}  // namespace

void ProductAxes::add(int64_t size, int64_t a_stride, int64_t b_stride, int64_t out_stride) {
  sizes.push_back(size);
  a.push_back(a_stride);
  b.push_back(b_stride);
  out.push_back(out_stride);
}

void multiply(const Product& product, const float* a, const float* b, float* out) {
  const Product folded = fold_batch(product);
  if (is_gemm(folded)) return multiply_by_gemm(folded, a, b, out);
  std::fill_n(out, folded.batch.volume() * folded.m.volume() * folded.n.volume(), 0.0f);
  multiply_by_loops(folded, a, b, out);
}

}  // namespace fusesmith::backends
