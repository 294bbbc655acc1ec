// Kernels of others that multiply and add otherwise than their contracts say: accumulators of tensor cores,
// and products of several factors.
#include <gtest/gtest.h>

#include "oracle/known_arithmetic.h"
#include "oracle/region_judge.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

using Nodes = std::function<ValueId(Builder& b, const std::vector<ValueId>& inputs)>;

// All nodes as one region on these operands, which a kernel of others computed as `y`.
RegionVerdict verdict_on_graph(const Nodes& nodes, const std::vector<Tensor>& operands,
                               const std::vector<float>& y, double coarsest = kInf, bool is_kernel = false,
                               Roundings roundings = Roundings::kept) {
  Builder b;
  std::vector<ValueId> inputs;
  Trace trace;
  for (const Tensor& operand : operands) {
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), operand.type, Normal{}));
    trace.values.push_back(std::make_shared<Tensor>(operand));
  }
  b.output(nodes(b, inputs));
  const Graph graph = *b.build();
  trace.values.resize(static_cast<size_t>(graph.value_count()));
  trace.values.back() = std::make_shared<Tensor>(from_f32(y, graph.type(graph.outputs()[0])));
  std::vector<int> all(graph.nodes().size());
  std::iota(all.begin(), all.end(), 0);
  Plan plan;
  plan.regions = {make_region(graph, all)};
  plan.regions[0].contract.roundings = roundings;
  RegionJudgeOptions options;
  options.foreign = true;
  options.coarsest = coarsest;
  options.is_kernel = is_kernel;
  return judge_region(graph, plan, 0, trace, options);
}

RegionVerdict verdict_on_op(const Op& op, const std::vector<Tensor>& operands, const std::vector<float>& y,
                            double coarsest = kInf, bool is_kernel = false) {
  return verdict_on_graph([&](Builder& b, const std::vector<ValueId>& in) { return b.node(op, in, "y"); },
                          operands, y, coarsest, is_kernel);
}

// Products of 16,384 terms, added in f32 one after the other.
TEST(KnownProducts, LongSumsAreRightIfTheyHaveTheErrorsOfIndependentRoundings) {
  constexpr size_t kDepth = 16'384;
  Rng random(17);
  const auto data = [&](int64_t rows) {
    return make_tensor({Dtype::f16, {rows, kDepth}}, [&](int64_t) { return random.normal(); });
  };
  const Tensor a = data(5), b = data(6);
  const std::vector<float> x = to_f32(a), w = to_f32(b);
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); i += kDepth) {
    for (size_t j = 0; j < w.size(); j += kDepth) {
      float sum = 0;
      for (size_t k = 0; k < kDepth; ++k) sum += x[i + k] * w[j + k];
      y.push_back(sum);
    }
  }
  const auto judged = [&](bool is_kernel) {
    return verdict_on_op(Matmul{false, true}, {a, b}, y, kCoarsest, is_kernel);
  };
  EXPECT_EQ(name(judged(false).verdict), "inconclusive");
  const RegionVerdict right = judged(true);
  EXPECT_EQ(name(right.verdict), "reassociation");
  EXPECT_TRUE(right.probable_sums);
  EXPECT_LT(right.resolution.median, kCoarsest / 4);
  // As large an error as one direction of all roundings gives: not known to be right, but not wrong.
  const double size = 0.005 * std::sqrt(static_cast<double>(kDepth));
  y[7] += static_cast<float>(size);
  EXPECT_EQ(name(judged(true).verdict), "inconclusive");
  EXPECT_FALSE(judged(true).probable_sums);
  y[7] += static_cast<float>(100 * size);
  EXPECT_EQ(name(judged(true).verdict), "defect");
}

