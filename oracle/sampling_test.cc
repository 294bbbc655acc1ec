// A sample is judged as the whole region would be: the same exact results and bounds, element by element.
#include "oracle/sampling.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/axis_classes.h"
#include "graph/op_tests/op_tests.h"
#include "oracle/judge.h"
#include "oracle/region_judge.h"
#include "oracle/sample_indices.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

// A graph as one region, with drawn inputs. What it stored are the exact results, rounded.
struct OneRegion {
  Graph graph;
  Plan plan;
  Trace trace;

  explicit OneRegion(Graph g, uint64_t seed = 1) : graph(std::move(g)) {
    Rng rng(seed);
    for (const Input& input : graph.inputs()) {
      const TensorType& type = input.type;
      const bool drawn = is_float(type.dtype) || type.dtype == Dtype::boolean;
      trace.values.push_back(std::make_shared<const Tensor>(
          drawn ? make_tensor(type,
                              [&](int64_t) {
                                return type.dtype == Dtype::boolean ? static_cast<double>(rng.below(2))
                                                                    : std::fabs(rng.normal()) + 0.01;
                              })
                : materialize(input.fill, type, 0, input.name, 0)));
    }
    std::vector<int> nodes(graph.nodes().size());
    for (size_t n = 0; n < nodes.size(); ++n) nodes[n] = static_cast<int>(n);
    plan.regions.push_back(make_region(graph, nodes));
    auto& outputs = plan.regions[0].outputs;
    std::erase_if(outputs, [&](ValueId v) { return !graph.is_observed(v); });
    trace.values.resize(static_cast<size_t>(graph.value_count()));
    for (const RegionOutput& output : results()) {
      Tensor stored(output.bounded->type);
      for (int64_t i = 0; i < stored.size(); ++i) stored.set(i, output.bounded->v[static_cast<size_t>(i)]);
      trace.values[static_cast<size_t>(output.value)] = std::make_shared<const Tensor>(std::move(stored));
    }
  }

  const Region& region() const { return plan.regions[0]; }
  std::vector<RegionOutput> results() const { return evaluate(graph, region(), trace, {}); }
  std::optional<RegionSample> sample(int64_t indices, uint64_t seed = 1) const {
    return draw_sample(graph, region(), trace, {indices, seed});
  }
  RegionVerdict judge(int64_t indices) const {
    RegionJudgeOptions options;
    options.sample.indices = indices;
    return judge_region(graph, plan, 0, trace, options);
  }
  // Adds a number to an element of the first output.
  void damage(int64_t element, double by) {
    TensorPtr& stored = trace.values[static_cast<size_t>(region().outputs[0])];
    Tensor damaged = *stored;
    damaged.set(element, damaged.value(element) + by);
    stored = std::make_shared<const Tensor>(std::move(damaged));
  }
};

// f64 products of other sizes may be summed in another order.
void expect_near(double a, double b) {
  if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b))
    EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << a << " and " << b;
  else
    EXPECT_NEAR(a, b, 1e-10 * (std::fabs(a) + 1e-6));
}

