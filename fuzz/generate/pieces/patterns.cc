// Inserts examples and near misses of the rewrite patterns into the graph. Some of their float inputs are
// live values of equal type. Their results are used later, and sometimes an inner value is, too, which
// forbids its fusion.
#include <algorithm>
#include <optional>
#include <vector>

#include "backends/rewrite/kernel_tiles.h"
#include "backends/rewrite/pattern.h"
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

// Sizes for which kernels have fast paths: multiples of a tile.
ExampleDims aligned_dims(Scene& s) {
  ExampleDims dims;
  dims.batch = s.batch;
  dims.heads = s.choices.between(1, 4);
  for (int64_t* size : {&dims.rows, &dims.cols, &dims.depth, &dims.width})
    *size = 16 * s.choices.between(1, 4);
  return dims;
}

// Long rows to multiply or to normalise. The other sizes stay small, because recipes may square a size.
ExampleDims wide_dims(Scene& s) {
  ExampleDims dims{1, 1, s.dim(8), s.dim(17), s.dim(17), s.dim(17)};
  (s.flip() ? dims.cols : dims.depth) = s.choices.pick<int64_t>({1000, 1024, 1025, 2048});
  return dims;
}

// Sizes at the edges of the tiles of the pattern's kernels: one more than a tile or two, one less, and none.
std::optional<ExampleDims> tile_dims(Scene& s, std::string_view pattern) {
  std::vector<int64_t> tiles;
  for (const KernelTile& tile : kKernelTiles) {
    if (tile.pattern == pattern) tiles.push_back(tile.size);
  }
  if (tiles.empty()) return std::nullopt;
  ExampleDims dims{s.choices.between(1, 2), s.choices.between(1, 2), s.dim(9), s.dim(9), s.dim(17), s.dim(9)};
  int64_t* const sizes[] = {&dims.rows, &dims.cols, &dims.depth, &dims.width};
  for (int64_t few = s.choices.between(1, 2); few > 0; --few) {
    const int64_t tile = s.choices.pick(std::span<const int64_t>(tiles));
    const int64_t tiles_of_size = tile < 64 ? s.choices.between(1, 2) : 1;
    const int64_t rest = s.choices.pick<int64_t>({1, 1, 0, -1});
    *s.choices.pick(std::span<int64_t* const>(sizes)) = tiles_of_size * tile + rest;
  }
  return dims;
}

// Sizes that are equal by accident, or none that are.
void coincide(Scene& s, ExampleDims& dims) {
  switch (s.choices.below(8)) {
    case 0:
      dims.cols = dims.depth = dims.width = dims.rows;
      return;
    case 1:
      dims.batch = dims.rows = s.choices.between(2, 8);
      return;
    case 2: {
      int64_t taken = std::max(dims.batch, dims.heads);
      for (int64_t* size : {&dims.rows, &dims.cols, &dims.depth, &dims.width})
        *size = taken += s.choices.between(1, 8);
      return;
    }
    default:
      return;
  }
}

ExampleDims random_dims(Scene& s, std::string_view pattern) {
  switch (s.choices.weighted(s.habits.sizes)) {
    case 1:
      return aligned_dims(s);
    case 2:
      return wide_dims(s);
    case 3:
      if (const auto dims = tile_dims(s, pattern)) return *dims;
  }
  ExampleDims dims;
  dims.batch = s.batch;
  dims.rows = s.tokens;
  dims.depth = s.width;
  dims.heads = s.choices.between(1, 4);
  dims.cols = s.flip() ? s.tokens : s.dim();
  if (s.flip(0.3)) dims.cols = dims.depth;  // sizes that happen to be equal
  if (s.flip(0.3)) dims.heads = dims.batch;
  dims.width = s.flip() ? s.width : s.dim(64);
  coincide(s, dims);
  return dims;
}

Value planted_input(Scene& s, const Input& input, bool first) {
  if (!is_float(input.type.dtype))
    return s.sketch.input(input.type.dtype == Dtype::i32 ? "ids" : "mask", input.type, input.fill);
  if (s.flip(0.6)) {
    if (const auto value = s.live(input.type)) return *value;
  }
  const bool natural = input.fill == Fill(Normal{});
  if (!natural) return s.sketch.input("c", input.type, input.fill);
  const bool small = !first && input.type.rank() > 0;
  return s.source(small ? "w" : "x", input.type, small ? Role::weight : Role::activation,
                  input.type.rank() > 0 ? input.type.shape.back() : 1);
}

// Copies nodes starting from the outputs, because the order of a recipe's own nodes may depend on the
// compiler.
class Planting {
 public:
  Planting(Scene& scene, const Graph& graph)
      : s_(scene),
        graph_(graph),
        planted_(static_cast<size_t>(graph.value_count()), -1),
        share_inner_(scene.flip(0.1)) {}

  Value plant(ValueId value) {
    Value& planted = planted_[static_cast<size_t>(value)];
    if (planted >= 0) return planted;
    const auto producer = graph_.producer(value);
    if (graph_.is_state(value)) return planted = s_.state(graph_.type(value));
    if (!producer) {
      planted = planted_input(s_, graph_.inputs()[static_cast<size_t>(value)], first_input_);
      first_input_ = false;
      return planted;
    }
    const Node& node = graph_.nodes()[static_cast<size_t>(*producer)];
    std::vector<Value> inputs;
    for (ValueId v : node.inputs) inputs.push_back(plant(v));
    const Value first = s_.op(node.op, inputs);
    for (int i = 0; i < node.output_count; ++i)
      planted_[static_cast<size_t>(node.first_output + i)] = first + i;
    if (share_inner_ && s_.flip(0.4)) s_.keep(first);
    return planted;
  }

 private:
  Scene& s_;
  const Graph& graph_;
  std::vector<Value> planted_;  // indexed by the example's values
  bool share_inner_;
  bool first_input_ = true;
};

void plant(Scene& s, const Graph& graph) {
  Planting planting(s, graph);
  for (ValueId v : graph.outputs()) s.keep(planting.plant(v));
  const auto first = static_cast<ValueId>(graph.inputs().size());
  for (size_t i = 0; i < graph.states().size(); ++i) {
    const Value state = planting.plant(first + static_cast<ValueId>(i));
    s.sketch.set_next(state, planting.plant(graph.states()[i].next));
    if (s.flip(0.2)) s.keep(state);
  }
}

const Pattern& random_pattern(Scene& s) { return s.choices.pick(all_patterns()); }

}  // namespace

bool add_pattern(Scene& s) { return add_example_of(s, random_pattern(s)); }

bool add_near_miss(Scene& s) { return add_near_miss_of(s, random_pattern(s)); }

bool add_example_of(Scene& s, const Pattern& pattern) {
  const ExampleDims dims = random_dims(s, pattern.name);
  plant(s, s.choices.pick(pattern.examples).build(s.dtype, dims));
  s.parts.examples.emplace_back(pattern.name);
  return true;
}

bool add_near_miss_of(Scene& s, const Pattern& pattern) {
  const ExampleDims dims = random_dims(s, pattern.name);
  plant(s, s.choices.pick(pattern.near_misses).build(s.dtype, dims));
  s.parts.near_misses.emplace_back(pattern.name);
  return true;
}

}  // namespace fusesmith::fuzz