// exp(a b^T) v / sum(exp(a b^T)), all of it in f32 but for the operands of products.
TEST(KnownProducts, ValuesThatProductsAloneReadRoundedDecide) {
  constexpr size_t kQueries = 6, kScores = 24, kFeatures = 32;
  Rng random(18);
  const auto data = [&](size_t rows) {
    return make_tensor({Dtype::bf16, {static_cast<int64_t>(rows), kFeatures}},
                       [&](int64_t) { return random.normal(); });
  };
  const std::vector<Tensor> operands = {data(kQueries), data(kScores), data(kScores)};
  const std::vector<float> a = to_f32(operands[0]), b = to_f32(operands[1]), v = to_f32(operands[2]);
  std::vector<float> y;
  for (size_t i = 0; i < kQueries; ++i) {
    std::vector<float> e(kScores, 0);
    float sum = 0;
    for (size_t j = 0; j < kScores; ++j) {
      for (size_t k = 0; k < kFeatures; ++k) e[j] += a[i * kFeatures + k] * b[j * kFeatures + k];
      sum += e[j] = std::exp(e[j]);
    }
    for (size_t k = 0; k < kFeatures; ++k) {
      float product = 0;
      for (size_t j = 0; j < kScores; ++j)
        product +=
            static_cast<float>(round_to(Dtype::bf16, static_cast<double>(e[j]))) * v[j * kFeatures + k];
      y.push_back(product / sum);
    }
  }
  const auto judged = [&] {
    const auto nodes = [](Builder& builder, const std::vector<ValueId>& in) {
      const ValueId s = builder.node(Matmul{false, true}, {in[0], in[1]}, "scores");
      const ValueId e = builder.node(Exp{}, {s}, "exponentials");
      const ValueId sum = builder.node(ReduceSum{{1}, true}, {e}, "sum");
      return builder.node(Div{}, {builder.node(Matmul{}, {e, in[2]}, "product"), sum}, "y");
    };
    return verdict_on_graph(nodes, operands, y, kCoarsest, true, Roundings::any);
  };
  const RegionVerdict right = judged();
  EXPECT_EQ(name(right.verdict), "precision_policy");
  ASSERT_EQ(right.arithmetic.size(), 1u);
  EXPECT_EQ(right.arithmetic[0].name, "rounds_for_products");
  EXPECT_LT(right.resolution.median, kCoarsest / 2);
  y[7] *= 1.02F;  // less than what any rounding may do
  const RegionVerdict undecided = judged();
  EXPECT_EQ(name(undecided.verdict), "inconclusive");
  ASSERT_EQ(undecided.fails_with.size(), 1u);
  EXPECT_EQ(undecided.fails_with[0].declaration, "roundings = \"products\"");
  y[7] *= 3;
  EXPECT_EQ(name(judged().verdict), "defect");
}

// Weights of a backward pass, and heads: what does not round is between a value and the product that reads
// it.
TEST(KnownProducts, ReadRoundedValuesThatWereMoved) {
  constexpr size_t kSize = 8;
  Rng random(31);
  const auto data = [&] {
    return make_tensor({Dtype::bf16, {kSize, kSize}}, [&](int64_t) { return random.normal(); });
  };
  const std::vector<Tensor> operands = {data(), data(), data()};
  const std::vector<float> x = to_f32(operands[0]), w = to_f32(operands[1]), z = to_f32(operands[2]);
  const auto product = [&](const std::vector<float>& a, const std::vector<float>& b) {
    std::vector<float> y(kSize * kSize, 0);
    for (size_t i = 0; i < kSize; ++i)
      for (size_t k = 0; k < kSize; ++k)
        for (size_t j = 0; j < kSize; ++j) y[i * kSize + j] += a[i * kSize + k] * b[k * kSize + j];
    return y;
  };
  const auto computed = [&](bool rounds) {
    const std::vector<float> s = product(x, w);
    std::vector<float> turned(s.size());
    for (size_t i = 0; i < kSize; ++i) {
      for (size_t j = 0; j < kSize; ++j) {
        const float h = s[i * kSize + j] / (1 + std::exp(-s[i * kSize + j]));
        turned[j * kSize + i] =
            rounds ? static_cast<float>(round_to(Dtype::bf16, static_cast<double>(h))) : h;
      }
    }
    return product(turned, z);
  };
  const auto nodes = [](Builder& b, const std::vector<ValueId>& in) {
    const ValueId h = b.node(Silu{}, {b.node(Matmul{}, {in[0], in[1]}, "s")}, "h");
    const ValueId top = b.node(Slice{0, 0, 4}, {h}, "top"), rest = b.node(Slice{0, 4, 8}, {h}, "rest");
    const ValueId whole = b.node(Concat{0}, {top, rest}, "whole");
    return b.node(Matmul{}, {b.node(graph::Permute{{1, 0}}, {whole}, "turned"), in[2]}, "y");
  };
  const auto judged = [&](bool rounds) {
    return verdict_on_graph(nodes, operands, computed(rounds), kInf, true, Roundings::products);
  };
  EXPECT_EQ(name(judged(true).verdict), "reassociation");
  EXPECT_NE(judged(false).symptom, Symptom::none);
}

