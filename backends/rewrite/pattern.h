// Pattern: one rewrite of the graph compiler under test. A pattern file gives its name, matcher (with
// legality and contract), examples that it must match as a whole, and near misses: graphs much like them that
// it must leave alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/rewrite/fused_op.h"
#include "backends/rewrite/matching/match_context.h"
#include "oracle/contract.h"

namespace fusesmith::backends {

// What a pattern found. The nodes may stand in any order. Where another value than that of the last one in
// graph order leaves the region, the matcher asks can_run_together.
struct Match {
  std::vector<int> nodes;
  std::vector<std::string> patterns;  // the first is the one to blame
  Contract contract;
  FusedOp op;
};

// Sizes for examples; each at least 1. A recipe raises a size where it needs more to be what its name says.
struct ExampleDims {
  int64_t batch = 2;
  int64_t heads = 2;
  int64_t rows = 5;   // queries, tokens, M
  int64_t cols = 7;   // keys, N
  int64_t depth = 8;  // head size, K, features to normalise
  int64_t width = 6;  // head size of v
};

// A named way to build a graph of a float dtype.
struct GraphRecipe {
  std::string_view name;
  Graph (*build)(Dtype dtype, const ExampleDims& dims);
  bool unrecognised = false;  // of a near miss: no guard has to refuse it
};
// Of a near miss that lacks an op of the pattern, or that an earlier pattern claims.
inline constexpr bool kUnrecognised = true;

struct Pattern {
  std::string_view name;
  std::string_view doc;  // one line
  // The match whose last (sdpa, pointwise_chain, ...) or first (gemm_bias_act) node is this one, if there is
  // one.
  std::optional<Match> (*match)(const MatchContext& context, int node) = nullptr;
  std::span<const GraphRecipe> examples;
  std::span<const GraphRecipe> near_misses;
  // All that its matcher may name to MatchContext::refuse; none where it is legal wherever its ops stand.
  std::span<const std::string_view> guards = {};
};

// The one list, in the order in which patterns claim nodes.
std::span<const Pattern> all_patterns();
const Pattern* find_pattern(std::string_view name);

}  // namespace fusesmith::backends