// Whether there was a sample.
bool expect_sample_of_whole(const OneRegion& whole, int64_t indices) {
  const auto sample = whole.sample(indices);
  if (!sample) return false;
  const auto all = whole.results();
  const auto some = evaluate(sample->cut.graph, sample->cut.region, sample->cut.trace, {});
  EXPECT_EQ(all.size(), some.size());
  int64_t elements = 0;
  for (size_t k = 0; k < some.size() && k < all.size(); ++k) {
    const std::string& name = whole.graph.name(all[k].value);
    EXPECT_EQ(name, sample->cut.graph.name(some[k].value));
    EXPECT_EQ(all[k].copied, some[k].copied);
    EXPECT_EQ(all[k].computed, some[k].computed);
    EXPECT_EQ(all[k].bounded->zero_signs_known, some[k].bounded->zero_signs_known);
    const Tensor& stored = *whole.trace.values[static_cast<size_t>(all[k].value)];
    const Tensor& kept = *sample->cut.trace.values[static_cast<size_t>(some[k].value)];
    std::set<int64_t> places;
    for (int64_t i = 0; i < kept.size(); ++i) {
      const int64_t at = sample->in_whole(name, i);
      places.insert(at);
      expect_near(some[k].bounded->v[static_cast<size_t>(i)], all[k].bounded->v[static_cast<size_t>(at)]);
      expect_near(some[k].bounded->error(static_cast<size_t>(i)),
                  all[k].bounded->error(static_cast<size_t>(at)));
      expect_near(kept.value(i), stored.value(at));
    }
    EXPECT_EQ(places.size(), static_cast<size_t>(kept.size())) << "an element stands for two";
    elements += stored.size();
  }
  EXPECT_EQ(sample->all_elements, elements);
  return true;
}

// But for ops that keep no axis: sources, and defined ops whose outputs may run along different ones.
TEST(Sampling, EveryOpIsJudgedAsAWhole) {
  std::set<std::string_view> sampled, free;
  std::vector<op_tests::OpCase> cases = op_tests::op_cases();
  cases.push_back({Reshape{{5, 12}}, {op_tests::f({5, 4, 3})}});  // the others keep no axis
  for (const op_tests::OpCase& one : cases) {
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      Builder b;
      std::vector<ValueId> inputs;
      for (TensorType type : one.inputs) {
        if (type.dtype == Dtype::f32) type.dtype = dtype;
        const Fill fill = type.dtype == Dtype::i32 ? op_tests::index_fill(type) : Fill(Constant{0});
        inputs.push_back(b.input("x" + std::to_string(inputs.size()), type, fill));
      }
      const ValueId first = b.node(one.op, inputs, "y");
      for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
      auto graph = b.build();
      ASSERT_TRUE(graph.ok()) << graph.problem();
      SCOPED_TRACE(to_string(*graph));
      for (const AxisClass& axes : axis_classes(*graph)) {
        if (!axes.fixed && axes.size > 1) free.insert(name(one.op));
      }
      const OneRegion whole(std::move(*graph));
      for (const int64_t indices : {1, 2, 3}) {
        if (expect_sample_of_whole(whole, indices)) sampled.insert(name(one.op));
      }
    }
  }
  for_each_op([&]<class T>(std::type_identity<T>) {
    EXPECT_EQ(sampled.count(T::info.name), free.count(T::info.name)) << T::info.name;
    if (DefinedOp<T> && T::outputs == OutputCount::several) return;
    EXPECT_EQ(free.count(T::info.name), T::info.op_class != OpClass::source ? 1 : 0) << T::info.name;
  });
}

// Attention of one head on projections of x, with a mask made by a node, and what follows in a block.
Graph block(int64_t t, int64_t d, Dtype dtype) {
  Builder b;
  const ValueId x = b.input("x", {dtype, {t, d}}, Normal{}), wq = b.input("wq", {dtype, {d, d}}, Normal{}),
                wk = b.input("wk", {dtype, {d, d}}, Normal{}),
                table = b.input("table", {dtype, {t, d}}, Normal{});
  const ValueId placed = b.node(Gather{}, {table, b.node(Arange{t}, {}, "positions")}, "placed");
  const ValueId q = b.node(Add{}, {b.node(Linear{}, {x, wq}, "q0"), placed}, "q");
  const ValueId k = b.node(Linear{}, {x, wk}, "k");
  const ValueId scores = b.node(Matmul{false, true}, {q, k}, "scores");
  const ValueId masked =
      b.node(MaskedFill{-kInf}, {scores, b.node(CausalMask{t, t}, {}, "future")}, "masked");
  const ValueId mixed = b.node(Matmul{}, {b.node(Softmax{-1}, {masked}, "p"), x}, "mixed");
  b.output(b.node(Add{}, {b.node(Gelu{}, {mixed}, "active"), x}, "out"));
  return *b.build();
}

