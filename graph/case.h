// Case: a graph, the recipe for its data, the number of steps, and the user's policy. A case file contains
// exactly this, as JSON (docs/case.md, docs/case.schema.json).
//
// graph/ holds what a case consists of, and executes nothing: dtypes and tensors, ops, graphs (graph.h), data
// (fill.h) and JSON. Each op has a header in ops/ and a line in op_list.h, also one that reduces an axis.
// A new op: docs/adding.md.
#pragma once

#include <map>

#include "graph/graph.h"

namespace fusesmith::graph {

inline constexpr int kCaseVersion = 1;
inline constexpr int64_t kMaxSteps = 1 << 20;

struct Policy {
  enum class ImplicitCasts : uint8_t {
    may_elide,  // a region may drop or add the roundings that its contract declares
    strict,     // a region may not: declared deviations are findings, too
  };
  static constexpr std::string_view kImplicitCasts[] = {"may_elide", "strict"};

  bool tf32 = false;
  ImplicitCasts implicit_casts = ImplicitCasts::may_elide;
  std::vector<std::string> skip_patterns;     // turned off when this case is planned
  std::vector<std::string> metamorphic = {};  // checks to run beside the judgement (fuzz/run/metamorphic.h)
  std::string replaced = {};                  // by the check isolation (graph/replacement.h); empty: drawn

  static constexpr auto fields() {
    return std::tuple{
        Field{"tf32", &Policy::tf32, Free{"products may round f32 inputs to tf32"}},
        Field{"implicit_casts", &Policy::implicit_casts, AnyOf{kImplicitCasts}},
        Field{"skip_patterns", &Policy::skip_patterns, Free{"names of patterns not to use"}},
        Field{"metamorphic", &Policy::metamorphic,
              Free{"metamorphic checks to run: scaling, exchange, isolation, subset, and what is required of "
                   "the "
                   "candidate: batch_invariance, position_invariance"}},
        Field{"replaced", &Policy::replaced,
              Free{"what the check isolation replaces: x[:,3:5] = nan, inf, huge, mixed or other"}}};
  }
  bool operator==(const Policy&) const = default;
};

// The result that a corpus file promises. replay fails if it differs.
struct Expect {
  std::vector<std::string> backends;
  std::string verdict;
  std::vector<std::string> deviations;  // exactly these are used by the candidate, in the judge's words; only
                                        // read with precision_policy
  std::string signature;                // empty: any

  static constexpr auto fields() {
    return std::tuple{
        Field{"backends", &Expect::backends, Free{"names of the backends compared"}},
        Field{"verdict", &Expect::verdict, Free{"a verdict's name"}, true},
        Field{"deviations", &Expect::deviations, Free{"exactly what the candidate deviates in"}},
        Field{"signature", &Expect::signature, Free{"the finding's signature"}}};
  }
  bool operator==(const Expect&) const = default;
};

// Compares two definitions in one case: the candidate delivers the bits of output `by` in place of
// `value`, an output of the same type that no node reads (decision 37).
struct StandIn {
  std::string value, by;

  static constexpr auto fields() {
    return std::tuple{
        Field{"value", &StandIn::value, Free{"an output that no node reads"}, true},
        Field{"by", &StandIn::by, Free{"the output whose bits the candidate delivers there"}, true}};
  }
  bool operator==(const StandIn&) const = default;
};

struct Case {
  uint64_t seed = 0;
  int64_t steps = 1;
  Policy policy;
  Graph graph;
  std::optional<Expect> expect;
  std::vector<StandIn> stand_ins;
  // The keys "comment" and "$schema", for people and editors; of no effect.
  std::string comment = {}, schema = {};
  bool operator==(const Case&) const = default;
};

// The data of an input at one step, or of a state at the first. Its layout has no part in it.
Tensor data_of(const Case& test_case, const Input& input, int64_t step = 0);
Tensor data_of(const Case& test_case, const State& state);
// The tensors of all inputs at one step, in the graph's order, in separate memory.
std::vector<Tensor> make_inputs(const Case& test_case, int64_t step = 0);

// Whether an input or state has its data in a file beside the case (graph/data_files.h).
bool has_data_files(const Case& test_case);

// "stand_ins[0].by: ..." for the first stand-in that violates the rules of StandIn.
std::optional<Problem> stand_in_problem(const Case& test_case);

// JSON, both ways. Reading is strict: unknown keys, wrong types, forward references, bad shapes and absurd
// sizes are one-line problems that name the place. Writing what was read gives the same text; reading what
// was written gives the same case. `data`: where the files are that fills of the kind `file` name.
Result<Case> parse_case(std::string_view text, const DataFiles& data = {});
std::string to_json(const Case& test_case);
// The problem starts with the file's name.
Result<Case> read_case_file(const std::string& path);

}  // namespace fusesmith::graph
