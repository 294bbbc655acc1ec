// Other formulas of the ops that formulas define: what they compute is called wrong where terms of one
// formula cancel exactly and those of the other do not, and passes where the contract names the lowering, or
// code of others is judged.
#include <gtest/gtest.h>

#include "oracle/lowerings.h"
#include "oracle/region_judge.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

constexpr size_t kRowCount = 16;
using Rows = std::vector<float>;
using Results = std::vector<Rows>;

struct Form {
  const char* lowering;
  Op op;
  size_t width;     // of the operands [kRowCount, width] and [width]
  size_t operands;  // two of [kRowCount, width], then [width]
  Dtype dtype;
  double (*draw)(Rng& random);                    // an element
  Results (*computed)(const std::vector<Rows>&);  // in f32
  double shift = 0;                               // of the elements of the second operand
};

template <class Term>
float sum_of(size_t count, Term term) {
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += term(i);
  return sum;
}

size_t width_of(const std::vector<Rows>& in) { return in[0].size() / kRowCount; }

Results rms_of_normalised(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  Rows dx, dw(width, 0);
  for (size_t row = 0; row < kRowCount; ++row) {
    const float *dy = &in[0][row * width], *x = &in[1][row * width], *w = in[2].data();
    const float r =
        1 /
        std::sqrt(sum_of(width, [&](size_t i) { return x[i] * x[i]; }) / static_cast<float>(width) + 1e-6F);
    const float mean =
        sum_of(width, [&](size_t i) { return dy[i] * w[i] * (x[i] * r); }) / static_cast<float>(width);
    for (size_t i = 0; i < width; ++i) {
      dx.push_back(r * (dy[i] * w[i] - x[i] * r * mean));
      dw[i] += dy[i] * (x[i] * r);
    }
  }
  return {dx, dw};
}

Results rms_of_terms(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  const auto n = static_cast<float>(width);
  Rows dx, dw(width, 0);
  for (size_t row = 0; row < kRowCount; ++row) {
    const float *dy = &in[0][row * width], *x = &in[1][row * width], *w = in[2].data();
    const float r = 1 / std::sqrt(sum_of(width, [&](size_t i) { return x[i] * x[i]; }) / n + 1e-6F);
    const float mean = sum_of(width, [&](size_t i) { return dy[i] * w[i] * x[i]; }) / n;
    for (size_t i = 0; i < width; ++i) {
      dx.push_back(dy[i] * w[i] * r - x[i] * (r * r * r * mean));
      dw[i] += dy[i] * (x[i] * r);
    }
  }
  return {dx, dw};
}

struct Statistics {
  float mean, reciprocal_deviation;
};

Statistics statistics_of(const float* x, size_t width) {
  const auto n = static_cast<float>(width);
  const float mean = sum_of(width, [&](size_t i) { return x[i]; }) / n;
  const float variance = sum_of(width, [&](size_t i) { return (x[i] - mean) * (x[i] - mean); }) / n;
  return {mean, 1 / std::sqrt(variance + 1e-5F)};
}

Results layer_norm_mean_last(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  const auto n = static_cast<float>(width);
  Rows dx, dw(width, 0), db(width, 0);
  for (size_t row = 0; row < kRowCount; ++row) {
    const float *dy = &in[0][row * width], *x = &in[1][row * width], *w = in[2].data();
    const Statistics statistics = statistics_of(x, width);
    const float m = statistics.mean, r = statistics.reciprocal_deviation;
    const float ds = sum_of(width, [&](size_t i) { return dy[i] * w[i] * (x[i] - m); }) / n;
    const auto dc = [&](size_t i) { return dy[i] * w[i] * r - (x[i] - m) * (r * r * r * ds); };
    const float last = sum_of(width, dc) / n;
    for (size_t i = 0; i < width; ++i) {
      dx.push_back(dc(i) - last);
      dw[i] += dy[i] * ((x[i] - m) * r);
      db[i] += dy[i];
    }
  }
  return {dx, dw, db};
}

Results layer_norm_scale_and_shift(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  const auto n = static_cast<float>(width);
  Rows dx, dw(width, 0), db(width, 0);
  for (size_t row = 0; row < kRowCount; ++row) {
    const float *dy = &in[0][row * width], *x = &in[1][row * width], *w = in[2].data();
    const Statistics statistics = statistics_of(x, width);
    const float m = statistics.mean, r = statistics.reciprocal_deviation;
    const float ds = sum_of(width, [&](size_t i) { return dy[i] * w[i] * x[i]; }) / n;
    const float g = sum_of(width, [&](size_t i) { return dy[i] * w[i]; }) / n;
    const float of_x = (g * m - ds) * r * r * r, of_one = -of_x * m - g * r;
    for (size_t i = 0; i < width; ++i) {
      dx.push_back(r * dy[i] * w[i] + of_x * x[i] + of_one);
      dw[i] += dy[i] * (x[i] * r - m * r);
      db[i] += dy[i];
    }
  }
  return {dx, dw, db};
}

