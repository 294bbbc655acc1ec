#include "backends/cuda/emit/gemm_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "backends/common/strided.h"
#include "graph/result.h"

namespace fusesmith::backends {
namespace {

// If a product needs more calls than this, operands are packed until one call is enough.
constexpr int64_t kMostLoops = 4;
// Some GEMM kernels use a grid dimension with this limit for the batch (cutlass issue 1369).
constexpr int64_t kMostBatch = 65535;

// An operand or the result as a matrix for each batch element.
struct Matrix {
  int64_t rows = 1, cols = 1;
  int64_t row_stride = 0, col_stride = 0;
  Shape batch;  // strides over the product's batch axes

  // The leading dimension if columns, or rows, are contiguous in memory; otherwise nothing.
  std::optional<int64_t> ld_of_columns() const {
    return leading_dimension(rows, row_stride, cols, col_stride);
  }
  std::optional<int64_t> ld_of_rows() const { return leading_dimension(cols, col_stride, rows, row_stride); }

 private:
  static std::optional<int64_t> leading_dimension(int64_t inner, int64_t inner_stride, int64_t outer,
                                                  int64_t outer_stride) {
    if (inner > 1 && inner_stride != 1) return std::nullopt;
    if (outer == 1) return inner;
    if (outer_stride < inner) return std::nullopt;  // broadcast or overlapping
    return outer_stride;
  }
};

// The axes that form the rows, the columns or the batch of one operand: sizes and strides.
struct Axes {
  Shape sizes, strides;
};

// The operand without a copy, or nothing if its layout is not a matrix with a leading dimension.
std::optional<Matrix> as_matrix(const Axes& batch, const Axes& rows, const Axes& cols) {
  const auto row_stride = joint_stride(rows.sizes, rows.strides),
             col_stride = joint_stride(cols.sizes, cols.strides);
  if (!row_stride || !col_stride) return std::nullopt;
  const Matrix matrix{element_count(rows.sizes), element_count(cols.sizes), *row_stride, *col_stride,
                      batch.strides};
  if (!matrix.ld_of_columns() && !matrix.ld_of_rows()) return std::nullopt;
  return matrix;
}

// An operand that may have to be packed.
struct Operand {
  Axes batch, rows, cols;
  Matrix matrix;
  std::optional<Packing> packing;

  Operand(Axes b, Axes r, Axes c) : batch(std::move(b)), rows(std::move(r)), cols(std::move(c)) {
    if (const auto direct = as_matrix(batch, rows, cols))
      matrix = *direct;
    else
      pack(false);
  }

  // Packs to [batch, rows, cols]. Batch axes along which the operand broadcasts are left out unless
  // `whole_batch`.
  void pack(bool whole_batch) {
    Shape sizes = batch.sizes;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (batch.strides[i] == 0 && !whole_batch) sizes[i] = 1;
    }
    matrix = {element_count(rows.sizes), element_count(cols.sizes), 0, 1, strides_of(sizes)};
    matrix.row_stride = matrix.cols;
    for (size_t i = 0; i < sizes.size(); ++i)
      matrix.batch[i] *= sizes[i] < batch.sizes[i] ? 0 : matrix.rows * matrix.cols;
    packing = Packing{join(join(std::move(sizes), rows.sizes), cols.sizes),
                      join(join(batch.strides, rows.strides), cols.strides)};
  }

  // Packs the operand if its batch cannot be read with one stride.
  void make_batch_joint() {
    if (!joint_stride(batch.sizes, matrix.batch)) pack(true);
  }
};

void drop_axes_of_one(ProductAxes& axes) {
  ProductAxes kept;
  for (size_t i = 0; i < axes.sizes.size(); ++i) {
    if (axes.sizes[i] > 1) kept.add(axes.sizes[i], axes.a[i], axes.b[i], axes.out[i]);
  }
  axes = std::move(kept);
}

// If b is the same for the whole batch, and the rows of a and of the result are contiguous across the batch,
// the product is one tall matrix.
Product fold_batch(Product p) {
  if (std::any_of(p.batch.b.begin(), p.batch.b.end(), [](int64_t stride) { return stride != 0; })) return p;
  const Shape sizes = join(p.batch.sizes, p.m.sizes), a = join(p.batch.a, p.m.a),
              out = join(p.batch.out, p.m.out);
  if (!joint_stride(sizes, a) || !joint_stride(sizes, out)) return p;
  return {{}, {sizes, a, Shape(sizes.size(), 0), out}, std::move(p.n), std::move(p.k)};
}

// Moves summed axes that one operand lacks to the outside, so that the axes that both have stay contiguous.
void order_summed(ProductAxes& k) {
  const auto rank = [&](size_t i) { return k.a[i] != 0 && k.b[i] != 0 ? 2 : k.a[i] != 0 ? 1 : 0; };
  std::vector<size_t> order(k.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return rank(i) < rank(j); });
  ProductAxes sorted;
  for (size_t i : order) sorted.add(k.sizes[i], k.a[i], k.b[i], 0);
  k = std::move(sorted);
}

