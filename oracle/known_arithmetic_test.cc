// Kernels of others that compute otherwise than their contracts say: what the judge says that they do.
#include <gtest/gtest.h>

#include <bit>

#include "oracle/explain_by_arithmetic.h"
#include "oracle/region_judge.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

// One node on these operands, which a kernel of others computed as `y`.
RegionVerdict verdict_on(const Op& op, const std::vector<Tensor>& operands, const std::vector<float>& y,
                         const Contract& contract = {}, double coarsest = kInf) {
  Builder b;
  std::vector<ValueId> inputs;
  Trace trace;
  for (const Tensor& operand : operands) {
    const bool is_mask = operand.type.dtype == Dtype::boolean;
    const Fill fill = is_mask ? Fill(Bernoulli{}) : Fill(Normal{});
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), operand.type, fill));
    trace.values.push_back(std::make_shared<Tensor>(operand));
  }
  b.output(b.node(op, inputs, "y"));
  const Graph graph = *b.build();
  trace.values.push_back(std::make_shared<Tensor>(from_f32(y, graph.type(graph.outputs()[0]))));
  Plan plan;
  plan.regions = {make_region(graph, {0})};
  plan.regions[0].contract = contract;
  RegionJudgeOptions options;
  options.foreign = true;
  options.coarsest = coarsest;
  return judge_region(graph, plan, 0, trace, options);
}

constexpr int64_t kRows = 6, kWidth = 64;

Tensor normal_data(Dtype dtype, double mean, uint64_t seed = 3) {
  Rng random(seed);
  return make_tensor({dtype, {kRows, kWidth}}, [&](int64_t) { return mean + random.normal(); });
}

struct Row {
  double mean = 0, variance = 0;
};

// In f32, from the sums of x and of its squares.
Row moments_of(const float* x) {
  float sum = 0, squares = 0;
  for (int64_t i = 0; i < kWidth; ++i) sum += x[i], squares += x[i] * x[i];
  const float mean = sum / kWidth;
  return {mean, squares / kWidth - mean * mean};
}

// `factor` stands for a mistake.
std::vector<float> layer_norm_by_moments(const Tensor& x, double factor = 1) {
  const std::vector<float> values = to_f32(x);
  std::vector<float> y;
  for (int64_t r = 0; r < kRows; ++r) {
    const Row row = moments_of(values.data() + r * kWidth);
    const auto scale = static_cast<float>(1 / std::sqrt(row.variance * factor + 1e-5));
    for (int64_t i = 0; i < kWidth; ++i)
      y.push_back((values[static_cast<size_t>(r * kWidth + i)] - static_cast<float>(row.mean)) * scale);
  }
  return y;
}

// Its errors are as small as those of a running variance, which is tried first.
TEST(KnownArithmetic, AVarianceOfOnePassIsNamed) {
  const Tensor x = normal_data(Dtype::f32, 12);
  RegionVerdict verdict = verdict_on(LayerNorm{1e-5}, {x}, layer_norm_by_moments(x));
  EXPECT_EQ(name(verdict.verdict), "precision_policy");
  EXPECT_EQ(names(verdict), "variance.welford");
  EXPECT_EQ(verdict.symptom, Symptom::none);
  // The unbiased variance is not excused.
  verdict = verdict_on(LayerNorm{1e-5}, {x}, layer_norm_by_moments(x, kWidth / (kWidth - 1.0)));
  EXPECT_EQ(name(verdict.verdict), "defect");
  EXPECT_TRUE(verdict.unexplained) << names(verdict);
}

// The bounds of moments say little of rows whose mean is large: they explain, and excuse nothing.
TEST(KnownArithmetic, ABoundThatSaysLittleIsNoExcuse) {
  const Tensor x = normal_data(Dtype::f32, 3000);
  const RegionVerdict verdict = verdict_on(LayerNorm{1e-5}, {x}, layer_norm_by_moments(x));
  EXPECT_EQ(name(verdict.verdict), "defect");
  EXPECT_EQ(names(verdict).rfind("variance.", 0), 0u) << names(verdict);
}

