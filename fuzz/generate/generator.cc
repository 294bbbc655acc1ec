#include "fuzz/generate/generator.h"

#include <algorithm>

#include "fuzz/generate/focus.h"
#include "fuzz/generate/layouts.h"
#include "fuzz/generate/pieces/pieces.h"
#include "fuzz/generate/single_op.h"

namespace fusesmith::fuzz {
namespace {

// The number of nodes to aim for: usually between 10 and the maximum, sometimes fewer.
int64_t target_nodes(Choices& choices, int max_nodes) {
  const int64_t most = std::max(1, max_nodes);
  if (choices.flip(0.15)) return choices.between(1, std::min<int64_t>(9, most));
  return choices.between(std::min<int64_t>(10, most), most);
}

bool is_wanted(const GeneratorOptions& options, const Piece& piece) {
  return options.pieces.empty() ||
         std::find(options.pieces.begin(), options.pieces.end(), piece.name) != options.pieces.end();
}

// Whether a scene with several steps, or with exact data, can use the piece.
bool serves(const Piece& piece, bool steps, bool exact) {
  return piece.needs == Piece::Needs::nothing || (piece.needs == Piece::Needs::steps ? steps : exact);
}

std::vector<int> weights_of(const GeneratorOptions& options, const Scene& scene) {
  std::vector<int> weights;
  for (const Piece& piece : all_pieces()) {
    const bool wanted = is_wanted(options, piece) && serves(piece, scene.steps > 1, scene.exact);
    weights.push_back(wanted ? piece.weight : 0);
  }
  return weights;
}

// A case has several steps only in order to exercise states.
void add_first_state(Scene& scene, const GeneratorOptions& options) {
  for (const Piece& piece : all_pieces()) {
    if (piece.needs != Piece::Needs::steps || !is_wanted(options, piece) || !scene.attempt(piece.add))
      continue;
    scene.parts.pieces.emplace_back(piece.name);
    return;
  }
}

bool has_op(const Graph& graph, size_t index) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const Node& node) { return node.op.index() == index; });
}

Case generate_graph(Choices& choices, const GeneratorOptions& options, CaseParts& parts) {
  Case result;
  result.seed = static_cast<uint64_t>(choices.below(int64_t{1} << 32));
  Scene scene(choices, options);
  int64_t target = target_nodes(choices, options.max_nodes);
  const Focus focus = options.engine == Engine::focused ? draw_focus(scene, options) : Focus();
  if (scene.steps > 1) {
    target = std::max<int64_t>(3, 2 * target / scene.steps);
    add_first_state(scene, options);
  }
  const std::vector<int> weights = weights_of(options, scene);
  // Pieces that decline or exceed the budget are undone. After this many of them in a row the graph is
  // considered full. In exact scenes most pieces decline for most values.
  const int patience = scene.exact ? 60 : 12;
  for (int refused = 0; scene.sketch.node_count() < target && refused < patience;) {
    if (focus && scene.flip(kFocusedSteps)) {
      refused += !scene.attempt(focus);
      continue;
    }
    const Piece& piece = all_pieces()[choices.weighted(weights)];
    if (scene.attempt(piece.add))
      scene.parts.pieces.emplace_back(piece.name);
    else
      ++refused;
  }
  if (scene.sketch.node_count() == 0) {
    const Value x = scene.activation({scene.dtype, {scene.batch}});
    scene.op(Relu{}, {x});
  }
  if (scene.sketch.has_states()) result.steps = scene.steps;
  result.graph = scene.finish();
  scene.parts.style = kDataStyles[static_cast<size_t>(scene.style)];
  result.policy.tf32 = choices.flip(0.1);
  if (choices.flip(scene.habits.layouts))
    result.graph = with_layouts(choices, std::move(result.graph), scene.exact);
  parts = std::move(scene.parts);
  return result;
}

}  // namespace

// Where an op that was added to the list later was drawn, but is not in the graph (it was undone, say), the
// case is made without that op: so an op changes only those cases of a seed that contain it.
Case generate(Choices& choices, const GeneratorOptions& options, CaseParts* parts) {
  if (!options.ops.empty()) return generate_single_op(choices, options, parts);
  std::set<int> barred;
  for (size_t op = options.known_ops; op < std::variant_size_v<OpVariant>; ++op)
    barred.insert(static_cast<int>(op - kFirstOps));
  for (;;) {
    Choices tried = choices;
    tried.bar(barred);
    CaseParts own;
    Case result = generate_graph(tried, options, own);
    const int latest = tried.take_latest();
    if (latest >= 0 && !has_op(result.graph, kFirstOps + static_cast<size_t>(latest))) {
      barred.insert(latest);
      continue;
    }
    choices = std::move(tried);
    choices.bar({});
    if (parts) *parts = std::move(own);
    return result;
  }
}

Case generate_case(uint64_t seed, uint64_t shard, uint64_t counter, const GeneratorOptions& options,
                   CaseParts* parts) {
  Choices choices(seed, shard, counter);
  return generate(choices, options, parts);
}

Engine parse_engine(std::string_view word) {
  const auto at = std::find(kEngines.begin(), kEngines.end(), word);
  check(at != kEngines.end(), "no such engine");
  return static_cast<Engine>(at - kEngines.begin());
}

std::vector<std::string> engines() { return {kEngines.begin(), kEngines.end()}; }

DataMix parse_data_mix(std::string_view word) {
  const auto at = std::find(kDataMixes.begin(), kDataMixes.end(), word);
  check(at != kDataMixes.end(), "no such mix of data");
  return static_cast<DataMix>(at - kDataMixes.begin());
}

std::vector<std::string> data_mixes() { return {kDataMixes.begin(), kDataMixes.end()}; }

std::vector<std::string_view> piece_names(DataMix data) {
  std::vector<std::string_view> names;
  for (const Piece& piece : all_pieces()) {
    const bool exact = data == DataMix::lattice;
    if (serves(piece, !exact, exact)) names.push_back(piece.name);
  }
  return names;
}

void GenerationCoverage::add(const Case& test_case, const CaseParts& parts) {
  const auto count = [](std::map<std::string, int64_t>& counts, std::vector<std::string> words) {
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (std::string& word : words) ++counts[std::move(word)];
  };
  ++cases;
  nodes += static_cast<int64_t>(test_case.graph.nodes().size());
  std::vector<std::string> fill_names, dtype_names;
  for (const Input& input : test_case.graph.inputs()) fill_names.emplace_back(name(input.fill));
  for (ValueId v = 0; v < test_case.graph.value_count(); ++v)
    dtype_names.emplace_back(name(test_case.graph.type(v).dtype));
  for (const Node& node : test_case.graph.nodes()) ++ops[std::string(name(node.op))];
  count(fills, std::move(fill_names));
  count(dtypes, std::move(dtype_names));
  count(pieces, parts.pieces);
  count(examples, parts.examples);
  count(near_misses, parts.near_misses);
}

std::string to_string(const GenerationCoverage& coverage) {
  std::string text =
      std::to_string(coverage.cases) + " cases, " + std::to_string(coverage.nodes) + " nodes\n";
  const auto line = [&](std::string_view title, const std::map<std::string, int64_t>& counts) {
    text += std::string(title) + ":";
    for (const auto& [word, n] : counts) text += " " + word + " " + std::to_string(n);
    text += "\n";
  };
  line("ops", coverage.ops);
  line("pieces", coverage.pieces);
  line("examples", coverage.examples);
  line("near misses", coverage.near_misses);
  line("fills", coverage.fills);
  line("dtypes", coverage.dtypes);
  return text;
}

}  // namespace fusesmith::fuzz
