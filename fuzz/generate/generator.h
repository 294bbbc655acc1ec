// The generator: a case is a function of (seed, shard, counter), or of a byte string. Every graph is valid
// by construction. It consists of parts of transformer models (fuzz/generate/pieces/), examples and near
// misses of the rewrite patterns, and random ops, connected through a pool of live values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fuzz/base/choices.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

// How the data of a case is generated. `lattice`: graph and data are chosen so that every region is exact
// and all correct executions agree in every bit. `special`: with infinities, NaN, subnormals and huge
// values. `mixed`: all styles.
enum class DataMix { mixed, natural, lattice, special };
inline constexpr std::array<std::string_view, 4> kDataMixes = {"mixed", "natural", "lattice", "special"};
inline constexpr std::string_view kDataMixValue = "mixed|natural|lattice|special";  // for help texts
// `word` must be one of the words above.
DataMix parse_data_mix(std::string_view word);
std::vector<std::string> data_mixes();

// What draws the choices. `random`: always the same chances. `focused`: most cases concentrate on something
// that random cases seldom meet (fuzz/generate/focus.h).
enum class Engine { random, focused };
inline constexpr std::array<std::string_view, 2> kEngines = {"random", "focused"};
inline constexpr std::string_view kEngineValue = "random|focused";  // for help texts
inline constexpr std::string_view kDefaultEngine = "focused";
// `word` must be one of the words above.
Engine parse_engine(std::string_view word);
std::vector<std::string> engines();

// The ops of graph/op_list.h that have their places in the sequence of cases. It is raised where all cases
// change anyway; one later op is left for the test that a new op changes only the cases that contain it.
inline constexpr size_t kFirstOps = 60;

struct GeneratorOptions {
  int max_nodes = 40;
  int64_t max_operations = int64_t{1}
                           << 22;  // multiply-adds of a graph; one in thirty may use four times as many
  int64_t max_elements = int64_t{1} << 18;  // elements of all its values together
  std::vector<std::string> pieces = {};     // names of the pieces to use (`piece_names`); empty: all
  DataMix data = DataMix::mixed;
  // Ops of graph/op_list.h that may be drawn at random, from the first one on; at least kFirstOps. A case is
  // the same for any number of them that contains its ops.
  size_t known_ops = SIZE_MAX;
  std::vector<std::string> ops = {};  // not empty: each case is one node of one of these ops (`op_names`)
  Engine engine = Engine::random;
};

// What a generated case consists of, for coverage. Pattern names are those of backends/rewrite.
struct CaseParts {
  std::vector<std::string> pieces;
  std::vector<std::string> examples;     // patterns of which an example was inserted
  std::vector<std::string> near_misses;  // patterns of which a near miss was inserted
  std::string_view style;                // style of the data; empty: not a generated case
};

Case generate(Choices& choices, const GeneratorOptions& options = {}, CaseParts* parts = nullptr);
Case generate_case(uint64_t seed, uint64_t shard, uint64_t counter, const GeneratorOptions& options = {},
                   CaseParts* parts = nullptr);

std::vector<std::string_view> piece_names(DataMix data = DataMix::mixed);
std::vector<std::string> op_names();

// The same, summed over many cases.
struct GenerationCoverage {
  int64_t cases = 0, nodes = 0;
  std::map<std::string, int64_t> ops, pieces, examples, near_misses, fills,
      dtypes;  // in how many cases; ops: how many nodes
  void add(const Case& test_case, const CaseParts& parts);
};
std::string to_string(const GenerationCoverage& coverage);

}  // namespace fusesmith::fuzz