TEST(KnownArithmetic, AnExpByBase2IsNamed) {
  const Tensor x =
      make_tensor({Dtype::f32, {400}}, [](int64_t i) { return -80 + 0.4 * static_cast<double>(i); });
  std::vector<float> y;
  for (const float value : to_f32(x)) y.push_back(std::exp2(value * 1.442695040888963F));
  RegionVerdict verdict = verdict_on(Exp{}, {x}, y);
  EXPECT_EQ(name(verdict.verdict), "precision_policy");
  EXPECT_EQ(names(verdict), "exp.base_2");
  y[250] *= 1 + 60 * static_cast<float>(kU);  // at 20: more than 1.5 |x| + 4
  verdict = verdict_on(Exp{}, {x}, y);
  EXPECT_EQ(name(verdict.verdict), "defect");
}

TEST(KnownArithmetic, TheLeastErrorOfAFunctionIsNamed) {
  const Tensor x = normal_data(Dtype::f32, 0);
  std::vector<float> y;
  for (const float value : to_f32(x))
    y.push_back(static_cast<float>(std::exp(double{value}) * (1 + 30 * kU)));
  const RegionVerdict verdict = verdict_on(Exp{}, {x}, y);
  EXPECT_EQ(name(verdict.verdict), "defect");
  ASSERT_EQ(names(verdict), "exp");
  EXPECT_FALSE(verdict.arithmetic[0].customary);
  const std::string& declaration = verdict.arithmetic[0].declaration;
  EXPECT_TRUE(declaration.starts_with("arithmetic = {\"exp\": 3")) << declaration;
}

TEST(KnownArithmetic, NothingIsNamedOfAnotherFunction) {
  const Tensor x = normal_data(Dtype::f32, 0);
  std::vector<float> y;
  for (const float value : to_f32(x)) y.push_back(std::exp(value) + 0.01F);
  const RegionVerdict verdict = verdict_on(Exp{}, {x}, y);
  EXPECT_EQ(name(verdict.verdict), "defect");
  EXPECT_EQ(names(verdict), "");
  EXPECT_TRUE(verdict.unexplained);
}

TEST(KnownArithmetic, EveryOneHasItsOwnNameAndADeclaration) {
  std::set<std::string> names;
  for (const KnownArithmetic& one : known_arithmetics()) {
    EXPECT_TRUE(names.insert(one.diagnosis.name).second) << one.diagnosis.name;
    EXPECT_FALSE(one.diagnosis.says.empty());
    // What the graph says needs none.
    EXPECT_EQ(one.diagnosis.declaration.find(" = ") != std::string::npos, !one.is_plain)
        << one.diagnosis.name;
  }
}

std::vector<float> gelu_with_erf_off_by(const Tensor& x, double units) {
  std::vector<float> y;
  for (const float value : to_f32(x)) {
    const double v = static_cast<double>(value);
    y.push_back(static_cast<float>(0.5 * v * (1 + std::erf(v / std::sqrt(2.0)) + units * 0x1p-24)));
  }
  return y;
}

TEST(KnownArithmetic, AnErfWithAnAbsoluteErrorIsNamed) {
  const Tensor x = normal_data(Dtype::f32, 0);
  const RegionVerdict verdict = verdict_on(Gelu{}, {x}, gelu_with_erf_off_by(x, 7));
  EXPECT_EQ(names(verdict), "erf.absolute");
  EXPECT_EQ(name(verdict.verdict), "precision_policy");
  EXPECT_EQ(name(verdict_on(Gelu{}, {x}, gelu_with_erf_off_by(x, 12)).verdict), "defect");
}

// Zeros in place of gelu where it is larger than the error of such an erf.
TEST(KnownArithmetic, AnAbsoluteErrorOfErfExcusesNoZeros) {
  const auto below = [](int64_t i) { return -4.5 - 1e-3 * static_cast<double>(i); };
  const Tensor x = make_tensor({Dtype::f32, {kRows, kWidth}}, below);
  const RegionVerdict verdict = verdict_on(Gelu{}, {x}, std::vector<float>(kRows * kWidth, 0));
  EXPECT_EQ(name(verdict.verdict), "defect");
  EXPECT_TRUE(verdict.arithmetic.empty() || !verdict.arithmetic[0].customary);
}

