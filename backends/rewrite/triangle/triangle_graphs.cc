// Examples that triangle_multiplication takes whole, and near misses that it leaves alone.
#include "backends/rewrite/triangle/triangle_graphs.h"

#include "backends/rewrite/matching/example_graph.h"

namespace fusesmith::backends {
namespace {

constexpr const char* kOutgoing = "bikd,bjkd->bijd";
constexpr const char* kIncoming = "bkid,bkjd->bijd";

// Of a square pair tensor, as in AlphaFold: [batch, rows, rows, 2 width].
ValueId pairs(ExampleGraph& g, const ExampleDims& d) {
  return g.tensor("x", {d.batch, d.rows, d.rows, 2 * d.width});
}

struct Halves {
  ValueId first, second;
};
Halves chunked(ExampleGraph& g, ValueId x) {
  const ValueId first = g.node(Chunk{-1, 2}, x);
  return {first, first + 1};
}

// Two parts of the last axis: [0, size) and [second, second + size).
Halves sliced(ExampleGraph& g, ValueId x, int64_t size, int64_t second) {
  return {g.node(Slice{-1, 0, size}, x), g.node(Slice{-1, second, second + size}, x)};
}

Graph multiplied(ExampleGraph& g, const char* equation, ValueId left, ValueId right) {
  return g.outputs(g.node(Einsum{equation}, left, right));
}

constexpr GraphRecipe kTriangleGraphsExamples[] = {
    {"outgoing",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, pairs(g, d));
       return multiplied(g, kOutgoing, a, b);
     }},
    {"incoming",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, pairs(g, d));
       return multiplied(g, kIncoming, a, b);
     }},
    {"outgoing_upcast",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, g.node(Cast{Dtype::f32}, pairs(g, d)));
       return multiplied(g, kOutgoing, a, b);
     }},
    {"incoming_sliced_upcast",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = sliced(g, g.node(Cast{Dtype::f32}, pairs(g, d)), d.width, d.width);
       return multiplied(g, kIncoming, a, b);
     }},
    {"halves_upcast",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, pairs(g, d));
       return multiplied(g, kOutgoing, g.node(Cast{Dtype::f32}, a), g.node(Cast{Dtype::f32}, b));
     }},
    {"second_half_on_the_left",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = sliced(g, pairs(g, d), d.width, d.width);
       return multiplied(g, kOutgoing, b, a);
     }},
    {"part_of_the_rows",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, g.tensor("x", {d.batch, d.rows, d.cols, 2 * d.heads}));
       return multiplied(g, kOutgoing, a, b);
     }},
    {"without_a_batch",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, g.tensor("x", {d.cols, d.rows, 2 * d.depth}));
       return multiplied(g, "kic,kjc->ijc", a, b);
     }},
};

constexpr GraphRecipe kTriangleGraphsNearMisses[] = {
    {"half_read_elsewhere",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, pairs(g, d));
       return g.outputs(g.node(Einsum{kOutgoing}, a, b), g.node(Relu{}, b));
     }},
    {"upcast_half_is_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, pairs(g, d));
       const ValueId wide = g.node(Cast{Dtype::f32}, a);
       return g.outputs(g.node(Einsum{kOutgoing}, wide, g.node(Cast{Dtype::f32}, b)), wide);
     }},
    {"halves_of_two_tensors",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = pairs(g, d), y = g.tensor("y", g.shape(x));
       return multiplied(g, kOutgoing, g.node(Slice{-1, 0, d.width}, x),
                         g.node(Slice{-1, d.width, 2 * d.width}, y));
     }},
    {"parts_that_overlap",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.rows, 2 * d.width + 1});
       const auto [a, b] = sliced(g, x, d.width + 1, d.width);
       return multiplied(g, kOutgoing, a, b);
     }},
    {"a_channel_between_the_parts",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.rows, 2 * d.width + 1});
       const auto [a, b] = sliced(g, x, d.width, d.width + 1);
       return multiplied(g, kOutgoing, a, b);
     }},
    {"first_half_twice",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = sliced(g, pairs(g, d), d.width, 0);
       return multiplied(g, kIncoming, a, b);
     }},
    {"chunked_along_the_columns",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId a = g.node(Chunk{2, 2}, g.tensor("x", {d.batch, d.rows, 2 * d.cols, d.width}));
       return multiplied(g, kOutgoing, a, a + 1);
     }},
    {"cast_to_16_bits",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Dtype narrow = t == Dtype::bf16 ? Dtype::f16 : Dtype::bf16;
       const auto [a, b] = chunked(g, pairs(g, d));
       return multiplied(g, kOutgoing, g.node(Cast{narrow}, a), g.node(Cast{narrow}, b));
     }},
    {"k_at_two_places",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, pairs(g, d));
       return multiplied(g, "bikd,bkjd->bijd", a, b);
     }},
    {"transposed_result",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, pairs(g, d));
       return multiplied(g, "bikd,bjkd->bjid", a, b);
     }},
    {"channels_summed",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [a, b] = chunked(g, pairs(g, d));
       return multiplied(g, "bikd,bjkd->bij", a, b);
     }},
};

}  // namespace

std::span<const GraphRecipe> triangle_examples() { return kTriangleGraphsExamples; }
std::span<const GraphRecipe> triangle_near_misses() { return kTriangleGraphsNearMisses; }

}  // namespace fusesmith::backends
