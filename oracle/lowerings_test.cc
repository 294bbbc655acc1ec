// Lowerings: each computes its op with the same types, what it computes passes where the contract names it
// and fails elsewhere, and what neither form gives fails.
#include "oracle/lowerings.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "oracle/region_judge.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

float to_16(float x) { return static_cast<float>(store(Dtype::bf16, x)); }

// A case of one node for each lowering, and its result in f32 with the lowering's inner rounding.
struct Sample {
  std::string lowering;
  Op op;
  std::vector<TensorType> inputs;
  std::vector<float> (*computed)(const std::vector<std::vector<float>>& in);
};

constexpr size_t kRows = 40, kDepth = 6;

std::vector<float> sum_first(const std::vector<std::vector<float>>& in) {  // "ij,ik->i"
  std::vector<float> y;
  for (size_t i = 0; i < kRows; ++i) {
    float left = 0, right = 0;
    for (size_t j = 0; j < kDepth; ++j) left += in[0][i * kDepth + j];
    for (size_t k = 0; k < kDepth; ++k) right += in[1][i * kDepth + k];
    y.push_back(to_16(to_16(left) * to_16(right)));
  }
  return y;
}

// Every partial sum in bf16, in a chain.
std::vector<float> sum_first_narrow(const std::vector<std::vector<float>>& in) {
  std::vector<float> y;
  for (size_t i = 0; i < kRows; ++i) {
    float left = 0, right = 0;
    for (size_t j = 0; j < kDepth; ++j) left = to_16(left + in[0][i * kDepth + j]);
    for (size_t k = 0; k < kDepth; ++k) right = to_16(right + in[1][i * kDepth + k]);
    y.push_back(to_16(left * right));
  }
  return y;
}

std::vector<float> bias_after(const std::vector<std::vector<float>>& in) {
  std::vector<float> y;
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t n = 0; n < 2; ++n) {
      float sum = 0;
      for (size_t k = 0; k < kDepth; ++k) sum += in[0][i * kDepth + k] * in[1][n * kDepth + k];
      y.push_back(to_16(to_16(sum) + in[2][n]));
    }
  }
  return y;
}

std::vector<float> by_reciprocal(const std::vector<std::vector<float>>& in) {
  std::vector<float> y;
  for (size_t i = 0; i < in[0].size(); ++i) y.push_back(to_16(in[0][i] * to_16(1 / in[1][i])));
  return y;
}

std::vector<float> of_root(const std::vector<std::vector<float>>& in) {
  std::vector<float> y;
  for (float x : in[0]) y.push_back(to_16(1 / to_16(std::sqrt(x))));
  return y;
}

std::vector<float> weight_after(const std::vector<std::vector<float>>& in) {
  std::vector<float> y;
  for (size_t i = 0; i < kRows; ++i) {
    float squares = 0;
    for (size_t k = 0; k < kDepth; ++k) squares += in[0][i * kDepth + k] * in[0][i * kDepth + k];
    const float r = 1 / std::sqrt(squares / kDepth + 1e-6F);
    for (size_t k = 0; k < kDepth; ++k) y.push_back(to_16(to_16(in[0][i * kDepth + k] * r) * in[1][k]));
  }
  return y;
}

std::vector<float> of_sigmoid(const std::vector<std::vector<float>>& in) {
  std::vector<float> y;
  for (const float x : in[0]) y.push_back(to_16(x * to_16(1 / (1 + std::exp(-x)))));
  return y;
}

std::vector<float> of_parts(const std::vector<std::vector<float>>& in) {
  std::vector<float> y;
  for (size_t i = 0; i < kRows; ++i) {
    const float* x = &in[0][i * kDepth];
    const float max = *std::max_element(x, x + kDepth);
    float sum = 0;
    for (size_t k = 0; k < kDepth; ++k) sum += to_16(std::exp(to_16(x[k] - max)));
    for (size_t k = 0; k < kDepth; ++k) y.push_back(to_16(to_16(std::exp(to_16(x[k] - max))) / to_16(sum)));
  }
  return y;
}