// As tensor cores of Hopper add products of e4m3: groups of 32 and the accumulator are cut 13 bits below the
// largest exponent among them, and so is their sum. `promote_every`: 0 is never.
float sum_on_hopper(const float* a, const float* b, size_t depth, size_t promote_every) {
  const auto cut = [](double x, int exponent) {
    const double unit = std::ldexp(1, exponent - 13);
    return std::trunc(x / unit) * unit;
  };
  float total = 0;
  double sum = 0;
  for (size_t first = 0; first < depth; first += 32) {
    int largest = sum == 0 ? -200 : std::ilogb(sum);
    for (size_t k = first; k < first + 32; ++k)
      largest = std::max(largest, std::ilogb(a[k]) + std::ilogb(b[k]));
    sum = cut(sum, largest);
    for (size_t k = first; k < first + 32; ++k)
      sum += cut(static_cast<double>(a[k]) * static_cast<double>(b[k]), largest);
    if (sum != 0) sum = cut(sum, std::ilogb(sum));
    if (promote_every == 0 || (first + 32) % promote_every != 0) continue;
    total += static_cast<float>(std::exchange(sum, 0));
  }
  return total + static_cast<float>(sum);
}

// a [rows, K] b [columns, K]^T, of the first `depth` terms.
std::vector<float> product_on_hopper(const Tensor& a, const Tensor& b, size_t depth, size_t promote_every) {
  const std::vector<float> x = to_f32(a), w = to_f32(b);
  const auto width = static_cast<size_t>(a.type.shape[1]);
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); i += width) {
    for (size_t j = 0; j < w.size(); j += width)
      y.push_back(sum_on_hopper(x.data() + i, w.data() + j, depth, promote_every));
  }
  return y;
}

TEST(KnownProducts, AccumulatorsOf8BitFloatsAreNamed) {
  Rng random(13);
  const auto data = [&](Dtype dtype, int64_t rows) {
    return make_tensor({dtype, {rows, 512}},
                       [&](int64_t) { return round_to(Dtype::f8e4m3, 1 + random.uniform()); });
  };
  const Tensor a = data(Dtype::f8e4m3, 6), b = data(Dtype::f8e4m3, 7);
  const Op op = Matmul{false, true};
  std::vector<float> y = product_on_hopper(a, b, 512, 128);
  RegionVerdict verdict = verdict_on_op(op, {a, b}, y, kCoarsest);
  EXPECT_EQ(names(verdict), "accumulator.promoted");
  EXPECT_EQ(name(verdict.verdict), "precision_policy");
  y[17] *= 1.03F;
  EXPECT_EQ(name(verdict_on_op(op, {a, b}, y).verdict), "defect");
  // The last 32 terms are missing.
  EXPECT_EQ(name(verdict_on_op(op, {a, b}, product_on_hopper(a, b, 480, 128)).verdict), "defect");
  verdict = verdict_on_op(Linear{}, {a, b}, product_on_hopper(a, b, 512, 0), kCoarsest);
  EXPECT_EQ(names(verdict), "accumulator.not_promoted");
  EXPECT_NE(name(verdict.verdict), "defect");
  // Products of other dtypes have no such excuse.
  const Tensor wide = data(Dtype::f32, 6), other = data(Dtype::f32, 7);
  EXPECT_EQ(name(verdict_on_op(op, {wide, other}, product_on_hopper(wide, other, 512, 128)).verdict),
            "defect");
}

// The sum is 0 after two groups, and small from there on. Where the second group begins another part, that
// part is large to its end, and cuts all small terms.
TEST(KnownProducts, SplitAccumulatorsAreNamed) {
  Rng random(23);
  const auto data = [&](int64_t rows, double sign) {
    Tensor x(TensorType{Dtype::f8e4m3, {rows, 512}});
    for (int64_t i = 0; i < x.size(); ++i) {
      const bool is_large = i % 512 < 32, repeats = !is_large && i % 512 < 64;
      const double size = is_large ? 1 + random.uniform() : 0.125 * (1 + random.uniform());
      x.set(i, repeats ? sign * x.value(i - 32) : round_to(Dtype::f8e4m3, size));
    }
    return x;
  };
  const Tensor a = data(6, -1), b = data(7, 1);
  const std::vector<float> x = to_f32(a), w = to_f32(b);
  const auto in_two_parts = [&](size_t end) {
    std::vector<float> y;
    for (size_t i = 0; i < x.size(); i += 512) {
      for (size_t j = 0; j < w.size(); j += 512)
        y.push_back(sum_on_hopper(&x[i], &w[j], 32, 0) + sum_on_hopper(&x[i + 32], &w[j + 32], end - 32, 0));
    }
    return y;
  };
  const RegionVerdict verdict = verdict_on_op(Matmul{false, true}, {a, b}, in_two_parts(512), kCoarsest);
  EXPECT_EQ(names(verdict), "accumulator.of_parts");
  EXPECT_NE(name(verdict.verdict), "defect");
  std::vector<float> wrong = in_two_parts(512);
  wrong[3] += 200;  // the second part is missing
  EXPECT_EQ(name(verdict_on_op(Matmul{false, true}, {a, b}, wrong).verdict), "defect");
}