TEST(Sampling, RegionsOfSeveralNodes) {
  for (const Dtype dtype : kFloatDtypes) {
    const OneRegion whole(block(23, 8, dtype));
    ASSERT_TRUE(expect_sample_of_whole(whole, 5));
    const auto sample = whole.sample(5);
    // Queries are independent although the keys are made from the same input.
    EXPECT_EQ(sample->cut.graph.type(sample->cut.graph.outputs()[0]).shape[0], 5);
  }
}

TEST(Sampling, CausalAttentionOfOneTensor) {
  for (const bool upcast : {false, true}) {
    Sdpa op{Sdpa::ScaleOn::scores, upcast, Sdpa::Mask::causal, CausalAlignment::bottom_right};
    op.window = 9;
    Builder b;
    const ValueId x = b.input("x", {Dtype::bf16, {3, 40, 8}}, Normal{});
    b.output(b.node(op, {x, x, x}, "y"));
    const OneRegion whole(*b.build());
    ASSERT_TRUE(expect_sample_of_whole(whole, 7));
    EXPECT_EQ(whole.sample(7)->cut.graph.type(whole.sample(7)->cut.graph.outputs()[0]).shape,
              (Shape{3, 7, 7}));
  }
}

TEST(Sampling, HeadsThatShareKeys) {
  Sdpa op;
  op.grouped_heads = true;
  Builder b;
  const ValueId q = b.input("q", {Dtype::f32, {2, 12, 3, 4}}, Normal{}),
                k = b.input("k", {Dtype::f32, {2, 3, 5, 4}}, Normal{}),
                v = b.input("v", {Dtype::f32, {2, 3, 5, 6}}, Normal{});
  b.output(b.node(op, {q, k, v}, "y"));
  const OneRegion whole(*b.build());
  for (const int64_t indices : {1, 2, 5}) {
    ASSERT_TRUE(expect_sample_of_whole(whole, indices));
    const auto sample = whole.sample(indices);
    EXPECT_EQ(sample->cut.graph.type(sample->cut.graph.outputs()[0]).shape[1], indices);
  }
}

Graph linear(int64_t rows, int64_t depth, int64_t columns, Dtype dtype = Dtype::bf16) {
  Builder b;
  const ValueId x = b.input("x", {dtype, {rows, depth}}, Normal{}),
                w = b.input("w", {dtype, {columns, depth}}, Normal{});
  b.output(b.node(Linear{}, {x, w}, "y"));
  return *b.build();
}

TEST(Sampling, ASmallSampleHasTheElement) {
  const OneRegion whole(linear(300, 16, 300));
  for (const int64_t element : {int64_t{0}, int64_t{137} * 300 + 171, int64_t{89999}}) {
    const auto sample = draw_small_sample(whole.graph, whole.region(), whole.trace, "y", element);
    ASSERT_TRUE(sample);
    const Tensor& kept = *sample->cut.trace.values[static_cast<size_t>(sample->cut.region.outputs[0])];
    EXPECT_LE(kept.size(), 25);
    bool found = false;
    for (int64_t i = 0; i < kept.size(); ++i) found |= sample->in_whole("y", i) == element;
    EXPECT_TRUE(found) << element;
  }
  const OneRegion few(linear(5, 16, 5));
  EXPECT_FALSE(draw_small_sample(few.graph, few.region(), few.trace, "y", 0)) << "it would save little";
}

