#include "backends/cuda_fused/gemm/lt_gemm.h"

#include <map>
#include <memory>
#include <mutex>

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/cuda_type.h"
#include "graph/result.h"

namespace fusesmith::backends {
namespace {

// A group of at most one axis.
struct Line {
  int64_t size = 1;
  ProductAxis axis;
  explicit Line(const std::vector<ProductAxis>& axes) {
    if (axes.empty()) return;
    axis = axes.front();
    size = axis.size;
  }
};

// The layout of a matrix whose rows and columns have these strides; `step` is the stride of its batch.
std::optional<LtOperand> layout(int64_t rows, int64_t row_step, int64_t columns, int64_t column_step,
                                int64_t step, bool may_transpose) {
  if (rows == 1 || row_step == 1) {
    const int64_t leading = columns == 1 ? rows : column_step;
    if (leading >= rows) return LtOperand{false, leading, step};
  }
  if (may_transpose && (columns == 1 || column_step == 1)) {
    const int64_t leading = rows == 1 ? columns : row_step;
    if (leading >= columns) return LtOperand{true, leading, step};
  }
  return std::nullopt;
}

// Passes the addend as a bias vector if it depends on rows alone, otherwise as c.
bool place_addend(const Line& row, const Line& column, const Line& batch, LtGemm& lt) {
  const bool by_row = (row.size == 1 || row.axis.addend == 1) &&
                      (column.size == 1 || column.axis.addend == 0) &&
                      (batch.size == 1 || batch.axis.addend == 0);
  if (by_row) {
    lt.bias = true;
    return true;
  }
  const auto c = layout(row.size, row.axis.addend, column.size, column.axis.addend, batch.axis.addend, false);
  if (c) lt.c = *c;
  lt.adds_c = c.has_value();
  return lt.adds_c;
}

// One of the two ways to view the output as a column-major matrix.
std::optional<LtGemm> oriented(const FusedGemm& gemm, const Line& row, const Line& column, LtGemm lt) {
  const BatchedProduct& product = gemm.product;
  const Line batch(product.batch), k(product.k);
  const auto left = lt.swapped ? &ProductAxis::b : &ProductAxis::a;
  const auto right = lt.swapped ? &ProductAxis::a : &ProductAxis::b;
  lt.rows = row.size;
  lt.columns = column.size;
  lt.batch = batch.size;
  const auto a = layout(lt.rows, row.axis.*left, lt.depth, k.axis.*left, batch.axis.*left, true);
  const auto b = layout(lt.depth, k.axis.*right, lt.columns, column.axis.*right, batch.axis.*right, true);
  const auto d = layout(lt.rows, row.axis.out, lt.columns, column.axis.out, batch.axis.out, false);
  if (!a || !b || !d) return std::nullopt;
  lt.a = *a;
  lt.b = *b;
  lt.c = lt.d = *d;
  if (gemm.bias && !lt.swapped) return std::nullopt;  // of n, and rows are m
  lt.bias = gemm.bias.has_value();
  if (gemm.addend && !place_addend(row, column, batch, lt)) return std::nullopt;
  // If the lines of a matrix are not aligned, the library rounds a bf16 product before it adds the bias (CUDA
  // 13.0, observed with lines of odd length): a rounding inside linear that the graph does not have.
  const bool aligned = lt.a.leading % 8 == 0 && lt.b.leading % 8 == 0 && lt.d.leading % 8 == 0;
  if (gemm.bias && is_narrow(lt.dtype) && !aligned) return std::nullopt;
  return lt;
}

struct LtPlan {
  cublasLtMatmulDescOpaque_t operation;  // its bias pointer is set at the launch
  cublasLtMatrixLayoutOpaque_t a, b, c, d;
  cublasLtMatmulAlgo_t algorithm;
};

template <class T>
void set(cublasLtMatmulDescOpaque_t& operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check_cublas(cublasLtMatmulDescSetAttribute(&operation, attribute, &value, sizeof value),
               "cublasLtMatmulDescSetAttribute");
}

template <class T>
void set(cublasLtMatrixLayoutOpaque_t& matrix, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
  check_cublas(cublasLtMatrixLayoutSetAttribute(&matrix, attribute, &value, sizeof value),
               "cublasLtMatrixLayoutSetAttribute");
}

template <class T>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value) {
  check_cublas(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof value),
               "cublasLtMatmulPreferenceSetAttribute");
}