// The copy from scratch, whose layout follows the order of `axes`, to the dense result. All sizes are above
// 1.
Packing unpacking(const Axes& axes) {
  const Shape from = strides_of(axes.sizes);
  std::vector<size_t> order(axes.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return axes.strides[i] > axes.strides[j]; });
  Packing unpack;
  for (size_t i : order) {
    unpack.sizes.push_back(axes.sizes[i]);
    unpack.strides.push_back(from[i]);
  }
  const Shape dense = strides_of(unpack.sizes);
  for (size_t i = 0; i < order.size(); ++i)
    check(axes.strides[order[i]] == dense[i], "plan_gemm: the result is not dense");
  return unpack;
}

// The calls for a batch: the largest axis becomes the batch of each call, every other index a call of its
// own.
std::vector<Gemm::Call> calls_over(Shape sizes, std::array<Shape, 3> strides, Gemm& gemm) {
  merge_axes(sizes, strides);
  int64_t inner_size = 1;
  std::array<int64_t, 3> inner{};
  if (!sizes.empty()) {
    const auto largest = std::max_element(sizes.begin(), sizes.end()) - sizes.begin();
    inner_size = sizes[static_cast<size_t>(largest)];
    sizes.erase(sizes.begin() + largest);
    for (size_t i = 0; i < 3; ++i) {
      inner[i] = strides[i][static_cast<size_t>(largest)];
      strides[i].erase(strides[i].begin() + largest);
    }
  }
  gemm.first.batch_stride = inner[0], gemm.second.batch_stride = inner[1], gemm.out.batch_stride = inner[2];
  std::vector<Gemm::Call> calls;
  for_each_row(Strided<3>{sizes, strides}, [&](const auto& at, int64_t count, const auto& step) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t done = 0; done < inner_size; done += kMostBatch) {
        const auto offset = [&](size_t k) { return at[k] + i * step[k] + done * inner[k]; };
        calls.push_back(
            {offset(0), offset(1), offset(2), static_cast<int>(std::min(kMostBatch, inner_size - done))});
      }
    }
  });
  return calls;
}

int to_int(int64_t x) {
  check(x <= std::numeric_limits<int>::max(), "plan_gemm: a dimension too large");
  return static_cast<int>(x);
}

// An [m, k] or [k, n] factor of a column-major product.
Gemm::Operand factor(const Matrix& matrix) {
  if (const auto ld = matrix.ld_of_columns()) return {false, to_int(*ld), 0};
  return {true, to_int(*matrix.ld_of_rows()), 0};
}

Matrix transposed(Matrix matrix) {
  std::swap(matrix.rows, matrix.cols);
  std::swap(matrix.row_stride, matrix.col_stride);
  return matrix;
}

int64_t launches(Shape sizes, std::array<Shape, 3> strides) {
  merge_axes(sizes, strides);
  const int64_t largest = sizes.empty() ? 1 : *std::max_element(sizes.begin(), sizes.end());
  return element_count(sizes) / largest;
}

}  // namespace

GemmPlan plan_gemm(Product product) {
  for (ProductAxes* axes : {&product.batch, &product.m, &product.n, &product.k}) drop_axes_of_one(*axes);
  Product p = fold_batch(std::move(product));
  order_summed(p.k);
  const Shape& batch = p.batch.sizes;
  Operand a({batch, p.batch.a}, {p.m.sizes, p.m.a}, {p.k.sizes, p.k.a});
  Operand b({batch, p.batch.b}, {p.k.sizes, p.k.b}, {p.n.sizes, p.n.b});
  Operand out({batch, p.batch.out}, {p.m.sizes, p.m.out}, {p.n.sizes, p.n.out});
  if (launches(batch, {a.matrix.batch, b.matrix.batch, out.matrix.batch}) > kMostLoops) {
    a.make_batch_joint(), b.make_batch_joint(), out.make_batch_joint();
  }

  GemmPlan plan;
  plan.pack_a = std::move(a.packing);
  plan.pack_b = std::move(b.packing);
  if (out.packing) {
    plan.unpack =
        unpacking({join(join(batch, p.m.sizes), p.n.sizes), join(join(p.batch.out, p.m.out), p.n.out)});
  }
  // A row-major result is the transpose of a column-major one: out^T = b^T a^T.
  plan.swapped = !out.matrix.ld_of_columns();
  const Matrix first = plan.swapped ? transposed(b.matrix) : a.matrix,
               second = plan.swapped ? transposed(a.matrix) : b.matrix,
               result = plan.swapped ? transposed(out.matrix) : out.matrix;
  Gemm& gemm = plan.gemm;
  gemm.m = to_int(result.rows), gemm.n = to_int(result.cols), gemm.k = to_int(first.cols);
  gemm.first = factor(first), gemm.second = factor(second), gemm.out = factor(result);
  gemm.calls = calls_over(batch, {first.batch, second.batch, result.batch}, gemm);
  return plan;
}

}  // namespace fusesmith::backends