// Scores of -inf alone: PyTorch's attention gives 0.
TEST(KnownArithmetic, AttentionWithoutAFiniteScoreMayBeZero) {
  const Tensor q = make_tensor({Dtype::f32, {1, 1}}, {1.0});
  const Tensor k = make_tensor({Dtype::f32, {2, 1}}, {-INFINITY, -INFINITY}),
               v = make_tensor({Dtype::f32, {2, 1}}, {3, 4});
  const RegionVerdict verdict = verdict_on(Sdpa{}, {q, k, v}, {0});
  EXPECT_EQ(names(verdict), "empty_rows_are_zero");
  EXPECT_NE(name(verdict.verdict), "exceptional");
  EXPECT_EQ(name(verdict_on(Sdpa{}, {q, k, v}, {0.5F}).verdict), "exceptional");
}

// A tile of keys that a causal mask hides is skipped, with the infinity in v: NaN by definition.
TEST(KnownArithmetic, AHiddenKeyMayBeLeftOut) {
  Sdpa causal;
  causal.mask = Sdpa::Mask::causal;
  const Tensor q = make_tensor({Dtype::f32, {2, 1}}, {1, 1}), k = make_tensor({Dtype::f32, {2, 1}}, {1, 2});
  const Tensor v = make_tensor({Dtype::f32, {2, 2}}, {3, 4, INFINITY, 5});
  const float second = 4 / (1 + std::exp(1.0F)) + 5 / (1 + std::exp(-1.0F));
  const RegionVerdict verdict = verdict_on(causal, {q, k, v}, {3, 4, INFINITY, second});
  EXPECT_EQ(names(verdict), "hidden_keys_left_out");
  EXPECT_EQ(name(verdict.verdict), "inconclusive");
  EXPECT_EQ(names(verdict_on(causal, {q, k, v}, {NAN, 4, INFINITY, second})), "");
  // A key may be left out only where it is hidden.
  EXPECT_EQ(name(verdict_on(causal, {q, k, v}, {3, 4, INFINITY, 4}).verdict), "defect");
}

// A score that is NaN is none that a mask hides.
TEST(KnownArithmetic, NoFactorOfAScoreMayBeLeftOut) {
  const Tensor q = make_tensor({Dtype::f32, {1, 1}}, {0.0}),
               k = make_tensor({Dtype::f32, {2, 1}}, {INFINITY, 1});
  const Tensor v = make_tensor({Dtype::f32, {2, 1}}, {3, 4});
  EXPECT_EQ(name(verdict_on(Sdpa{}, {q, k, v}, {4}).verdict), "exceptional");
}

std::vector<float> tanh_by_sigmoid(const Tensor& x, float factor = 2) {
  std::vector<float> y;
  for (const float value : to_f32(x)) y.push_back(factor / (1 + std::exp(-2 * value)) - 1);
  return y;
}

TEST(KnownArithmetic, ATanhByASigmoidIsNamed) {
  const Tensor x = make_tensor({Dtype::f32, {400}}, [](int64_t i) { return -0.2 + 1e-3 * (i + 0.5); });
  const RegionVerdict verdict = verdict_on(Tanh{}, {x}, tanh_by_sigmoid(x));
  EXPECT_EQ(names(verdict), "tanh.absolute");
  EXPECT_EQ(name(verdict.verdict), "precision_policy");
  EXPECT_EQ(name(verdict_on(Tanh{}, {x}, tanh_by_sigmoid(x, 2.00001F)).verdict), "defect");
}

// In bf16, of NaN in place of one result and roundings that are customary: the NaN is what nothing explains.
TEST(KnownArithmetic, TheElementShownIsOneThatNothingExplains) {
  const Tensor x = normal_data(Dtype::bf16, 0);
  std::vector<float> y;
  for (const float value : to_f32(x)) {
    const double s = store(Dtype::bf16, 1 / (1 + std::exp(-static_cast<double>(value))));
    y.push_back(value * static_cast<float>(s));
  }
  EXPECT_EQ(names(verdict_on(Silu{}, {x}, y)), "silu.of_sigmoid");
  y[77] = NAN;
  const RegionVerdict verdict = verdict_on(Silu{}, {x}, y);
  EXPECT_EQ(name(verdict.verdict), "exceptional");
  EXPECT_EQ(verdict.worst.element, 77);
  EXPECT_EQ(verdict.outside, 1);
  EXPECT_TRUE(verdict.unexplained);
}

