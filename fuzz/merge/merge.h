// Merges work directories of campaigns into one, which has their findings, the sums of their counts and a
// small corpus with the coverage of theirs (docs/workdir.md). Others only read it: no campaign can run in it.
//
// What it holds of each shard is a copy of that shard's counts, and all sums are made anew from these copies,
// so that a merge that is repeated, or continued after it was interrupted, counts nothing twice; and what was
// merged once stays when its source is gone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/base/exit_code.h"
#include "fuzz/merge/merge_source.h"

namespace fusesmith::fuzz {

struct MergeOptions {
  std::string destination;
  std::vector<std::string> sources;
  ListFolder list;
  std::function<bool()> stop;  // asked between files; true ends the merge early
};

struct MergeResult {
  std::vector<Shard> shards;          // of the destination, sorted by key
  Stats stats;                        // their sums
  std::vector<std::string> notes;     // what is as it should be, but may surprise
  std::vector<std::string> problems;  // what was passed over
  size_t findings = 0, new_findings = 0;
  size_t corpus_read = 0, corpus_kept = 0, cells = 0;  // different cases; cells of coverage that they have
  bool stopped = false;
};

struct MergeFailure {
  std::string what;
  ExitCode code;
};

// The failure: the destination cannot be written, or is no merged work directory.
std::variant<MergeResult, MergeFailure> merge(const MergeOptions& options);

}  // namespace fusesmith::fuzz
