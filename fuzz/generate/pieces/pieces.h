// The pieces that graphs are made of, one file for each family, and building blocks that several families
// share. A piece reads live values of the scene and adds new ones. It returns false where it cannot be
// applied; the scene then undoes what it added.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "backends/rewrite/pattern.h"
#include "fuzz/generate/scene.h"

namespace fusesmith::fuzz {

using Value = Scene::Value;

struct Piece {
  std::string_view name;
  int weight;  // relative frequency
  bool (*add)(Scene&);
  enum class Needs : uint8_t {
    nothing,
    steps,  // only for cases with several steps: the piece adds a state
    exact,  // only for scenes with exact data
  };
  Needs needs = Needs::nothing;
};

// The one list: a piece is a function add_<name> in a file of this folder, and a line here.
// clang-format off
#define FUSESMITH_FOR_EACH_PIECE(X) \
  X(pointwise, 12, nothing) \
  X(projection, 12, nothing) \
  X(merged_projection, 3, nothing) \
  X(batched_product, 6, nothing) \
  X(attention, 10, nothing) \
  X(sdpa, 6, nothing) \
  X(shared_heads, 5, nothing) \
  X(norm, 8, nothing) \
  X(ffn, 6, nothing) \
  X(gate, 6, nothing) \
  X(embedding, 4, nothing) \
  X(residual, 5, nothing) \
  X(cast, 5, nothing) \
  X(movement, 8, nothing) \
  X(select, 4, nothing) \
  X(softmax, 4, nothing) \
  X(reduction, 6, nothing) \
  X(cache_update, 4, nothing) \
  X(rope, 3, nothing) \
  X(decoding, 8, steps) \
  X(recurrence, 4, steps) \
  X(ring, 4, steps) \
  X(optimizer, 4, steps) \
  X(wide, 2, nothing) \
  X(block, 2, nothing) \
  X(triangle, 2, nothing) \
  X(free_op, 34, nothing) \
  X(pattern, 14, nothing) \
  X(near_miss, 10, nothing) \
  X(quantized_product, 4, nothing) \
  X(quantized_weight, 3, nothing) \
  X(quantized_value, 3, nothing) \
  X(quantized_layer, 2, nothing) \
  X(quantized_cache, 3, nothing) \
  X(backward, 10, nothing) \
  X(exact_quantized, 10, exact) \
  X(exact_attention, 20, exact) \
  X(flat_rows, 16, exact) \
  X(spread_rows, 8, exact) \
  X(saturation, 24, exact) \
  X(roots, 6, exact)
// clang-format on

#define FUSESMITH_PIECE(name, weight, needs) bool add_##name(Scene&);
FUSESMITH_FOR_EACH_PIECE(FUSESMITH_PIECE)
#undef FUSESMITH_PIECE

std::span<const Piece> all_pieces();

// free_op with one of the ops of these names.
bool add_op_of(Scene& scene, const std::vector<std::string>& names);
// One of the pattern's examples, or of its near misses.
bool add_example_of(Scene& scene, const Pattern& pattern);
bool add_near_miss_of(Scene& scene, const Pattern& pattern);

// x [..., k] -> [..., n] by linear, matmul or einsum (the weight sometimes transposed or one per batch), with
// or without a bias.
Value project(Scene& scene, Value x, int64_t n);
// x plus a bias that broadcasts to it, in either order; the bias is sometimes a slice of a longer one.
Value add_bias(Scene& scene, Value x);
// LayerNorm, RMSNorm or GroupNorm with or without weight and bias, sometimes computed in f32 between casts.
Value normalize(Scene& scene, Value x);
// One of relu, gelu, silu and sigmoid.
Value activate(Scene& scene, Value x);
// a + b or b + a; both have the same shape.
Value add_either_way(Scene& scene, Value a, Value b);
// Attention of x [b, t, d] with projections, to itself or to another sequence -> [b, t, d]. Empty where
// the scores would be too large.
std::optional<Value> self_attention(Scene& scene, Value x);
// softmax(scale q k^T + mask) v in unfused ops. q [..., t, d], k [..., s, d], v [..., s, e]; leading axes
// broadcast.
Value attend(Scene& scene, Value q, Value k, Value v);
// [b, key heads, t, e] -> [b, heads, t, e]: neighbouring query heads share a key head.
Value repeat_heads(Scene& scene, Value x, int64_t heads);
// Two linear layers with an activation or a gated activation between them; the result has the shape of x.
Value feed_forward(Scene& scene, Value x);

// x [..., n] as a matrix [rows, n].
Value as_rows(Scene& scene, Value x);
// Movement ops with attributes that fit a tensor of this shape (rank 1 to 5).
Permute random_permute(Scene& scene, const Shape& shape);
Reshape random_reshape(Scene& scene, Shape shape);
Slice random_slice(Scene& scene, const Shape& shape);
BroadcastTo random_broadcast(Scene& scene, Shape shape);
// One or more distinct axes of a tensor of this rank; some count from the end.
Shape random_axes(Scene& scene, int rank);
// Empty where no axis can be divided.
std::optional<Chunk> random_chunk(Scene& scene, const Shape& shape);
// i32[count], distinct and in [0, size). Requires count <= size.
Value distinct_indices(Scene& scene, int64_t count, int64_t size);
// The cache with new rows along the axis: appended (or replacing the oldest rows), or written at indices.
Value updated_cache(Scene& scene, Value cache, int64_t axis, Value rows);
// For rope of rows of `width` elements, 2 or more: 0 (all), or an even number of them.
int64_t draw_rotary_dim(Scene& scene, int64_t width);
// Rotary embedding of x [..., d] or of the first elements of its rows; d is 2 or more.
Value rotate(Scene& scene, Value x);
// The operands k and v and the mask that the op's attributes require, for a live q [..., t, d]. Chooses
// the op's causal alignment. Returns all operands.
std::vector<Value> sdpa_operands(Scene& scene, Sdpa& op, Value q);

}  // namespace fusesmith::fuzz