TEST(KnownArithmetic, ASigmoidByTanhIsNamed) {
  const Tensor x = make_tensor({Dtype::f32, {400}}, [](int64_t i) { return -6 + 0.02 * (i + 0.5); });
  std::vector<float> y;
  for (const float value : to_f32(x)) y.push_back(0.5F + 0.5F * std::tanh(0.5F * value));
  EXPECT_EQ(names(verdict_on(Sigmoid{}, {x}, y)), "sigmoid.absolute");
  y[3] += 8 * static_cast<float>(kU);
  EXPECT_EQ(name(verdict_on(Sigmoid{}, {x}, y).verdict), "defect");
}

TEST(KnownArithmetic, AProductOfTwoFactorsMayBeFlushedBeforeTheThird) {
  const Tensor dy = make_tensor({Dtype::f32, {2}}, {1.58e-38, INFINITY}),
               x = make_tensor({Dtype::f32, {2}}, {1.0, -87.5});
  EXPECT_EQ(names(verdict_on(SiluBackward{}, {dy, x}, {0, NAN})),
            "flushes_subnormals");  // dy sigmoid(x) is 0
  EXPECT_EQ(name(verdict_on(SiluBackward{}, {dy, x}, {1e-36F, -INFINITY}).verdict), "defect");
}

TEST(KnownArithmetic, ALogsumexpOfLargeScoresExcusesNoNan) {
  const Tensor x = make_tensor({Dtype::f32, {4}}, {1e12, 0.0, 0.0, 0.0});
  const RegionVerdict verdict = verdict_on(Softmax{-1}, {x}, {NAN, 0, 0, 0});
  EXPECT_EQ(name(verdict.verdict), "exceptional");
  EXPECT_TRUE(verdict.arithmetic.empty());
}

TEST(KnownArithmetic, ARunningMeanIsNamed) {
  const Tensor x = make_tensor({Dtype::f32, {64}}, [](int64_t i) { return i == 0 ? 1.0 : 0.0; });
  float mean = 0;
  for (int k = 0; k < 64; ++k) mean += (to_f32(x)[static_cast<size_t>(k)] - mean) / static_cast<float>(k + 1);
  ASSERT_NE(mean, 1.0F / 64);
  EXPECT_EQ(names(verdict_on(ReduceMean{{0}, false}, {x}, {mean})), "running_means");
  EXPECT_EQ(name(verdict_on(ReduceMean{{0}, false}, {x}, {mean * 1.001F}).verdict), "defect");
}

TEST(KnownArithmetic, TheSignOfAZeroMayBeLostBeforeAQuotient) {
  const Tensor x = make_tensor({Dtype::f32, {3}}, {-0.0, 0.0, 4.0});
  const RegionVerdict verdict = verdict_on(Rsqrt{}, {x}, {INFINITY, INFINITY, 0.5F});
  EXPECT_EQ(names(verdict), "zero_signs_lost");
  EXPECT_EQ(name(verdict.verdict), "precision_policy");
  EXPECT_EQ(name(verdict_on(Rsqrt{}, {x}, {INFINITY, INFINITY, 0.6F}).verdict), "defect");
  for (const float wrong : {0.0F, 5.0F, std::nanf("")}) {  // but it is an infinity
    EXPECT_EQ(name(verdict_on(Rsqrt{}, {x}, {INFINITY, wrong, 0.5F}).verdict), "exceptional") << wrong;
  }
}

TEST(KnownArithmetic, ALogSumExpOfPartsIsNamed) {
  const Tensor x = normal_data(Dtype::f32, -1000);
  const std::vector<float> values = to_f32(x);
  const auto merged = [&](float off) {
    std::vector<float> y;
    for (int64_t r = 0; r < kRows; ++r) {
      float whole = -INFINITY;
      for (int64_t i = 0; i < kWidth; ++i) {
        const float next = values[static_cast<size_t>(r * kWidth + i)], top = std::max(whole, next);
        whole = top + std::log(std::exp(whole - top) + std::exp(next - top));
      }
      y.push_back(whole + off);
    }
    return verdict_on(LogSumExp{{-1}, false}, {x}, y);
  };
  EXPECT_EQ(names(merged(0)), "logsumexp.merged");
  EXPECT_EQ(name(merged(0).verdict), "precision_policy");
  EXPECT_EQ(name(merged(0.02F).verdict), "defect");
}