// A graph that dequantizes rows with scales first; the kernel multiplies by the scales last.
TEST(KnownProducts, AccumulatorsOfDequantizedOperandsAreNamed) {
  Rng random(17);
  const auto codes = [&](int64_t rows) {
    return make_tensor({Dtype::f8e4m3, {rows, 512}},
                       [&](int64_t) { return round_to(Dtype::f8e4m3, 100 * (1 + random.uniform())); });
  };
  const auto scales = [&](int64_t rows) {
    return make_tensor({Dtype::f32, {rows, 1}}, [&](int64_t) { return 0.001 * (1 + random.uniform()); });
  };
  const Tensor a = codes(6), b = codes(7), of_a = scales(6), of_b = scales(7);
  const Nodes dequantized_product = [](Builder& builder, const std::vector<ValueId>& in) {
    const auto widened = [&](ValueId code, ValueId scale) {
      return builder.node(Mul{}, {builder.node(Cast{Dtype::f32}, {code}), scale});
    };
    return builder.node(Matmul{false, true}, {widened(in[0], in[2]), widened(in[1], in[3])}, "y");
  };
  std::vector<float> y = product_on_hopper(a, b, 512, 128);
  const std::vector<float> row = to_f32(of_a), column = to_f32(of_b);
  for (size_t i = 0; i < y.size(); ++i) y[i] *= row[i / 7] * column[i % 7];
  const std::vector<Tensor> operands = {a, b, of_a, of_b};
  RegionVerdict verdict = verdict_on_graph(dequantized_product, operands, y, kCoarsest);
  EXPECT_EQ(names(verdict), "dequantized.promoted");
  EXPECT_EQ(verdict.symptom, Symptom::none);
  std::vector<float> wrong = y;
  wrong[17] *= 1.2F;
  EXPECT_EQ(name(verdict_on_graph(dequantized_product, operands, wrong).verdict), "defect");
  wrong = y;
  for (size_t i = 0; i < 7; ++i) wrong[i] *= row[1] / row[0];  // the scale of another row
  EXPECT_EQ(name(verdict_on_graph(dequantized_product, operands, wrong).verdict), "defect");
}

// (x s) t, where x s is exact; the kernel multiplies both scales first.
TEST(KnownProducts, OfSeveralFactorsMayBeTakenInAnyOrder) {
  Rng random(19);
  const TensorType type{Dtype::f32, {40}};
  const Tensor x = make_tensor(type, [&](int64_t) { return static_cast<double>(1 + random.below(30)); });
  const Tensor s =
      make_tensor(type, [&](int64_t) { return static_cast<double>(1 + random.below(3000)) / 4096; });
  const Tensor t = make_tensor(type, [&](int64_t) { return random.uniform(1, 2); });
  const Nodes in_order = [](Builder& builder, const std::vector<ValueId>& in) {
    return builder.node(Mul{}, {builder.node(Mul{}, {in[0], in[1]}), in[2]}, "y");
  };
  const std::vector<float> a = to_f32(x), b = to_f32(s), c = to_f32(t);
  std::vector<float> y;
  for (size_t i = 0; i < a.size(); ++i) y.push_back(a[i] * (b[i] * c[i]));
  RegionVerdict verdict = verdict_on_graph(in_order, {x, s, t}, y);
  EXPECT_EQ(names(verdict), "products_in_any_order");
  EXPECT_EQ(verdict.symptom, Symptom::none);
  y[5] *= 1 + 0x1p-20F;
  EXPECT_EQ(name(verdict_on_graph(in_order, {x, s, t}, y).verdict), "defect");
  // A single product has no other order.
  y.clear();
  for (size_t i = 0; i < a.size(); ++i) y.push_back(a[i] * b[i] * (1 + 0x1p-23F));
  EXPECT_EQ(name(verdict_on_op(Mul{}, {x, s}, y).verdict), "defect");
}

}  // namespace
}  // namespace fusesmith::oracle
