// Pattern: one rewrite of the graph compiler under test. A pattern file provides its name, a matcher (with
// legality conditions and contract), examples that it must match completely, and near misses: similar
// graphs that it must not match.
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

// What a matcher found. Nodes in any order. If a value other than that of the last node in graph order
// leaves the region, the matcher must check can_run_together.
struct Match {
  std::vector<int> nodes;
  std::vector<std::string> patterns;  // the first one is reported in signatures
  Contract contract;
  FusedOp op;
};

// Sizes for examples, each at least 1. A recipe increases a size where its name requires it.
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
  bool unrecognised = false;  // of a near miss: no guard has to reject it
};
// For a near miss that lacks an op of the pattern, or that an earlier pattern matches.
inline constexpr bool kUnrecognised = true;

struct Pattern {
  std::string_view name;
  std::string_view doc;  // one line
  // Returns the match whose last node (sdpa, pointwise_chain, ...) or first node (gemm_bias_act) is this
  // one.
  std::optional<Match> (*match)(const MatchContext& context, int node) = nullptr;
  std::span<const GraphRecipe> examples;
  std::span<const GraphRecipe> near_misses;
  // The names that its matcher may pass to MatchContext::refuse. Empty if the pattern is legal wherever
  // its ops occur.
  std::span<const std::string_view> guards = {};
};

// The one list of patterns, in the order in which they claim nodes.
std::span<const Pattern> all_patterns();
const Pattern* find_pattern(std::string_view name);

}  // namespace fusesmith::backends