cublasLtMatrixLayoutOpaque_t matrix(const LtGemm& gemm, const LtOperand& operand, int64_t rows,
                                    int64_t columns) {
  if (operand.transposed) std::swap(rows, columns);
  cublasLtMatrixLayoutOpaque_t result;
  check_cublas(cublasLtMatrixLayoutInit(&result, cuda_type(gemm.dtype), static_cast<uint64_t>(rows),
                                        static_cast<uint64_t>(columns), operand.leading),
               "cublasLtMatrixLayoutInit");
  set(result, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(gemm.batch));
  set(result, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.batch_stride);
  return result;
}

cublasLtMatmulDescOpaque_t operation(const LtGemm& gemm) {
  cublasLtMatmulDescOpaque_t result;
  check_cublas(cublasLtMatmulDescInit(&result, gemm.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                      CUDA_R_32F),
               "cublasLtMatmulDescInit");
  const auto transpose = [](const LtOperand& operand) {
    return operand.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(result, CUBLASLT_MATMUL_DESC_TRANSA, transpose(gemm.a));
  set(result, CUBLASLT_MATMUL_DESC_TRANSB, transpose(gemm.b));
  if (gemm.bias) {
    set(result, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    // The heuristic looks at the alignment of this address; all buffers have the same.
    set(result, CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(uintptr_t{256}));
  }
  return result;
}

// Null if the library has no algorithm. Algorithms that store partial sums in 16 bits are excluded.
std::shared_ptr<const LtPlan> make_plan(const LtGemm& gemm, const StreamHandles& handles) {
  LtPlan plan{operation(gemm),
              matrix(gemm, gemm.a, gemm.rows, gemm.depth),
              matrix(gemm, gemm.b, gemm.depth, gemm.columns),
              matrix(gemm, gemm.c, gemm.rows, gemm.columns),
              matrix(gemm, gemm.d, gemm.rows, gemm.columns),
              {}};
  cublasLtMatmulPreferenceOpaque_t preference;
  check_cublas(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(handles.workspace_bytes));
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handles.cublas_lt, &plan.operation, &plan.a, &plan.b, &plan.c, &plan.d, &preference, 1, &found, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return nullptr;
  check_cublas(status, "cublasLtMatmulAlgoGetHeuristic");
  if (count == 0 || found.state != CUBLAS_STATUS_SUCCESS) return nullptr;
  plan.algorithm = found.algo;
  return std::make_shared<const LtPlan>(plan);
}

// Plans are cached by problem: the heuristic costs tens of microseconds and depends on nothing else.
std::shared_ptr<const LtPlan> plan_for(const LtGemm& gemm, const StreamHandles& handles) {
  constexpr size_t kMostPlans = 8192;
  static std::mutex mutex;
  static std::map<std::pair<LtGemm, size_t>, std::shared_ptr<const LtPlan>> plans;
  const std::pair key(gemm, handles.workspace_bytes);
  {
    const std::lock_guard lock(mutex);
    if (const auto known = plans.find(key); known != plans.end()) return known->second;
  }
  auto plan = make_plan(gemm, handles);
  const std::lock_guard lock(mutex);
  if (plans.size() >= kMostPlans) plans.clear();
  plans[key] = plan;
  return plan;
}

}  // namespace

std::optional<LtGemm> lt_gemm(const FusedGemm& gemm, int64_t depth, Dtype dtype, bool tf32) {
  const BatchedProduct& product = gemm.product;
  if (gemm.activation || (gemm.bias && gemm.addend)) return std::nullopt;
  if (product.batch.size() > 1 || product.m.size() > 1 || product.n.size() > 1 || product.k.size() > 1) {
    return std::nullopt;
  }
  LtGemm lt;
  lt.dtype = dtype;
  lt.tf32 = tf32 && dtype == Dtype::f32;
  lt.depth = depth;
  const Line m(product.m), n(product.n);
  lt.swapped = true;
  if (const auto found = oriented(gemm, n, m, lt)) return found;
  lt.swapped = false;
  return oriented(gemm, m, n, lt);
}

bool launch_lt_gemm(const LtGemm& gemm, const LtPointers& pointers, const StreamHandles& handles) {
  const auto plan = plan_for(gemm, handles);
  if (!plan) return false;
  cublasLtMatmulDescOpaque_t operation = plan->operation;
  if (gemm.bias) set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers.bias);
  const float one = 1, beta = gemm.adds_c ? 1 : 0;
  LtPlan layouts = *plan;
  check_cublas(
      cublasLtMatmul(handles.cublas_lt, &operation, &one, pointers.a, &layouts.a, pointers.b, &layouts.b,
                     &beta, gemm.adds_c ? pointers.c : pointers.d, &layouts.c, pointers.d, &layouts.d,
                     &plan->algorithm, handles.workspace, handles.workspace_bytes, handles.stream),
      "cublasLtMatmul");
  return true;
}

}  // namespace fusesmith::backends
