// Which cases of a corpus to keep: few that have the coverage of all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/case.h"

namespace fusesmith::fuzz {

// What the case covers, as cells of coverage (fuzz/counts/coverage.h), each once, sorted: ops, pairs of
// ops, and what the rewriter matches and refuses in its graph. The case is not run, so that the backends of a
// campaign do not matter.
std::vector<uint32_t> cells_of(const Case& test_case);

struct CorpusCase {
  std::string name;
  size_t bytes = 0;
  std::vector<uint32_t> cells;
};

// Indices of the cases to keep, sorted: greedily the one with most cells that no other one has yet, smaller
// files and then names first; then without those that the later ones made redundant. The result depends on
// the cases alone, not on their order, and is what it was if it is chosen from again.
std::vector<size_t> choose_corpus(const std::vector<CorpusCase>& cases);

}  // namespace fusesmith::fuzz
