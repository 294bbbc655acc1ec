// Minimization: looks for the smallest case that fails with the same signature, by applying the edits that
// the reductions propose. Deterministic for a deterministic predicate, unless max_seconds ends it. Every
// accepted case failed when it was run; the last one failed twice.
//
// minimizer/ holds edits (edit.h), reductions, which propose them (reductions/, one file each, in list.def),
// and neighbours.h, which finds the sizes, dtypes and magnitudes for which a case fails. A new reduction:
// docs/adding.md. (An op that reduces an axis is in graph/ops/.)
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "minimizer/measure.h"
#include "minimizer/reductions.h"

namespace fusesmith::minimizer {

// Interestingness test: runs a case. Nothing when it passes or cannot be run.
using Predicate = std::function<std::optional<Probe>(const Case&)>;

struct Progress {
  std::string_view reduction;
  std::string edit;
  int64_t queries = 0;
  Measure measure;
};

struct MinimizeOptions {
  int64_t max_queries = 10000;  // calls of the predicate, its checks of the start and of the result included
  double max_seconds = 600;
  // Only reductions that keep the graph: what fails computes this one, whatever graph it is given.
  bool fixed_graph = false;
  // The graph is meant for these sizes alone: with others, it would have other attributes or nodes.
  bool keep_sizes = false;
  // Inputs and states whose data is not replaced by simpler one, since only such data is meant.
  std::vector<std::string> keep_data = {};
  std::function<void(const Progress&)> on_progress = nullptr;  // after every edit taken
  // Once for each other signature met on the way, with the first case that showed it: a finding of its own.
  std::function<void(const std::string& signature, const Case& test_case)> on_other = nullptr;
};

struct MinimizeResult {
  Case test_case;  // fails, unless `fails` is false: then it is the start, which did not
  bool fails = false;
  std::string signature;   // of the start and of the result
  bool flaky = false;      // an accepted case did not fail again: the result is an earlier one
  bool exhausted = false;  // stopped by max_queries or max_seconds
  int64_t queries = 0;
  double seconds = 0;
  std::vector<std::string> edits;  // taken, in order
  Measure before, after;
};

// `seen`: the predicate's answer for the start, if it is known; else the predicate is called with the start.
MinimizeResult minimize(const Case& start, const Predicate& predicate, const MinimizeOptions& options = {},
                        std::optional<Probe> seen = {});

}  // namespace fusesmith::minimizer