// Halves of the last axis; cos and sin have a row for each of x.
std::vector<float> turned_by_products(const std::vector<std::vector<float>>& in) {
  constexpr size_t kHalf = kDepth / 2;
  std::vector<float> y(kRows * kDepth);
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t k = 0; k < kHalf; ++k) {
      const float left = in[0][i * kDepth + k], right = in[0][i * kDepth + kHalf + k];
      const float cos = in[1][i * kHalf + k], sin = in[2][i * kHalf + k];
      y[i * kDepth + k] = to_16(to_16(left * cos) - to_16(right * sin));
      y[i * kDepth + kHalf + k] = to_16(to_16(right * cos) + to_16(left * sin));
    }
  }
  return y;
}

constexpr size_t kKeys = 4;

// Attention that rounds q and k times their factors, scores, probabilities and results.
std::vector<float> attention_of(const std::vector<std::vector<float>>& in, float on_q, float on_k) {
  std::vector<float> y;
  for (size_t i = 0; i < kRows; ++i) {
    std::vector<float> p;
    for (size_t s = 0; s < kKeys; ++s) {
      float score = 0;
      for (size_t k = 0; k < kDepth; ++k)
        score += to_16(in[0][i * kDepth + k] * on_q) * to_16(in[1][s * kDepth + k] * on_k);
      p.push_back(to_16(score));
    }
    const float max = *std::max_element(p.begin(), p.end());
    float sum = 0;
    for (float& score : p) score = std::exp(score - max), sum += score;
    for (float& e : p) e = to_16(e / sum);
    for (size_t k = 0; k < kDepth; ++k) {
      float product = 0;
      for (size_t s = 0; s < kKeys; ++s) product += p[s] * in[2][s * kDepth + k];
      y.push_back(to_16(product));
    }
  }
  return y;
}

// With every rounding of the expansion of sdpa with scale_on both.
std::vector<float> scaled_on_both(const std::vector<std::vector<float>>& in) {
  const float root = std::pow(static_cast<float>(kDepth), -0.25F);
  return attention_of(in, root, root);
}

// The same with the whole scale on q.
std::vector<float> scaled_on_q(const std::vector<std::vector<float>>& in) {
  const float scale = 1 / std::sqrt(static_cast<float>(kDepth));
  return attention_of(in, scale, 1);
}

std::vector<float> unnormalised(const std::vector<std::vector<float>>& in) {
  const float scale = 1 / std::sqrt(static_cast<float>(kDepth));
  std::vector<float> y;
  for (size_t i = 0; i < kRows; ++i) {
    std::vector<float> e(kKeys, 0);
    for (size_t s = 0; s < kKeys; ++s) {
      for (size_t k = 0; k < kDepth; ++k) e[s] += in[0][i * kDepth + k] * in[1][s * kDepth + k];
      e[s] *= scale;
    }
    const float max = *std::max_element(e.begin(), e.end());
    float sum = 0;
    for (float& x : e) x = std::exp(x - max), sum += x;
    for (size_t k = 0; k < kDepth; ++k) {
      float product = 0;
      for (size_t s = 0; s < kKeys; ++s) product += to_16(e[s]) * in[2][s * kDepth + k];
      y.push_back(to_16(product / sum));
    }
  }
  return y;
}

std::vector<float> logsumexp_of_parts(const std::vector<std::vector<float>>& in) {
  std::vector<float> y;
  for (size_t i = 0; i < kRows; ++i) {
    const float* x = &in[0][i * kDepth];
    const float max = *std::max_element(x, x + kDepth);
    float sum = 0;
    for (size_t k = 0; k < kDepth; ++k) sum += to_16(std::exp(to_16(x[k] - max)));
    y.push_back(to_16(to_16(std::log(to_16(sum))) + max));
  }
  return y;
}

