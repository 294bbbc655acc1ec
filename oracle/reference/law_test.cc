// Laws of every op's bounded reference. An example of each op is evaluated on inputs with errors; then, again
// and again, on exact inputs chosen inside those intervals, where v is the exact result: it must lie inside
// the first bound.
#include <gtest/gtest.h>

#include <set>

#include "graph/op_tests/op_tests.h"
#include "oracle/evaluate.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

using op_tests::OpCase;

constexpr int64_t kMostElements = 120;  // of any input or output of an example: references run often on each

int64_t largest_element_count(const OpCase& one) {
  int64_t most = 0;
  for (const Types& types : {one.inputs, *infer(one.op, one.inputs)}) {
    for (const TensorType& type : types) most = std::max(most, element_count(type));
  }
  return most;
}

// Results of -inf are exact, and no interval holds them.
bool has_finite_results(const Op& op) {
  const auto* fill = std::get_if<MaskedFill>(&op);
  return !fill || std::isfinite(fill->value);
}

// The small cases of every op that has a reference.
std::vector<OpCase> examples(Dtype dtype) {
  std::vector<OpCase> found;
  for (OpCase one : op_tests::op_cases()) {
    if (info(one.op).op_class == OpClass::composite || largest_element_count(one) > kMostElements) continue;
    if (!has_finite_results(one.op)) continue;
    for (TensorType& type : one.inputs) {
      if (is_float(type.dtype)) type.dtype = dtype;
    }
    found.push_back(std::move(one));
  }
  return found;
}

// Whether the op has a finite slope on inputs clear of 0 alone.
bool wants_positive(const Op& op) {
  return std::holds_alternative<Sqrt>(op) || std::holds_alternative<Rsqrt>(op) ||
         std::holds_alternative<Log>(op);
}

Tensor sample(const TensorType& type, Rng& rng) {
  if (type.dtype == Dtype::i32) return materialize(op_tests::index_fill(type), type, 0, "", 0);
  return make_tensor(type, [&](int64_t) {
    if (type.dtype == Dtype::boolean) return static_cast<double>(rng.below(2));
    return 2 * rng.normal();
  });
}

std::vector<Bounded> sample_inputs(const OpCase& example, Rng& rng) {
  std::vector<Bounded> inputs;
  for (const TensorType& type : example.inputs) {
    inputs.emplace_back(sample(type, rng));
    for (double& v : inputs.back().v) {
      if (wants_positive(example.op)) v = round_to(type.dtype, std::fabs(v) + 0.5);
    }
  }
  return inputs;
}

// Bounds round their own second-order terms up (softmax by 1%), so the error of an exact evaluation is taken
// at 98%.
constexpr double kShare = 0.98;

// One exact tensor inside the intervals, at corners most of the time, and clear of them by f64's own
// rounding.
Bounded inside(const Bounded& x, Rng& rng, int corner, double reach = 1) {
  Bounded there = x;
  there.e.clear();
  for (size_t i = 0; i < x.v.size(); ++i) {
    const double side = corner == 0 ? 1 : corner == 1 ? -1 : corner % 2 ? rng.sign() : rng.uniform(-1, 1);
    there.v[i] += side * std::fmax(0, reach * x.error(i) - 0x1p-51 * std::fabs(x.v[i]));
  }
  return there;
}

TEST(Law, EveryOpHasAnExample) {
  std::set<std::string_view> seen;
  for (const OpCase& example : examples(Dtype::f32)) seen.insert(name(example.op));
  for_each_op([&]<class T>(std::type_identity<T>) {
    if (T::info.op_class != OpClass::composite) {
      EXPECT_TRUE(seen.count(T::info.name)) << T::info.name;
    }
  });
}

// Products that an einsum sums for one element of its result; other examples sum few.
double terms(const OpCase& example) {
  if (!std::holds_alternative<Einsum>(example.op)) return 1;
  const double products = static_cast<double>(element_count(example.inputs[0])) *
                          static_cast<double>(element_count(example.inputs[1]));
  return products / static_cast<double>(element_count((*infer(example.op, example.inputs))[0]));
}

// Results are of order 1 to 10. A sum of K products has (K + 2) u sum |a b|, where |a b| is at most 64 here.
double largest_error(const OpCase& example) {
  const double k = terms(example);
  return std::fmax(1e-3, 64 * kU * k * (k + 2));
}

TEST(Law, ErrorsAreFiniteAndNonNegative) {
  Rng rng(1);
  for (Dtype dtype : kFloatDtypes) {
    for (const OpCase& example : examples(dtype)) {
      for (int trial = 0; trial < 5; ++trial) {
        for (const Bounded& y : evaluate_outputs(example.op, sample_inputs(example, rng))) {
          for (size_t i = 0; i < y.v.size(); ++i) {
            EXPECT_TRUE(std::isfinite(y.v[i])) << to_string(example.op);
            EXPECT_TRUE(y.error(i) >= 0 && y.error(i) < largest_error(example))
                << to_string(example.op) << " e = " << y.error(i);
          }
        }
      }
    }
  }
}