TEST(Sampling, AWrongColumnAtATileEdgeIsFound) {
  for (const int64_t column : {int64_t{0}, int64_t{256}, int64_t{299}}) {
    OneRegion whole(linear(300, 16, 300));
    EXPECT_EQ(whole.judge(40).verdict, VerdictClass::reassociation);
    for (int64_t row = 0; row < 300; ++row) whole.damage(row * 300 + column, 1);
    const RegionVerdict some = whole.judge(40), all = whole.judge(0);
    EXPECT_EQ(some.verdict, VerdictClass::defect);
    EXPECT_EQ(some.worst.element % 300, column);
    EXPECT_EQ(all.worst.element % 300, column);
    EXPECT_EQ(all.outside, 300);
    EXPECT_LE(some.outside, 60);
    EXPECT_EQ(some.all_elements, 90000);
    EXPECT_LT(some.elements, 3600);
    EXPECT_FALSE(all.sampled());
  }
}

// Of all elements, those that are not finite and those that differ from the other backend are judged.
TEST(Sampling, SuspectsAreJudged) {
  constexpr int64_t kElement = 137 * 300 + 171;
  const OneRegion whole(linear(300, 16, 300));
  OneRegion damaged = whole;
  damaged.damage(kElement, kInf);
  EXPECT_EQ(damaged.judge(8).verdict, VerdictClass::exceptional);
  EXPECT_EQ(damaged.judge(8).worst.element, kElement);
  damaged = whole;
  damaged.damage(kElement, 0.25);
  EXPECT_EQ(damaged.judge(8).outside, 0);
  JudgeOptions options;
  options.sample.indices = 8;
  const Execution baseline{"a", &whole.plan, &whole.trace}, candidate{"b", &damaged.plan, &damaged.trace};
  const Verdict verdict = judge(Case{1, 1, {}, whole.graph, {}, {}}, baseline, candidate, options);
  ASSERT_TRUE(verdict.failing());
  EXPECT_EQ(verdict.failing()->worst.element, kElement);
  EXPECT_FALSE(verdict.exact);
}

TEST(Sampling, OnlyWhereTheReferenceCostsMuch) {
  const OneRegion small(linear(200, 64, 200));
  EXPECT_FALSE(small.sample(kSampleWhereNeeded));
  EXPECT_FALSE(small.sample(0));
  EXPECT_FALSE(small.sample(200));
  const RegionVerdict verdict = small.judge(kSampleWhereNeeded);
  EXPECT_EQ(verdict.elements, 40000);
  EXPECT_EQ(verdict.all_elements, 40000);
}

TEST(Sampling, TheSameSeedGivesTheSameSample) {
  const OneRegion whole(linear(300, 16, 300));
  const auto a = whole.sample(60, 1), b = whole.sample(60, 1), c = whole.sample(60, 2);
  const auto of = [](const auto& sample) { return *sample->cut.trace.values.back(); };
  EXPECT_EQ(of(a), of(b));
  EXPECT_FALSE(of(a) == of(c));
}

TEST(SampleIndices, HaveTheEndsAndTileEdges) {
  const std::vector<int64_t> wanted = {700, 701};
  const auto indices = sample_indices(1000, 80, 7, wanted);
  const std::set<int64_t> found(indices.begin(), indices.end());
  for (const int64_t at : {0, 999, 700, 701, 959, 960, 961, 895, 896, 897, 767, 768, 769, 991, 992, 993})
    EXPECT_TRUE(found.count(at)) << at;
  EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
  EXPECT_EQ(found.size(), indices.size());
  EXPECT_EQ(indices.size(), 82u);
  for (int64_t part = 0; part < 10; ++part)
    EXPECT_TRUE(found.lower_bound(100 * part) != found.lower_bound(100 * (part + 1))) << part;
}

TEST(SampleIndices, ShortAxes) {
  EXPECT_EQ(sample_indices(1, 5, 0, {}), std::vector<int64_t>{0});
  EXPECT_EQ(sample_indices(3, 3, 0, {}), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(sample_indices(9, 1, 0, {}), std::vector<int64_t>{0});
  EXPECT_EQ(sample_indices(9, 2, 0, {}), (std::vector<int64_t>{0, 8}));
}

}  // namespace
}  // namespace fusesmith::oracle