TensorType bf16(Shape shape) { return {Dtype::bf16, std::move(shape)}; }

// x [10, 4, 6] in groups of 2 channels, as PyTorch's kernel for GPUs normalises it.
std::vector<float> of_rounded_statistics(const std::vector<std::vector<float>>& in) {
  constexpr size_t kGroup = 12, kPlane = 6, kChannels = 4;
  std::vector<float> y;
  for (size_t start = 0; start < in[0].size(); start += kGroup) {
    const float* x = &in[0][start];
    float sum = 0, squares = 0;
    for (size_t i = 0; i < kGroup; ++i) sum += x[i];
    const float mean = sum / kGroup;
    for (size_t i = 0; i < kGroup; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const float m = to_16(mean), r = to_16(1 / std::sqrt(squares / kGroup + 1e-5F));
    for (size_t i = 0; i < kGroup; ++i) {
      const size_t channel = (start + i) / kPlane % kChannels;
      const float scale = r * in[1][channel];
      y.push_back(to_16(x[i] * scale + (in[2][channel] - m * scale)));
    }
  }
  return y;
}

std::vector<Sample> samples() {
  return {{"einsum.sum_first", Einsum{"ij,ik->i"}, {bf16({kRows, kDepth}), bf16({kRows, kDepth})}, sum_first},
          {"einsum.sum_first_in_16_bits",
           Einsum{"ij,ik->i"},
           {bf16({kRows, kDepth}), bf16({kRows, kDepth})},
           sum_first_narrow},
          {"linear.bias_after", Linear{}, {bf16({kRows, kDepth}), bf16({2, kDepth}), bf16({2})}, bias_after},
          {"div.reciprocal", Div{}, {bf16({300}), bf16({300})}, by_reciprocal},
          {"rsqrt.of_root", Rsqrt{}, {bf16({300})}, of_root},
          {"rms_norm.weight_after", RmsNorm{}, {bf16({kRows, kDepth}), bf16({kDepth})}, weight_after},
          {"silu.of_sigmoid", Silu{}, {bf16({300})}, of_sigmoid},
          {"rope.of_products",
           Rope{},
           {bf16({kRows, kDepth}), bf16({kRows, kDepth / 2}), bf16({kRows, kDepth / 2})},
           turned_by_products},
          {"sdpa.scale_on_both",
           Sdpa{},
           {bf16({kRows, kDepth}), bf16({kKeys, kDepth}), bf16({kKeys, kDepth})},
           scaled_on_both},
          {"sdpa.scale_on_q",
           Sdpa{},
           {bf16({kRows, kDepth}), bf16({kKeys, kDepth}), bf16({kKeys, kDepth})},
           scaled_on_q},
          {"sdpa.unnormalised",
           Sdpa{},
           {bf16({kRows, kDepth}), bf16({kKeys, kDepth}), bf16({kKeys, kDepth})},
           unnormalised},
          {"group_norm.of_rounded_statistics",
           GroupNorm{2},
           {bf16({10, 4, 6}), bf16({4}), bf16({4})},
           of_rounded_statistics},
          {"logsumexp.of_parts", LogSumExp{{1}, false}, {bf16({kRows, kDepth})}, logsumexp_of_parts},
          {"softmax.of_parts", Softmax{-1}, {bf16({kRows, kDepth})}, of_parts}};
}

struct OneNode {
  Graph graph;
  Plan plan;
  Trace trace;  // of the lowering

  explicit OneNode(const Sample& sample) {
    Builder b;
    std::vector<ValueId> ids;
    std::vector<std::vector<float>> values;
    Rng rng(11);
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const Tensor x = make_tensor(sample.inputs[i], [&](int64_t) { return std::fabs(rng.normal()) + 0.1; });
      ids.push_back(b.input("x" + std::to_string(i), x.type, Normal{}));
      trace.values.push_back(std::make_shared<Tensor>(x));
      values.push_back(to_f32(x));
    }
    b.output(b.node(sample.op, ids, "y"));
    graph = *b.build();
    const std::vector<float> y = sample.computed(values);
    trace.values.push_back(std::make_shared<Tensor>(from_f32(y, graph.type(graph.outputs()[0]))));
    plan.regions.push_back(make_region(graph, {0}));
  }

  void declare(const std::string& lowering) {
    Deviation d{Deviation::Kind::lower, "y", Dtype::bf16, 0, "", lowering};
    plan.regions[0].contract.deviations.push_back(d);
  }
  RegionVerdict judge() const { return judge_region(graph, plan, 0, trace, {}); }
};

