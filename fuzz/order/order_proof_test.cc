// Proofs of orders: our CPU backends' products are computed again, bit for bit, whatever their form.
#include "fuzz/order/order_proof.h"

#include <gtest/gtest.h>

#include "backends/rewrite/matching/example_graph.h"
#include "fuzz/explain/proofs_text.h"
#include "fuzz/order/product_region.h"
#include "fuzz/run/backends.h"
#include "graph/case.h"

namespace fusesmith::fuzz {
namespace {

using Made = std::function<ValueId(ExampleGraph&)>;

struct Form {
  const char* name;
  Made make;
};

ValueId product(ExampleGraph& g, const Op& op, const Shape& a, const Shape& b) {
  const ValueId left = g.tensor("a", a), right = g.tensor("b", b);
  return g.node(op, left, right);
}

const Form kForms[] = {{"matmul",
                        [](ExampleGraph& g) {
                          return product(g, Matmul{}, {5, 300}, {300, 9});
                        }},
                       {"transposed",
                        [](ExampleGraph& g) {
                          return product(g, Matmul{true, true}, {70, 5}, {9, 70});
                        }},
                       {"broadcast",
                        [](ExampleGraph& g) {
                          return product(g, Matmul{}, {2, 1, 5, 70}, {3, 70, 9});
                        }},
                       {"linear",
                        [](ExampleGraph& g) {
                          return product(g, Linear{}, {2, 5, 300}, {9, 300});
                        }},
                       {"einsum",
                        [](ExampleGraph& g) {
                          return product(g, Einsum{"bid,bdh->bih"}, {2, 5, 70}, {2, 70, 9});
                        }},
                       {"weights first",
                        [](ExampleGraph& g) {
                          return product(g, Einsum{"nk,bmk->bmn"}, {9, 70}, {2, 5, 70});
                        }},
                       {"bias and relu",
                        [](ExampleGraph& g) {
                          const ValueId bias = g.tensor("c", {9});
                          return g.node(Relu{}, g.node(Add{}, product(g, Matmul{}, {5, 70}, {70, 9}), bias));
                        }},
                       {"addend", [](ExampleGraph& g) {
                          const ValueId addend = g.tensor("c", {2, 5, 9});
                          return g.node(Add{}, addend, product(g, Linear{}, {2, 5, 70}, {9, 70}));
                        }}};

// The graph on a backend, run once.
struct Executed {
  Executed(const Graph& of, const char* backend) : graph(of) {
    side.backend = find_backend(backend);
    program = std::move(*side.backend->compile(graph, {}));
    Case test_case;
    test_case.seed = 7;
    test_case.graph = graph;
    std::vector<TensorPtr> inputs;
    for (Tensor& input : make_inputs(test_case))
      inputs.push_back(std::make_shared<const Tensor>(std::move(input)));
    trace = program->run(inputs);
    side.program = program.get();
    side.trace = &trace;
  }

  const Graph graph;
  std::unique_ptr<Program> program;
  Trace trace;
  Side side = {};
};

bool never() { return false; }

class OrderProofs : public testing::TestWithParam<std::tuple<const char*, Dtype>> {};

TEST_P(OrderProofs, GiveEveryBitOfEveryForm) {
  const auto [backend, dtype] = GetParam();
  for (const Form& form : kForms) {
    ExampleGraph g(dtype);
    const Executed run(g.outputs(form.make(g)), backend);
    OrderCache cache;
    OrderProver prover(run.graph, cache, never);
    int proofs = 0;
    for (size_t region = 0; region < run.program->plan().regions.size(); ++region) {
      const auto proof = prover.prove(run.side, region);
      if (!proof) continue;
      ++proofs;
      EXPECT_TRUE(proof->holds()) << form.name << ": " << proof->equal << " of " << proof->elements << " "
                                  << proof->order << proof->why_not;
    }
    EXPECT_EQ(proofs, 1) << form.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, OrderProofs,
                         testing::Combine(testing::Values("cpu", "cpu_fused"),
                                          testing::Values(Dtype::f32, Dtype::bf16)));

TEST(OrderProof, AnotherBitIsSeenAndClaimsNothing) {
  ExampleGraph g(Dtype::f32);
  Executed run(g.outputs(kForms[0].make(g)), "cpu");
  OrderCache cache;
  OrderProver prover(run.graph, cache, never);
  const auto right = prover.prove(run.side, 0);
  ASSERT_TRUE(right && right->holds());
  TensorPtr& result = run.trace.values.back();
  Tensor wrong = *result;
  wrong.set(3, std::nextafter(static_cast<float>(wrong.value(3)), 1e9F));
  result = std::make_shared<const Tensor>(std::move(wrong));
  const auto proof = prover.prove(run.side, 0);
  ASSERT_TRUE(proof);
  EXPECT_EQ(proof->equal, proof->elements - 1);
  EXPECT_EQ(proof->element, 3);
  EXPECT_EQ(proof->got, run.trace.values.back()->value(3));
  EXPECT_LT(proof->want, proof->got);
  EXPECT_EQ(proofs_sentence({{*right, *proof}}), "");
  EXPECT_NE(proofs_sentence({{*right, *right}}), "");
}

TEST(OrderProof, AnOrderThatNearlyAllElementsHaveIsBrokenByTheOthers) {
  OrderProof proof;
  proof.is_uniform = true;
  proof.elements = 40, proof.equal = 36;
  EXPECT_TRUE(proof.is_broken());
  proof.equal = 40;
  EXPECT_FALSE(proof.is_broken());
  proof.equal = 35;  // as likely that the kernel has another order
  EXPECT_FALSE(proof.is_broken());
  proof.elements = 19, proof.equal = 18;
  EXPECT_FALSE(proof.is_broken());
  proof.is_uniform = false, proof.elements = 40, proof.equal = 39;
  EXPECT_FALSE(proof.is_broken());
}

TEST(OrderProof, OtherRegionsAreNoProducts) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {4, 8});
  const Graph squared = g.outputs(g.node(Matmul{false, true}, x, g.node(Softmax{-1}, x)));
  const Executed run(squared, "cpu");
  for (const Region& region : run.program->plan().regions) {
    const bool is_product = std::holds_alternative<Matmul>(squared.nodes()[region.nodes[0]].op);
    EXPECT_EQ(ProductRegion::of(squared, region).has_value(), is_product);
  }
}

TEST(OrderProof, WithoutTimeNothingIsEmulated) {
  ExampleGraph g(Dtype::f32);
  const Executed run(g.outputs(kForms[0].make(g)), "cpu");
  OrderCache cache;
  const auto proof = OrderProver(run.graph, cache, [] { return true; }).prove(run.side, 0);
  ASSERT_TRUE(proof);
  EXPECT_EQ(proof->why_not, "no time was left");
  EXPECT_FALSE(proof->holds());
}

}  // namespace
}  // namespace fusesmith::fuzz
