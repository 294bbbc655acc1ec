// What `merge` reads: work directories of campaigns, which may be running on other machines, work directories
// that are merged already, and folders of cases. Nothing in them is written, and no link in a work directory
// is followed. Only whole files count, whatever a listing of their folders shows: a file that is not listed
// yet is asked for by its name where another file names it, and a file that is listed but gone is passed
// over.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/base/work_path.h"
#include "fuzz/counts/stats.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

// Lists a folder: names_in (fuzz/base/work_path.h), or what a test has instead of it.
using ListFolder = std::function<Result<std::vector<std::string>>(const WorkPath&)>;

inline constexpr const char *kShardsFolder = "shards", *kSourceFile = "source.json",
                            *kMergedFrom = "merged_from";

// The campaign of one work directory. Two with the same key judge the same cases: then the one that is
// further on has all counts of the other.
struct Shard {
  std::string key;      // a name for a folder, such as 1-0-5f0c2a91 (seed, index of the shard, the rest)
  std::string workdir;  // where it was last read
  std::string identity_text;  // campaign.json
  std::string stats_text;     // stats.json; empty where no counts were saved yet
  Stats stats;
  std::string problem;  // why the counts cannot be read; empty if they can

  int64_t judged() const { return stats.cases + stats.invalid; }
};

// A finding, as one work directory has it.
struct FoundCopy {
  std::string signature;
  WorkPath folder;
  std::map<std::string, uint64_t> files = {};  // to copy, by name; with their sizes
  bool reported = false;  // completely: report.md is not that of a finding that was just met
  Case smallest = {};     // min.json, or case.json where there is none
  std::string key = {};   // of the shard that minimized it
  std::map<std::string, std::string> seen = {};  // shards that have it, with their work directories, by key
};

struct MergeSource {
  std::string path;
  bool merged = false;                       // several shards, by an earlier merge
  std::vector<Shard> shards = {};            // none: a folder of cases
  std::vector<std::string> signatures = {};  // of findings, sorted
  std::vector<WorkPath> corpus = {};         // case files
  std::vector<std::string> problems = {};    // what was passed over, one line each
};

// The key of a campaign.json, or what is wrong with it.
Result<std::string> shard_key(const std::string& identity_text);

// A problem if nothing of the source can be used.
Result<MergeSource> read_source(const std::string& path, const ListFolder& list);

// The shards of a merged work directory. `keys`: what its campaign.json names.
std::vector<Shard> read_merged_shards(const WorkPath& workdir, const ListFolder& list,
                                      std::vector<std::string>& problems);

// Nothing if the source does not have the finding, or not completely: the latter is a problem.
std::optional<FoundCopy> read_found(MergeSource& source, const std::string& signature,
                                    const ListFolder& list);

// Whether the folder's campaign.json was written by `merge`.
bool is_merged(const WorkPath& workdir);

}  // namespace fusesmith::fuzz
