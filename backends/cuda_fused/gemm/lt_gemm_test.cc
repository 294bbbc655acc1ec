// What cublasLt is asked to do, done here by a plain column-major product on small integers, where every
// order of terms gives the same bits, and compared with the definition. No device is needed.
#include "backends/cuda_fused/gemm/lt_gemm.h"

#include <gtest/gtest.h>

#include "backends/rewrite/matching/product.h"
#include "graph/philox.h"

namespace fusesmith::backends {
namespace {

using Values = std::vector<float>;

Values lattice(const Shape& shape, uint64_t seed) {
  Values values(static_cast<size_t>(element_count(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(philox(seed, 0, i)[0] % 9) - 4;
  return values;
}

struct Data {
  Values a, b, bias, addend;
};

float at(const Values& values, int64_t i) { return values.at(static_cast<size_t>(i)); }

// The element of a column-major operand, or of its transpose.
float element(const Values& values, const LtOperand& operand, int64_t batch, int64_t row, int64_t column) {
  const auto [r, c] = operand.transposed ? std::pair(column, row) : std::pair(row, column);
  return at(values, batch * operand.batch_stride + r + c * operand.leading);
}

Values run(const LtGemm& lt, const Data& data, size_t out_count) {
  Values out(out_count, -1000);
  const Values &left = lt.swapped ? data.b : data.a, &right = lt.swapped ? data.a : data.b;
  const Values& bias = data.bias.empty() ? data.addend : data.bias;
  for (int64_t z = 0; z < lt.batch; ++z) {
    for (int64_t j = 0; j < lt.columns; ++j) {
      for (int64_t i = 0; i < lt.rows; ++i) {
        float sum = lt.bias ? at(bias, i) : 0;
        if (lt.adds_c) sum += element(data.addend, lt.c, z, i, j);
        for (int64_t k = 0; k < lt.depth; ++k)
          sum += element(left, lt.a, z, i, k) * element(right, lt.b, z, k, j);
        out.at(static_cast<size_t>(z * lt.d.batch_stride + i + j * lt.d.leading)) = sum;
      }
    }
  }
  return out;
}

// By the definition of FusedGemm, with one axis in each group.
Values define(const FusedGemm& gemm, const Data& data, size_t out_count) {
  const auto axis = [](const std::vector<ProductAxis>& axes) {
    return axes.empty() ? ProductAxis{} : axes[0];
  };
  const BatchedProduct& p = gemm.product;
  const ProductAxis batch = axis(p.batch), m = axis(p.m), n = axis(p.n), k = axis(p.k);
  Values out(out_count, -1000);
  for (int64_t z = 0; z < batch.size; ++z) {
    for (int64_t i = 0; i < m.size; ++i) {
      for (int64_t j = 0; j < n.size; ++j) {
        float sum = gemm.bias ? at(data.bias, j) : 0;
        if (gemm.addend) sum += at(data.addend, z * batch.addend + i * m.addend + j * n.addend);
        for (int64_t t = 0; t < k.size; ++t) {
          sum += at(data.a, z * batch.a + i * m.a + t * k.a) * at(data.b, z * batch.b + j * n.b + t * k.b);
        }
        out.at(static_cast<size_t>(z * batch.out + i * m.out + j * n.out)) = sum;
      }
    }
  }
  return out;
}

struct Problem {
  FusedGemm gemm;
  Data data;
  size_t out_count = 0;

  std::optional<LtGemm> lt() const { return lt_gemm(gemm, extent(gemm.product.k), Dtype::f32, true); }
};

// A product node with inputs of these shapes, an addend and a bias, as gemm_bias_act hands it over.
Problem make_problem(const Op& op, const Shape& a, const Shape& b, const std::optional<Shape>& addend = {},
                     bool bias = false) {
  Builder builder;
  std::vector<ValueId> inputs{builder.input("a", {Dtype::f32, a}, Normal{}),
                              builder.input("b", {Dtype::f32, b}, Normal{})};
  if (bias) inputs.push_back(builder.input("bias", {Dtype::f32, {b[0]}}, Normal{}));
  const ValueId y = builder.node(op, inputs);
  builder.output(y);
  const Graph graph = *builder.build();
  Problem problem;
  problem.out_count = static_cast<size_t>(element_count(graph.type(y)));
  problem.gemm.product = *gemm_product(graph, graph.nodes()[0], addend.value_or(Shape{}));
  if (addend) problem.gemm.addend = y;
  if (bias) problem.gemm.bias = inputs[2];
  problem.data = {lattice(a, 1), lattice(b, 2), bias ? lattice({b[0]}, 3) : Values{},
                  addend ? lattice(*addend, 4) : Values{}};
  return problem;
}

void expect_same(const Problem& problem) {
  const auto lt = problem.lt();
  ASSERT_TRUE(lt.has_value());
  EXPECT_TRUE(lt->tf32);
  EXPECT_EQ(run(*lt, problem.data, problem.out_count), define(problem.gemm, problem.data, problem.out_count));
}

TEST(LtGemm, ComputesWhatTheProductSays) {
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      const Shape a = ta ? Shape{4, 6} : Shape{6, 4}, b = tb ? Shape{5, 4} : Shape{4, 5};
      expect_same(make_problem(Matmul{ta, tb}, a, b));
      expect_same(make_problem(Matmul{ta, tb}, a, b, Shape{5}));     // a bias vector
      expect_same(make_problem(Matmul{ta, tb}, a, b, Shape{6, 5}));  // c
      Shape batched_a = a, batched_b = b;
      batched_a.insert(batched_a.begin(), 3);
      batched_b.insert(batched_b.begin(), 3);
      expect_same(make_problem(Matmul{ta, tb}, batched_a, batched_b));
      expect_same(make_problem(Matmul{ta, tb}, batched_a, batched_b, Shape{3, 6, 5}));
      expect_same(make_problem(Matmul{ta, tb}, batched_a, batched_b, Shape{6, 5}));  // c without a batch
      expect_same(make_problem(Matmul{ta, tb}, a, batched_b));  // a is read again for each
    }
  }
}

TEST(LtGemm, TakesColumnMajorResultsAndSingleLines) {
  expect_same(make_problem(Einsum{"ik,kj->ji"}, {6, 4}, {4, 5}));
  expect_same(make_problem(Einsum{"bik,bkj->bji"}, {2, 6, 4}, {2, 4, 5}, Shape{5, 6}));
  expect_same(make_problem(Matmul{}, {1, 4}, {4, 5}, Shape{5}));
  expect_same(make_problem(Matmul{}, {6, 4}, {4, 1}, Shape{6, 1}));
  expect_same(make_problem(Matmul{}, {6, 1}, {1, 5}));
  expect_same(make_problem(Matmul{}, {1, 1}, {1, 1}, Shape{1}));
  expect_same(make_problem(Linear{}, {2, 3, 4}, {5, 4}, {}, true));
}

TEST(LtGemm, LeavesTheRestToTheOwnKernel) {
  const auto taken = [](const Problem& problem) { return problem.lt().has_value(); };
  EXPECT_FALSE(
      taken(make_problem(Einsum{"ihd,hdo->io"}, {3, 4, 5}, {4, 5, 6}, Shape{3, 1})));  // added along columns
  EXPECT_FALSE(taken(make_problem(Einsum{"bid,bjd->ijb"}, {2, 3, 4}, {2, 5, 4})));     // no unit step in out
  EXPECT_FALSE(taken(make_problem(Einsum{"ikl,ljk->ij"}, {3, 4, 5}, {5, 6, 4})));      // two summed axes
  EXPECT_FALSE(taken(make_problem(Linear{}, {3, 4}, {5, 4}, Shape{3, 5}, true)));      // a bias and an addend
  const Problem plain = make_problem(Linear{}, {3, 4}, {5, 4});
  ASSERT_TRUE(taken(plain));
  FusedGemm with_relu = plain.gemm;
  with_relu.activation = Relu{};
  EXPECT_FALSE(lt_gemm(with_relu, 4, Dtype::f32, false).has_value());
  EXPECT_FALSE(lt_gemm(plain.gemm, 4, Dtype::bf16, true)->tf32);
}

}  // namespace
}  // namespace fusesmith::backends