TEST(Lowerings, EachHasASample) {
  std::set<std::string> known, sampled;
  for (const Lowering& lowering : lowerings()) {
    if (!is_formula(lowering) && !lowering.is_uniform) known.insert(lowering.name);
  }
  for (const Sample& sample : samples()) sampled.insert(sample.lowering);
  EXPECT_EQ(known, sampled);
  EXPECT_EQ(find_lowering("einsum.sum_second"), nullptr);
}

TEST(Lowerings, AreInTheTableOfWorkers) {
  std::ifstream file(std::string(FUSESMITH_SOURCE_DIR) + "/docs/workers.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  for (const Lowering& lowering : lowerings()) {
    const std::string row = std::string("| `") + lowering.name + "` | " + lowering.doc + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

TEST(Lowerings, HaveTheTypesOfTheOp) {
  for (const Sample& sample : samples()) {
    const auto graph = find_lowering(sample.lowering)->graph(sample.op, sample.inputs);
    ASSERT_TRUE(graph.has_value()) << sample.lowering;
    EXPECT_EQ(graph->type(graph->outputs()[0]), infer(sample.op, sample.inputs)->at(0)) << sample.lowering;
  }
}

// Constants of a traced backward pass are made of arange, which has no inputs to read.
TEST(Lowerings, DoNotApplyToAnOpWithoutInputs) {
  for (const Lowering& lowering : lowerings())
    EXPECT_FALSE(lowering.graph(graph::Arange{1, 1}, {})) << lowering.name;
}

// Most differ from the op by roundings alone, of which f32 has none.
TEST(Lowerings, DoNotApplyInF32) {
  for (const Sample& sample : samples()) {
    if (sample.lowering == "sdpa.scale_on_both") continue;
    Types types = sample.inputs;
    for (TensorType& type : types) type.dtype = Dtype::f32;
    EXPECT_FALSE(find_lowering(sample.lowering)->graph(sample.op, types)) << sample.lowering;
  }
}

TEST(Lowerings, PassWhereTheContractNamesThem) {
  for (const Sample& sample : samples()) {
    OneNode node(sample);
    EXPECT_EQ(name(node.judge().verdict), "defect") << sample.lowering;
    node.declare(sample.lowering);
    const RegionVerdict verdict = node.judge();
    EXPECT_EQ(name(verdict.verdict), "precision_policy") << sample.lowering;
    EXPECT_TRUE(verdict.declared);
    ASSERT_EQ(verdict.deviations.size(), 1u);
    EXPECT_EQ(to_string(verdict.deviations[0]), "lower y as " + sample.lowering);
  }
}

// A kernel of others whose contract does not name them; and with an element that neither form gives.
TEST(Lowerings, AreNamedWhereTheContractDoesNot) {
  for (const Sample& sample : samples()) {
    OneNode node(sample);
    const bool customary = *find_lowering(sample.lowering)->who != 0;
    RegionJudgeOptions options;
    options.foreign = true;
    RegionVerdict verdict = judge_region(node.graph, node.plan, 0, node.trace, options);
    EXPECT_EQ(name(verdict.verdict), customary ? "precision_policy" : "defect") << sample.lowering;
    ASSERT_EQ(verdict.arithmetic.size(), 1u) << sample.lowering;
    // The wider contract of FlashAttention suffices, too, and comes first.
    const bool is_wider = sample.lowering == "sdpa.unnormalised";
    EXPECT_EQ(verdict.arithmetic[0].name, is_wider ? "attention.online" : sample.lowering);
    if (is_wider) {
      ASSERT_FALSE(verdict.alternatives.empty());
      EXPECT_EQ(verdict.alternatives[0].name, sample.lowering);
    }
    EXPECT_EQ(verdict.arithmetic[0].customary, customary);
    EXPECT_EQ(verdict.symptom == Symptom::none, customary);

    options.strict_policy = true;
    verdict = judge_region(node.graph, node.plan, 0, node.trace, options);
    EXPECT_EQ(verdict.symptom, customary ? Symptom::declared_rounding : Symptom::out_of_bounds);
    EXPECT_GT(verdict.outside, 0);

    auto wrong = std::make_shared<Tensor>(*node.trace.values.back());
    wrong->set(7, to_f64(*wrong)[7] * 1.5);
    node.trace.values.back() = wrong;
    verdict = judge_region(node.graph, node.plan, 0, node.trace, options);
    EXPECT_EQ(name(verdict.verdict), "defect") << sample.lowering;
    EXPECT_TRUE(verdict.unexplained) << sample.lowering;
  }
}

// Whole results: what mixes the largest number and NaN is wrong, as is any other number.
TEST(Lowerings, CastsSaturateAllElementsOrNone) {
  for (const Dtype dtype : {Dtype::f8e4m3, Dtype::f8e5m2}) {
    Builder b;
    b.output(b.node(graph::Cast{dtype}, {b.input("x", {Dtype::f32, {5}}, Normal{})}, "y"));
    const Graph graph = *b.build();
    const Plan plan{{make_region(graph, {0})}, {}};
    const auto infinity = static_cast<float>(kInf), nan = static_cast<float>(kNan);
    const std::vector<float> x = {1e5F, -1e6F, 3, infinity, nan};
    const auto judged = [&](const std::vector<float>& y, bool is_kernel = true) {
      Trace trace;
      trace.values = {std::make_shared<Tensor>(from_f32(x, {Dtype::f32, {5}})),
                      std::make_shared<Tensor>(from_f32(y, {dtype, {5}}))};
      RegionJudgeOptions options;
      options.foreign = true;
      options.is_kernel = is_kernel;
      return judge_region(graph, plan, 0, trace, options);
    };
    const auto most = static_cast<float>(max_finite(dtype));
    const float other = dtype == Dtype::f8e4m3 ? nan : infinity;
    EXPECT_EQ(judged({other, -other, 3, other, nan}).verdict, VerdictClass::reassociation);
    const RegionVerdict saturated = judged({most, -most, 3, most, nan});
    EXPECT_EQ(saturated.verdict, VerdictClass::precision_policy);
    ASSERT_EQ(saturated.arithmetic.size(), 1u);
    EXPECT_EQ(saturated.arithmetic[0].name, "cast.saturating");
    // A worker is given a graph that says otherwise.
    const RegionVerdict of_worker = judged({most, -most, 3, most, nan}, false);
    EXPECT_EQ(of_worker.verdict, VerdictClass::exceptional);
    ASSERT_EQ(of_worker.arithmetic.size(), 1u);
    EXPECT_EQ(of_worker.arithmetic[0].name, "cast.saturating");
    EXPECT_EQ(judged({most, -other, 3, most, nan}).verdict, VerdictClass::exceptional);
    EXPECT_EQ(judged({most, -most, 3, most, most}).verdict, VerdictClass::exceptional);
    EXPECT_EQ(judged({most, -most, 2, most, nan}).verdict, VerdictClass::defect);
  }
}

// One element that neither form gives.
TEST(Lowerings, DoNotHideAWrongElement) {
  for (const Sample& sample : samples()) {
    OneNode node(sample);
    node.declare(sample.lowering);
    auto wrong = std::make_shared<Tensor>(*node.trace.values.back());
    // Of 16-bit partial sums, only a larger error is wrong in every order; and of exponentials of rounded
    // numbers.
    const bool wide = find_lowering(sample.lowering)->narrow_sums || sample.lowering == "softmax.of_parts";
    const double factor = wide ? 1.25 : 1.03125;
    wrong->set(7, to_f64(*wrong)[7] * factor);
    node.trace.values.back() = wrong;
    const RegionVerdict verdict = node.judge();
    EXPECT_EQ(name(verdict.verdict), "defect") << sample.lowering;
    EXPECT_EQ(verdict.worst.element, 7) << sample.lowering;
  }
}

// Some elements by the lowering, some by the op, as by a vector loop and its tail.
TEST(Lowerings, MayDifferByElement) {
  for (const Sample& sample : samples()) {
    if (info(sample.op).op_class == OpClass::composite) continue;  // has no reference of its own
    OneNode node(sample);
    const Bounded exact = evaluate_op(sample.op, [&] {
      std::vector<Bounded> inputs;
      for (size_t i = 0; i < sample.inputs.size(); ++i) inputs.emplace_back(*node.trace.values[i]);
      return inputs;
    }());
    auto mixed = std::make_shared<Tensor>(*node.trace.values.back());
    for (int64_t i = 0; i < mixed->size(); i += 2) mixed->set(i, exact.v[static_cast<size_t>(i)]);
    node.trace.values.back() = mixed;
    EXPECT_EQ(name(node.judge().verdict), "defect") << sample.lowering;
    node.declare(sample.lowering);
    const RegionVerdict verdict = node.judge();
    EXPECT_EQ(name(verdict.verdict), "precision_policy") << sample.lowering;
    EXPECT_TRUE(verdict.declared);
    ASSERT_EQ(verdict.deviations.size(), 1u);
    const std::string text = to_string(verdict.deviations[0]);
    EXPECT_TRUE(text.ends_with("lower y as " + sample.lowering)) << text;
  }
}

// Some elements by the lowering, the others by the op with a rounding inside of it.
TEST(Lowerings, MayStandBesideRoundingsInsideOfTheOp) {
  const Sample sample = samples()[3];
  ASSERT_EQ(sample.lowering, "div.reciprocal");
  OneNode node(sample);
  const std::vector<double> x = to_f64(*node.trace.values[0]), y = to_f64(*node.trace.values[1]);
  auto mixed = std::make_shared<Tensor>(*node.trace.values.back());
  for (size_t i = 0; i < x.size(); i += 2) mixed->set(static_cast<int64_t>(i), x[i] / y[i] * (1 + 0x1p-8));
  node.trace.values.back() = mixed;
  node.declare(sample.lowering);
  EXPECT_EQ(name(node.judge().verdict), "defect");
  Deviation inside{Deviation::Kind::add, std::string("y") + kInner, Dtype::bf16, 0x1p-7, "", ""};
  node.plan.regions[0].contract.deviations.push_back(inside);
  EXPECT_EQ(name(node.judge().verdict), "precision_policy");
}

TEST(Lowerings, NothingToSumFirst) {
  const Types types = {bf16({4, 4}), bf16({4, 4})};
  const Lowering* lowering = find_lowering("einsum.sum_first");
  EXPECT_FALSE(lowering->graph(Einsum{"ij,jk->ik"}, types));
  EXPECT_FALSE(lowering->graph(Einsum{"ii,ij->j"}, types));  // the diagonal is not summed
  EXPECT_TRUE(lowering->graph(Einsum{"ij,ik->k"}, types));
  EXPECT_TRUE(lowering->graph(Einsum{"ij,kl->ij"}, types));  // a whole operand is summed
}

}  // namespace
}  // namespace fusesmith::oracle