// Rows whose elements are far from 0, and differ by little.
Results log_of_logsumexp(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  Rows y;
  for (size_t row = 0; row < kRowCount; ++row) {
    const float* x = &in[0][row * width];
    const float max = *std::max_element(x, x + width);
    const float total = max + std::log(sum_of(width, [&](size_t i) { return std::exp(x[i] - max); }));
    for (size_t i = 0; i < width; ++i) y.push_back(x[i] - total);
  }
  return {y};
}

float to_bf16(float x) { return static_cast<float>(store(Dtype::bf16, x)); }

Results softmax_of_logsumexp(const std::vector<Rows>& in) {
  Results y = log_of_logsumexp(in);
  for (float& each : y[0]) each = std::exp(each);
  return y;
}

Results log_of_rounded_sum(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  Rows y;
  for (size_t row = 0; row < kRowCount; ++row) {
    const float* x = &in[0][row * width];
    const float max = *std::max_element(x, x + width);
    const float sum = to_bf16(sum_of(width, [&](size_t i) { return std::exp(x[i] - max); }));
    for (size_t i = 0; i < width; ++i) y.push_back(x[i] - max - to_bf16(std::log(sum)));
  }
  return {y};
}

Results sigmoid_of_parts(const std::vector<Rows>& in) {
  Rows dx;
  for (size_t i = 0; i < in[0].size(); ++i)
    dx.push_back(to_bf16(in[0][i] * to_bf16(1 - in[1][i])) * in[1][i]);
  return {dx};
}

Results softmax_of_products(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  Rows dx;
  for (size_t row = 0; row < kRowCount; ++row) {
    const float *dy = &in[0][row * width], *y = &in[1][row * width];
    const float sum = sum_of(width, [&](size_t i) { return to_bf16(dy[i] * y[i]); });
    for (size_t i = 0; i < width; ++i) dx.push_back(to_bf16(dy[i] * y[i]) - y[i] * sum);
  }
  return {dx};
}

Results softmax_gradient_of_parts(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  Rows dx;
  for (size_t row = 0; row < kRowCount; ++row) {
    const float *dy = &in[0][row * width], *y = &in[1][row * width];
    const float sum = to_bf16(sum_of(width, [&](size_t i) { return to_bf16(dy[i] * y[i]); }));
    for (size_t i = 0; i < width; ++i) dx.push_back(y[i] * to_bf16(dy[i] - sum));
  }
  return {dx};
}

Results softmax_in_16_bits(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  Rows dx;
  for (size_t row = 0; row < kRowCount; ++row) {
    const float *dy = &in[0][row * width], *y = &in[1][row * width];
    float sum = 0;
    for (size_t i = 0; i < width; ++i) sum = to_bf16(sum + to_bf16(dy[i] * y[i]));
    for (size_t i = 0; i < width; ++i) dx.push_back(y[i] * to_bf16(dy[i] - sum));
  }
  return {dx};
}

// The gradient for the mean of the rows is stored in bf16, and then multiplied by that of the mean: 0 where
// the row is ignored.
Results cross_entropy_scaled_last(const std::vector<Rows>& in) {
  const size_t width = width_of(in);
  Rows dx;
  for (size_t row = 0; row < kRowCount; ++row) {
    const float *dy = &in[0][row * width], *y = &in[1][row * width];
    const float sum = sum_of(width, [&](size_t i) { return dy[i]; });
    for (size_t i = 0; i < width; ++i)
      dx.push_back(sum == 0 ? 0 : to_bf16((dy[i] / sum - std::exp(y[i])) / kRowCount) * (sum * kRowCount));
  }
  return {dx};
}

Results tanh_of_parts(const std::vector<Rows>& in) {
  Rows dx;
  for (size_t i = 0; i < in[0].size(); ++i)
    dx.push_back(in[0][i] * to_bf16(1 - to_bf16(in[1][i] * in[1][i])));
  return {dx};
}

Results tanh_of_factors(const std::vector<Rows>& in) {
  Rows dx;
  for (size_t i = 0; i < in[0].size(); ++i) dx.push_back(in[0][i] * ((1 - in[1][i]) * (1 + in[1][i])));
  return {dx};
}

double often_zero(Rng& random) { return random.below(2) == 0 ? 0 : 0.3 * random.normal(); }
double narrow(Rng& random) { return 0.3 * random.normal(); }
double wide(Rng& random) { return 4 * random.normal(); }
double far_from_zero(Rng& random) { return 1000 + random.normal(); }

// The reciprocal deviation of a row with a huge element has a cube that underflows.
double seldom_huge(Rng& random) { return (random.below(64) == 0 ? 1e15 : 1) * random.normal(); }

double small_integer(Rng& random) { return static_cast<double>(random.below(5)) - 2; }