// Two ways that exclude one another are not tried together, so that each is found with a third.
TEST(KnownArithmetic, SeveralAreNamedTogether) {
  const Tensor q = make_tensor({Dtype::bf16, {2, 3}}, {0.3, -0.7, 1.1, 0, 0, 0}),
               k = make_tensor({Dtype::bf16, {2, 3}}, {0.9, 0.2, -0.4, 0.6, -1.3, 0.8}),
               v = make_tensor({Dtype::bf16, {2, 1}}, {3, 4});
  Sdpa masked;
  masked.mask = Sdpa::Mask::boolean;
  const Tensor mask = make_tensor({Dtype::boolean, {2, 2}}, {1, 1, 0, 0});
  const auto to_16 = [](double x) { return store(Dtype::bf16, x); };
  double scores[2] = {};
  for (size_t s = 0; s < 2; ++s) {
    for (size_t i = 0; i < 3; ++i) scores[s] += to_f64(q)[i] * to_f64(k)[s * 3 + i] / std::sqrt(3.0);
  }
  const double top = std::max(scores[0], scores[1]);
  double e[2] = {std::exp(scores[0] - top), std::exp(scores[1] - top)};
  const double sum = e[0] + e[1];
  const double y = (to_16(e[0]) * 3 + to_16(e[1]) * 4) / sum;
  const RegionVerdict verdict = verdict_on(masked, {q, k, v, mask}, {static_cast<float>(y), 0});
  EXPECT_NE(names(verdict).find("empty_rows_are_zero"), std::string::npos) << names(verdict);
  EXPECT_EQ(name(verdict.verdict), "precision_policy");
}

// The product is rounded before the bias is added, and an infinity meets a subnormal that is flushed.
TEST(KnownArithmetic, ARoundingBesideAFlushedFactor) {
  const Tensor x = make_tensor({Dtype::bf16, {2, 2}}, {1, 1.0078125, kInf, 0.5}),
               w = make_tensor({Dtype::bf16, {1, 2}}, {0x1p-130, 1.0078125}),
               b = make_tensor({Dtype::bf16, {1}}, {127 * 0x1p-15});
  const RegionVerdict verdict = verdict_on(Linear{}, {x, w, b}, {1.015625F, std::nanf("")});
  EXPECT_EQ(names(verdict), "flushes_subnormals linear.bias_after");
  EXPECT_EQ(name(verdict.verdict), "inconclusive") << "nothing is known of the second row";
  EXPECT_TRUE(names(verdict_on(Linear{}, {x, w, b}, {1.03125F, std::nanf("")})).empty());
}

TEST(KnownArithmetic, PartialSumsIn16BitsAreALoss) {
  const Tensor x = normal_data(Dtype::f16, 3);
  std::vector<float> y;
  const std::vector<float> values = to_f32(x);
  for (int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (int64_t i = 0; i < kWidth; ++i)
      sum = store(Dtype::f16, sum + static_cast<double>(values[static_cast<size_t>(r * kWidth + i)]));
    y.push_back(static_cast<float>(sum));
  }
  const RegionVerdict verdict = verdict_on(ReduceSum{{-1}, false}, {x}, y);
  EXPECT_EQ(name(verdict.verdict), "defect");
  EXPECT_EQ(names(verdict), "partial_sums_in_f16");
}

// In f32 nothing is rounded inside of attention, so that its rounding excuses nothing.
TEST(KnownArithmetic, AttentionInF32IsNotNamedOnline) {
  const Tensor q = make_tensor({Dtype::f32, {1, 2}}, {0.3, 0.7}),
               v = make_tensor({Dtype::f32, {2, 1}}, {3, 4});
  const Tensor k = make_tensor({Dtype::f32, {2, 2}}, {0.1, 0.2, 0.5, 0.9});
  const RegionVerdict verdict = verdict_on(Sdpa{}, {q, k, v}, {3.61F});
  EXPECT_EQ(names(verdict).find("online"), std::string::npos) << names(verdict);
  EXPECT_EQ(name(verdict.verdict), "defect");
}

TEST(KnownArithmetic, ARoundingInsideIsDeclaredForTheOp) {
  const Tensor x = normal_data(Dtype::bf16, 0);
  std::vector<float> y;
  for (const float value : to_f32(x)) {
    const float rounded =
        static_cast<float>(store(Dtype::bf16, std::tanh(static_cast<double>(value) * 0.7978845608)));
    y.push_back(0.5F * value * (1 + rounded));
  }
  const RegionVerdict verdict = verdict_on(Gelu{Gelu::Form::tanh}, {x}, y);
  for (const Diagnosis& one : verdict.arithmetic)
    EXPECT_EQ(one.declaration.find("OP"), std::string::npos) << one.declaration;
}

