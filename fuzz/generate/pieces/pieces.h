// The pieces that graphs are made of, one file per family, and the building blocks that several families
// share. A piece reads live values of the scene and keeps new ones; it returns false where the scene has
// nothing for it (what it added is undone).
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "fuzz/generate/scene.h"

namespace fusesmith::fuzz {

using Value = Scene::Value;

struct Piece {
  std::string_view name;
  int weight;  // how often it is tried, against the others
  bool (*add)(Scene&);
  enum class Needs : uint8_t {
    nothing,
    steps,  // made for cases of several steps alone: it carries a state
    exact,  // only in scenes whose every value lies on a grid
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
  X(wide, 2, nothing) \
  X(block, 2, nothing) \
  X(triangle, 2, nothing) \
  X(free_op, 30, nothing) \
  X(pattern, 14, nothing) \
  X(near_miss, 10, nothing) \
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

// x [..., k] -> [..., n] by linear, matmul or einsum (the weight sometimes transposed or one per batch), with
// or without a bias.
Value project(Scene& scene, Value x, int64_t n);
// x plus a bias that broadcasts to it, in either order; the bias is sometimes a slice of a longer one.
Value add_bias(Scene& scene, Value x);
// LayerNorm, RMSNorm or GroupNorm with or without weight and bias, sometimes computed in f32 between casts.
Value normalize(Scene& scene, Value x);
// relu, gelu, silu, sigmoid.
Value activate(Scene& scene, Value x);
// a + b of one shape, in either order.
Value add_either_way(Scene& scene, Value a, Value b);
// Attention of x [b, t, d], with projections, over itself or another sequence -> [b, t, d]; nothing where its
// scores would be too large.
std::optional<Value> self_attention(Scene& scene, Value x);
// softmax(scale q k^T + mask) v in unfused ops; q [..., t, d], k [..., s, d], v [..., s, e], leading axes
// broadcast.
Value attend(Scene& scene, Value q, Value k, Value v);
// x -> hidden -> back, with an activation or a gated one between.
Value feed_forward(Scene& scene, Value x);

// Movement ops with attributes that fit a tensor of this shape (of rank 1 to 5).
Permute random_permute(Scene& scene, const Shape& shape);
Reshape random_reshape(Scene& scene, Shape shape);
Slice random_slice(Scene& scene, const Shape& shape);
BroadcastTo random_broadcast(Scene& scene, Shape shape);
// One or more axes of this rank, each once, some counted from the end.
Shape random_axes(Scene& scene, int rank);
// Nothing where no axis can be cut.
std::optional<Chunk> random_chunk(Scene& scene, const Shape& shape);
// i32[count], all different and in [0, size); count <= size.
Value distinct_indices(Scene& scene, int64_t count, int64_t size);
// The cache with new rows along the axis, in their type's number: appended behind the rest (or in its place),
// or written at indices.
Value updated_cache(Scene& scene, Value cache, int64_t axis, Value rows);
// Rotary embedding of x [..., d], d even.
Value rotate(Scene& scene, Value x);
// q, k, v and the mask that the op's attributes ask for, for a live q [..., t, d]; chooses the op's causal
// alignment.
std::vector<Value> sdpa_operands(Scene& scene, Sdpa& op, Value q);

}  // namespace fusesmith::fuzz
