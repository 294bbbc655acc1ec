// Metamorphic: N decode steps over a key-value cache equal one prefill of the N tokens. Every row that a step
// gives lies in the allowed interval of prefill's row, on every backend.
#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/run/backends.h"
#include "oracle/evaluate.h"

namespace fusesmith::fuzz {
namespace {

constexpr int64_t kTokens = 40, kHeads = 2, kSize = 8, kWidth = kHeads * kSize;
constexpr uint64_t kSeed = 7;
constexpr double kHidden = -std::numeric_limits<double>::infinity();

TensorType f32(Shape shape) { return {Dtype::f32, std::move(shape)}; }

// The same bits at every step and in both graphs.
Fill fixed(const char* name, const TensorType& type, const Fill& fill) {
  return literal_of(materialize(fill, type, kSeed, name, 0));
}

// What decoding and prefill share: projections, rotated heads, attention up to its mask and from it on.
class Block {
 public:
  explicit Block(int64_t rows, const Fill& tokens) : rows_(rows) {
    x_ = b.input("x", f32({1, rows, kWidth}), tokens);
    for (const char* name : {"wq", "wk", "wv", "wo"}) {
      const TensorType type = f32({kWidth, kWidth});
      weights_.push_back(b.input(name, type, fixed(name, type, Normal{0, 0.25})));
    }
  }
  static TensorType table() { return f32({kTokens, kSize / 2}); }
  static Fill angles(const char* name) { return fixed(name, table(), Uniform{-1, 1}); }

  ValueId head(int which) {
    const ValueId flat = b.node(Linear{}, {x_, weights_[static_cast<size_t>(which)]});
    return b.node(Permute{{0, 2, 1, 3}}, {b.node(Reshape{{1, rows_, kHeads, kSize}}, {flat})});
  }
  ValueId rotated_head(int which, ValueId cos, ValueId sin) {
    return b.node(Rope{}, {head(which), cos, sin});
  }
  ValueId scores(ValueId q, ValueId k) {
    return b.node(Scale{1 / std::sqrt(double{kSize})}, {b.node(Matmul{false, true}, {q, k})});
  }
  void finish(ValueId scores, ValueId v) {
    const ValueId out = b.node(Permute{{0, 2, 1, 3}}, {b.node(Matmul{}, {b.node(Softmax{}, {scores}), v})});
    b.output(b.node(Linear{}, {b.node(Reshape{{1, rows_, kWidth}}, {out}), weights_[3]}));
  }
  Graph build() {
    auto graph = b.build();
    if (!graph) check(false, graph.problem().c_str());
    return *graph;
  }

  Builder b;