const Form kForms[] = {
    {"rms_norm_backward.of_normalised", RmsNormBackward{}, 16, 3, Dtype::f32, small_integer,
     rms_of_normalised},
    {"rms_norm_backward.of_terms", RmsNormBackward{}, 16, 3, Dtype::f32, small_integer, rms_of_terms},
    {"layer_norm_backward.mean_last", LayerNormBackward{}, 16, 3, Dtype::f32, seldom_huge,
     layer_norm_mean_last},
    {"layer_norm_backward.scale_and_shift", LayerNormBackward{}, 4, 3, Dtype::f32, narrow,
     layer_norm_scale_and_shift, 8},
    {"log_softmax.of_logsumexp", LogSoftmax{-1}, 16, 1, Dtype::f32, far_from_zero, log_of_logsumexp},
    {"softmax.of_logsumexp", Softmax{-1}, 16, 1, Dtype::f32, far_from_zero, softmax_of_logsumexp},
    {"log_softmax.of_rounded_sum", LogSoftmax{-1}, 16, 1, Dtype::bf16, wide, log_of_rounded_sum},
    {"sigmoid_backward.of_parts", SigmoidBackward{}, 16, 2, Dtype::bf16, wide, sigmoid_of_parts},
    {"tanh_backward.of_factors", TanhBackward{}, 16, 2, Dtype::f32, narrow, tanh_of_factors},
    {"softmax_backward.of_products", SoftmaxBackward{-1}, 16, 2, Dtype::bf16, wide, softmax_of_products},
    {"tanh_backward.of_parts", TanhBackward{}, 16, 2, Dtype::bf16, wide, tanh_of_parts},
    {"softmax_backward.of_parts", SoftmaxBackward{-1}, 16, 2, Dtype::bf16, wide, softmax_gradient_of_parts},
    {"softmax_backward.in_16_bits", SoftmaxBackward{-1}, 16, 2, Dtype::bf16, wide, softmax_in_16_bits},
    {"log_softmax_backward.scaled_last", LogSoftmaxBackward{-1}, 4, 2, Dtype::bf16, often_zero,
     cross_entropy_scaled_last},
};

TEST(FormulaLowerings, EachHasAForm) {
  for (const Lowering& lowering : lowerings()) {
    if (!is_formula(lowering)) continue;
    const auto is_of = [&](const Form& form) { return std::string_view(form.lowering) == lowering.name; };
    EXPECT_TRUE(std::any_of(std::begin(kForms), std::end(kForms), is_of)) << lowering.name;
  }
}

struct Computed {
  Graph graph;
  Plan plan;
  Trace trace;

  // `wrong`: a factor of the first result.
  Computed(const Form& form, uint64_t seed, float wrong = 1) {
    Builder b;
    Rng random(seed);
    std::vector<ValueId> ids;
    std::vector<Rows> values;
    const auto width = static_cast<int64_t>(form.width);
    for (size_t i = 0; i < form.operands; ++i) {
      const Shape shape = i < 2 ? Shape{kRowCount, width} : Shape{width};
      const double shift = i == 1 ? form.shift : 0;
      const Tensor x = make_tensor({form.dtype, shape}, [&](int64_t) { return shift + form.draw(random); });
      ids.push_back(b.input("x" + std::to_string(i), x.type, Normal{}));
      trace.values.push_back(std::make_shared<Tensor>(x));
      values.push_back(to_f32(x));
    }
    const ValueId first = b.node(form.op, ids, "y");
    for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
    graph = *b.build();
    Results results = form.computed(values);
    for (float& x : results[0]) x *= wrong;
    for (size_t k = 0; k < results.size(); ++k)
      trace.values.push_back(std::make_shared<Tensor>(from_f32(results[k], graph.type(graph.outputs()[k]))));
    plan.regions.push_back(make_region(graph, {0}));
  }

  RegionVerdict judge(bool foreign = false) const {
    RegionJudgeOptions options;
    options.foreign = foreign;
    return judge_region(graph, plan, 0, trace, options);
  }
};

TEST(FormulaLowerings, PassWhereTheContractNamesThem) {
  for (const Form& form : kForms) {
    int outside = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      Computed computed(form, seed);
      const RegionVerdict strict = computed.judge(), found = computed.judge(true);
      outside += strict.symptom != Symptom::none;
      const bool is_loss = *find_lowering(form.lowering)->who == 0;
      EXPECT_EQ(found.symptom, is_loss ? strict.symptom : Symptom::none) << form.lowering << " " << seed;
      const Node& node = computed.graph.nodes()[0];
      ASSERT_TRUE(allow_lowering(computed.plan.regions[0].contract, computed.graph, node,
                                 *find_lowering(form.lowering)));
      EXPECT_EQ(computed.judge().symptom, Symptom::none) << form.lowering << " " << seed;
    }
    EXPECT_GT(outside, 0) << form.lowering;
  }
}

TEST(FormulaLowerings, AMistakeIsFound) {
  for (const Form& form : kForms) {
    int found = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed)
      found += Computed(form, seed, 1.01F).judge(true).symptom != Symptom::none;
    EXPECT_GE(found, 9) << form.lowering;
  }
}

}  // namespace
}  // namespace fusesmith::oracle
