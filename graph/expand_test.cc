#include "graph/expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/op_samples.h"

namespace fusesmith::graph {
namespace {

Types sdpa_inputs(const Sdpa& op, Dtype dtype, bool batched) {
  const auto with_batch = [&](Shape shape) {
    if (batched) shape.insert(shape.begin(), {2, 3});
    return shape;
  };
  Types types = {{dtype, with_batch({4, 8})}, {dtype, with_batch({6, 8})}, {dtype, with_batch({6, 5})}};
  if (op.mask == Sdpa::Mask::boolean) types.push_back({Dtype::boolean, {4, 6}});
  if (op.mask == Sdpa::Mask::additive) types.push_back({dtype, with_batch({1, 6})});
  return types;
}

// Every combination of attributes: calls f(op, input types).
template <class F>
void for_each_sdpa(F f) {
  for (const auto scale_on : {Sdpa::ScaleOn::scores, Sdpa::ScaleOn::both}) {
    for (const auto mask :
         {Sdpa::Mask::none, Sdpa::Mask::causal, Sdpa::Mask::boolean, Sdpa::Mask::additive}) {
      for (const auto alignment : {CausalAlignment::top_left, CausalAlignment::bottom_right}) {
        for (int flags = 0; flags < 8; ++flags) {
          for (Dtype dtype : kFloatDtypes) {
            const Sdpa op{scale_on, (flags & 1) != 0, mask, alignment, flags & 2 ? 0.3 : 0.0};
            f(op, sdpa_inputs(op, dtype, (flags & 4) != 0));
          }
        }
      }
    }
  }
}

int count_ops(const Graph& graph, std::string_view op) {
  return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                        [&](const Node& n) { return name(n.op) == op; }));
}

TEST(Expand, SdpaIsValidForEveryCombination) {
  for_each_sdpa([](const Sdpa& op, const Types& inputs) {
    const auto types = infer(Op{op}, inputs);
    ASSERT_TRUE(types) << types.problem();
    const auto graph = expansion(op, inputs);
    ASSERT_TRUE(graph);
    ASSERT_EQ(graph->inputs().size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(graph->inputs()[i].type, inputs[i]);
    ASSERT_EQ(graph->outputs().size(), 1u);
    EXPECT_EQ(graph->type(graph->outputs()[0]), types->front()) << to_string(Op{op});
  });
}

TEST(Expand, SdpaSaysWhatItsAttributesPromise) {
  for_each_sdpa([](const Sdpa& op, const Types& inputs) {
    const Graph graph = *expansion(op, inputs);
    const bool upcast = op.upcast && inputs[0].dtype != Dtype::f32;
    const std::string label = to_string(Op{op});
    EXPECT_EQ(count_ops(graph, "matmul"), 2) << label;
    EXPECT_EQ(count_ops(graph, "softmax"), 1) << label;
    EXPECT_EQ(count_ops(graph, "scale"), op.scale_on == Sdpa::ScaleOn::both ? 2 : 1) << label;
    EXPECT_EQ(count_ops(graph, "causal_mask"), op.mask == Sdpa::Mask::causal) << label;
    EXPECT_EQ(count_ops(graph, "masked_fill"),
              op.mask == Sdpa::Mask::causal || op.mask == Sdpa::Mask::boolean)
        << label;
    EXPECT_EQ(count_ops(graph, "add"), op.mask == Sdpa::Mask::additive) << label;
    EXPECT_EQ(count_ops(graph, "cast") > 0, upcast) << label;
    const Dtype inner = upcast ? Dtype::f32 : inputs[0].dtype;
    EXPECT_EQ(graph.type(*graph.find("p")).dtype, inner) << label;
    for (const Node& node : graph.nodes()) {
      const auto* scale = std::get_if<Scale>(&node.op);
      if (!scale) continue;
      const double whole = op.scale != 0 ? op.scale : 1 / std::sqrt(8.0);
      EXPECT_EQ(scale->factor, op.scale_on == Sdpa::ScaleOn::both ? std::sqrt(whole) : whole) << label;
    }
  });
}

// q of 6 heads, k and v of 2.
Types grouped_inputs(Dtype dtype) {
  return {{dtype, {2, 6, 4, 8}}, {dtype, {2, 2, 5, 8}}, {dtype, {2, 2, 5, 3}}};
}

TEST(Expand, GroupedHeadsAreRepeatedInPlace) {
  Sdpa op;
  op.grouped_heads = true;
  const Graph graph = *expansion(op, grouped_inputs(Dtype::bf16));
  EXPECT_EQ(graph.type(graph.outputs()[0]), (TensorType{Dtype::bf16, {2, 6, 4, 3}}));
  EXPECT_EQ(graph.type(*graph.find("k_group")).shape, (Shape{2, 2, 1, 5, 8}));
  EXPECT_EQ(graph.type(*graph.find("k_repeated")).shape, (Shape{2, 2, 3, 5, 8}));
  EXPECT_EQ(graph.type(*graph.find("v_heads")).shape, (Shape{2, 6, 5, 3}));
  const Types equal(3, {Dtype::f32, {2, 6, 4, 8}});
  EXPECT_EQ(count_ops(*expansion(op, equal), "reshape"), 0);
}

TEST(Expand, WindowAndSoftcapStandBetweenScaleAndSoftmax) {
  const Types inputs = sdpa_inputs({}, Dtype::f16, true);
  for (const auto mask : {Sdpa::Mask::none, Sdpa::Mask::causal}) {
    Sdpa op;
    op.mask = mask;
    op.window = 2;
    op.softcap = 30;
    const Graph graph = *expansion(op, inputs);
    const auto made_by = [&](const std::string& value) -> const Node& {
      return graph.nodes()[static_cast<size_t>(*graph.producer(*graph.find(value)))];
    };
    const CausalMask hidden{4, 6, CausalAlignment::top_left, 2, mask == Sdpa::Mask::none};
    EXPECT_EQ(made_by("hidden").op, Op(hidden));
    EXPECT_EQ(made_by("masked").inputs[0], *graph.find("capped"));
    EXPECT_EQ(made_by("capped").inputs[0], *graph.find("scaled"));
    EXPECT_EQ(made_by("p").inputs[0], *graph.find("masked"));
  }
}

TEST(Expand, OnlyCompositesExpandAndFully) {
  for_each_op([]<class T>(std::type_identity<T>) {
    for (const OpSample& sample : valid_samples<T>(20000, 20)) {
      const auto graph = expansion(sample.op, sample.inputs);
      ASSERT_EQ(graph != nullptr, T::info.op_class == OpClass::composite) << T::info.name;
      if (!graph) continue;
      for (const Node& node : graph->nodes())
        EXPECT_NE(info(node.op).op_class, OpClass::composite) << T::info.name;
      for (size_t i = 0; i < graph->outputs().size(); ++i) {
        EXPECT_EQ(graph->type(graph->outputs()[i]), (*infer(sample.op, sample.inputs))[i]);
      }
    }
  });
}

}  // namespace
}  // namespace fusesmith::graph