// |v(x') - v(x)| + e(x') <= e(x +- dx) for every x' in the box, but for f64's own rounding: inputs and
// computing are both accounted for.
TEST(Law, InexactInputsStayInside) {
  Rng rng(2);
  for (const OpCase& example : examples(Dtype::f32)) {
    for (double width : {1e-6, 1e-4, 1e-2, 0.1}) {
      for (int trial = 0; trial < 12; ++trial) {
        std::vector<Bounded> inputs = sample_inputs(example, rng);
        for (Bounded& x : inputs) {
          if (is_float(x.type.dtype))
            x = with_error(x,
                           [&](size_t) { return width * rng.uniform() * static_cast<double>(rng.below(3)); });
        }
        const std::vector<Bounded> results = evaluate_outputs(example.op, inputs);
        for (int corner = 0; corner < 10; ++corner) {
          std::vector<Bounded> exact;
          for (const Bounded& x : inputs) exact.push_back(inside(x, rng, corner));
          const std::vector<Bounded> exact_results = evaluate_outputs(example.op, exact);
          for (size_t k = 0; k < results.size(); ++k) {
            const Bounded &y = results[k], &there = exact_results[k];
            for (size_t i = 0; i < y.v.size(); ++i) {
              EXPECT_LE(std::fabs(there.v[i] - y.v[i]) + kShare * there.error(i),
                        y.error(i) * (1 + 0x1p-40) + 0x1p-50 * std::fabs(y.v[i]))
                  << to_string(example.op) << " width " << width;
            }
          }
        }
      }
    }
  }
}

using Nodes =
    std::vector<OpCase>;  // a chain: each op reads the one before it and, when binary, a fresh input

std::vector<Op> chain_ops() {
  return {Add{},
          Sub{},
          Mul{},
          Scale{0.7},
          Sigmoid{},
          Silu{},
          Gelu{Gelu::Form::erf},
          Gelu{Gelu::Form::tanh},
          Tanh{},
          Erf{},
          Softcap{1.5},
          Maximum{},
          Softmax{-1},
          LayerNorm{},
          RmsNorm{},
          ReduceMean{{0}, true},
          Relu{},
          Matmul{false, true},
          Permute{{1, 0}}};
}

struct Chain {
  Graph graph;
  Region region;
  Trace trace;
};

Chain random_chain(Dtype dtype, Rng& rng) {
  const int64_t length = 2 + rng.below(3);
  Builder b;
  std::vector<ValueId> fresh;
  for (int64_t i = 0; i <= length; ++i)
    fresh.push_back(b.input("x" + std::to_string(i), {dtype, {4, 4}}, Normal{}));
  ValueId value = fresh[0];
  TensorType type{dtype, {4, 4}};
  const auto ops = chain_ops();
  for (int64_t i = 0; i < length; ++i) {
    const Op& op = ops[static_cast<size_t>(rng.below(static_cast<int64_t>(ops.size())))];
    std::vector<ValueId> inputs{value};
    Types types{type};
    if (info(op).min_inputs == 2) {
      inputs.push_back(fresh[static_cast<size_t>(i) + 1]);
      types.push_back({dtype, {4, 4}});
    }
    const auto outputs = infer(op, types);
    if (!outputs) continue;  // a matrix of one column has no product with one of four
    value = b.node(op, inputs, "n" + std::to_string(i));
    type = outputs->front();
  }
  b.output(value);
  Chain chain{*b.build(), {}, {}};
  std::vector<int> nodes(chain.graph.nodes().size());
  std::iota(nodes.begin(), nodes.end(), 0);
  chain.region = make_region(chain.graph, nodes);
  chain.trace.values.resize(static_cast<size_t>(chain.graph.value_count()));
  for (ValueId v : fresh)
    chain.trace.values[static_cast<size_t>(v)] = std::make_shared<Tensor>(sample(chain.graph.type(v), rng));
  return chain;
}

// One correct execution of a chain: each op computed as far off as its own bound allows, then kept in f32 or
// rounded as said.
Bounded execute(const Chain& chain, bool rounds, Rng& rng, int corner) {
  std::vector<Bounded> values;
  for (ValueId v = 0; v < chain.graph.source_count(); ++v) {
    const TensorPtr& stored = chain.trace.values[static_cast<size_t>(v)];
    values.push_back(stored ? Bounded(*stored) : Bounded(chain.graph.type(v)));
  }
  for (const Node& node : chain.graph.nodes()) {
    std::vector<Bounded> inputs;
    for (ValueId v : node.inputs) inputs.push_back(values[static_cast<size_t>(v)]);
    Bounded y = inside(evaluate_op(node.op, inputs), rng, corner, kShare);
    const bool last = node.first_output == chain.graph.outputs()[0];
    for (double& v : y.v) {
      if (computes(node.op) && !last)
        v = rounds ? store(y.type.dtype, static_cast<float>(v)) : static_cast<double>(static_cast<float>(v));
    }
    values.push_back(std::move(y));
  }
  return values.back();
}

TEST(Law, ChainsOfLawfulOpsAreLawful) {
  Rng rng(3);
  for (int trial = 0; trial < 1500; ++trial) {
    const Dtype dtype = kFloatDtypes[static_cast<size_t>(trial % 3)];
    const Chain chain = random_chain(dtype, rng);
    for (bool rounds : {false, true}) {
      Reading reading;
      if (!rounds) {
        for (const InnerRounding& inner : inner_roundings(chain.graph, chain.region)) {
          reading.deviations.push_back({Deviation::Kind::drop, inner.value, inner.dtype, 0, ""});
        }
      }
      const auto outputs = evaluate(chain.graph, chain.region, chain.trace, reading);
      ASSERT_EQ(outputs.size(), 1u);
      const Bounded& y = *outputs[0].bounded;
      for (int corner = 0; corner < 8; ++corner) {
        const Bounded got = execute(chain, rounds, rng, corner);
        for (size_t i = 0; i < y.v.size(); ++i) {
          ASSERT_LE(std::fabs(got.v[i] - y.v[i]), y.error(i) * (1 + 0x1p-40) + 0x1p-50 * std::fabs(y.v[i]))
              << to_string(chain.graph) << " rounds " << rounds << " element " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fusesmith::oracle