 private:
  int64_t rows_;
  ValueId x_;
  std::vector<ValueId> weights_;
};

// Caches without rows yet; -inf hides what was never written. The tables of angles roll: their first row is
// that of the token at hand.
Graph decoding() {
  Block block(1, Normal{});
  Builder& b = block.b;
  const ValueId shown = b.input("shown", f32({1}), Constant{0});
  const TensorType cache = f32({1, kHeads, kTokens, kSize});
  const ValueId k_cache = b.state("k_cache", cache, Constant{0}),
                v_cache = b.state("v_cache", cache, Constant{0});
  const ValueId hidden = b.state("hidden", f32({kTokens}), Constant{kHidden});
  const ValueId cos = b.state("cos", Block::table(), Block::angles("cos")),
                sin = b.state("sin", Block::table(), Block::angles("sin"));
  const auto appended = [&](int64_t axis, ValueId old, ValueId row) {
    return b.node(Concat{axis}, {b.node(Slice{axis, 1, kTokens}, {old}), row});
  };
  const auto first_row = [&](ValueId table) { return b.node(Slice{0, 0, 1}, {table}); };
  const ValueId cos_now = first_row(cos), sin_now = first_row(sin);
  const ValueId q = block.rotated_head(0, cos_now, sin_now);
  const ValueId k = appended(2, k_cache, block.rotated_head(1, cos_now, sin_now));
  const ValueId v = appended(2, v_cache, block.head(2));
  const ValueId mask = appended(0, hidden, shown);
  block.finish(b.node(Add{}, {block.scores(q, k), mask}), v);
  const ValueId next[] = {k, v, mask, b.node(Roll{0, -1}, {cos}), b.node(Roll{0, -1}, {sin})};
  for (int s = 0; s < 5; ++s) b.next_state(s, next[s]);
  return block.build();
}

Graph prefill(const Fill& tokens) {
  Block block(kTokens, tokens);
  Builder& b = block.b;
  const ValueId cos = b.input("cos", Block::table(), Block::angles("cos")),
                sin = b.input("sin", Block::table(), Block::angles("sin"));
  const ValueId q = block.rotated_head(0, cos, sin), k = block.rotated_head(1, cos, sin), v = block.head(2);
  const ValueId later = b.node(CausalMask{kTokens, kTokens}, {});
  block.finish(b.node(MaskedFill{kHidden}, {block.scores(q, k), later}), v);
  return block.build();
}

TensorPtr shared(Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); }

struct Decoded {
  std::vector<float> tokens, rows;  // [kTokens, kWidth]
};

Decoded decode(const Backend& backend, const std::vector<std::string>& faults) {
  Case test_case{kSeed, kTokens, {}, decoding(), {}, {}};
  const Graph& graph = test_case.graph;
  CompileOptions options;
  options.faults = Faults(faults);
  const auto program = std::move(*backend.compile(graph, options));
  std::vector<TensorPtr> states;
  for (const State& s : graph.states())
    states.push_back(shared(materialize(s.fill, s.type, kSeed, s.name, 0)));
  Decoded decoded;
  const auto append = [](std::vector<float>& to, const Tensor& from) {
    const auto row = from.as<float>();
    to.insert(to.end(), row.begin(), row.end());
  };
  for (int64_t step = 0; step < kTokens; ++step) {
    std::vector<TensorPtr> sources;
    for (Tensor& tensor : make_inputs(test_case, step)) sources.push_back(shared(std::move(tensor)));
    append(decoded.tokens, *sources[0]);
    sources.insert(sources.end(), states.begin(), states.end());
    const Trace trace = program->run(sources);
    append(decoded.rows, *trace.values[static_cast<size_t>(graph.outputs()[0])]);
    for (size_t s = 0; s < states.size(); ++s)
      states[s] = trace.values[static_cast<size_t>(graph.states()[s].next)];
  }
  return decoded;
}

// Prefill as one region, with all that the backend's regions may do inside theirs.
Bounded bounds_of_prefill(const Backend& backend, const std::vector<float>& tokens) {
  Case test_case;
  test_case.seed = kSeed;
  test_case.graph = prefill(literal_of(from_f32(tokens, f32({1, kTokens, kWidth}))));
  const auto program = std::move(*backend.compile(test_case.graph, {}));
  std::vector<int> nodes(test_case.graph.nodes().size());
  for (size_t n = 0; n < nodes.size(); ++n) nodes[n] = static_cast<int>(n);
  Region whole = make_region(test_case.graph, nodes);
  for (const Region& region : program->plan().regions) {
    const Contract& own = region.contract;
    whole.contract.arithmetic = own.arithmetic;
    whole.contract.arithmetic.sum_height = 0;
    whole.contract.slacks.insert(whole.contract.slacks.end(), own.slacks.begin(), own.slacks.end());
    EXPECT_TRUE(own.deviations.empty()) << "of f32";
  }
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : make_inputs(test_case)) inputs.push_back(shared(std::move(tensor)));
  Trace trace = program->run(inputs);
  return *evaluate(test_case.graph, whole, trace, {})[0].bounded;
}

struct Outcome {
  int64_t outside = 0;
  double widest = 0;  // interval, beside the largest magnitude
};

Outcome compare_with_prefill(const Backend& backend, const std::vector<std::string>& faults = {}) {
  const Decoded decoded = decode(backend, faults);
  const Bounded bounds = bounds_of_prefill(backend, decoded.tokens);
  Outcome outcome;
  double largest = 0;
  for (size_t i = 0; i < bounds.v.size(); ++i) {
    const double v = bounds.v[i], e = bounds.error(i), got = static_cast<double>(decoded.rows[i]);
    largest = std::max(largest, std::fabs(v));
    outcome.widest = std::max(outcome.widest, e);
    const bool lawful = got >= round_to(Dtype::f32, v - e) && got <= round_to(Dtype::f32, v + e);
    outcome.outside += !lawful;
  }
  outcome.widest /= largest;
  return outcome;
}

class CachedDecoding : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const Backend* backend = find_backend(GetParam());
    if (!backend) GTEST_SKIP() << GetParam() << " is not in this build";
    if (const auto why = backend->unavailable()) GTEST_SKIP() << *why;
  }
};

TEST_P(CachedDecoding, GivesTheRowsOfPrefill) {
  const Outcome outcome = compare_with_prefill(*find_backend(GetParam()));
  EXPECT_EQ(outcome.outside, 0);
  EXPECT_LT(outcome.widest, 1e-4) << "the bounds say nothing";
}

TEST_P(CachedDecoding, SeesACacheThatMovesTheWrongWay) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  if (!std::string(GetParam()).ends_with("_fused")) GTEST_SKIP() << "it fuses nothing";
  EXPECT_GT(compare_with_prefill(*find_backend(GetParam()), {"cache_rolls_the_other_way"}).outside, kTokens);
}

INSTANTIATE_TEST_SUITE_P(Backends, CachedDecoding, testing::Values("cpu", "cpu_fused", "cuda", "cuda_fused"));

}  // namespace
}  // namespace fusesmith::fuzz