// In f32, with 2^y in place of exp; `wrong`: a factor of the first score.
std::vector<float> softmax_of_scaled(const Tensor& x, float wrong = 1) {
  const std::vector<float> values = to_f32(x);
  constexpr float kLog2E = 1.44269504F;
  std::vector<float> y;
  for (int64_t r = 0; r < kRows; ++r) {
    std::vector<float> scaled;
    for (int64_t i = 0; i < kWidth; ++i)
      scaled.push_back(values[static_cast<size_t>(r * kWidth + i)] * kLog2E * (i == 0 ? wrong : 1));
    const float max = *std::max_element(scaled.begin(), scaled.end());
    float sum = 0;
    for (float& score : scaled) score = std::exp2(score - max), sum += score;
    for (const float e : scaled) y.push_back(e / sum);
  }
  return y;
}

TEST(KnownArithmetic, ScoresInBase2AreNamed) {
  const Tensor x = normal_data(Dtype::f32, 1000);
  const RegionVerdict verdict = verdict_on(Softmax{}, {x}, softmax_of_scaled(x));
  EXPECT_EQ(name(verdict.verdict), "precision_policy");
  EXPECT_EQ(names(verdict), "softmax.scores_in_base_2");
  EXPECT_EQ(name(verdict_on(Softmax{}, {x}, softmax_of_scaled(x, 1.00001F)).verdict), "defect");
}

// A product of f32 operands, each read by `read`.
std::vector<float> product_of(const Tensor& a, const Tensor& b, float (*read)(float)) {
  const std::vector<float> x = to_f32(a), w = to_f32(b);
  const auto depth = static_cast<size_t>(a.type.shape[1]);
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); i += depth) {
    for (size_t j = 0; j < w.size(); j += depth) {
      float sum = 0;
      for (size_t k = 0; k < depth; ++k) sum += read(x[i + k]) * read(w[j + k]);
      y.push_back(sum);
    }
  }
  return y;
}

// If tf32 is declared, long sums have bounds that are too wide to tell; the way that operands are read is
// found.
TEST(KnownArithmetic, TheWayOfTf32IsNamed) {
  Rng random(11);
  const Tensor a = make_tensor({Dtype::f32, {6, 256}}, [&](int64_t) { return random.normal(); }),
               b = make_tensor({Dtype::f32, {7, 256}}, [&](int64_t) { return random.normal(); });
  Contract contract;
  contract.arithmetic.tf32 = true;
  const auto verdict_of = [&](float (*read)(float)) {
    return verdict_on(Matmul{false, true}, {a, b}, product_of(a, b, read), contract, kCoarsest);
  };
  const auto truncated = [](float x) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffffe000U);
  };
  const auto nearest = [](float x) {
    return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000U) & 0xffffe000U);
  };
  EXPECT_EQ(names(verdict_of(truncated)), "tf32.truncated");
  EXPECT_EQ(names(verdict_of(nearest)), "tf32.nearest");
  EXPECT_EQ(name(verdict_of(truncated).verdict), "precision_policy");
  const auto too_large = [](float x) { return x * 1.002F; };
  EXPECT_EQ(name(verdict_of(too_large).verdict), "inconclusive");
}

// What narrows a contract may not take part in an excuse: it would take away what is declared.
TEST(KnownArithmetic, NoExcuseTakesTf32Away) {
  Builder b;
  const TensorType type{Dtype::f32, {4, 4}};
  b.output(b.node(Matmul{}, {b.input("a", type, Normal{}), b.input("b", type, Normal{})}, "y"));
  const Graph graph = *b.build();
  Region region = make_region(graph, {0});
  region.contract.arithmetic.tf32 = true;
  int asked = 0;
  explain_by_arithmetic(graph, region, {.all = true}, [&](const Contract& contract, bool) {
    ++asked;
    EXPECT_TRUE(contract.arithmetic.tf32);
    return Within::no;
  });
  EXPECT_GT(asked, 3);
}

}  // namespace
}  // namespace fusesmith::oracle
