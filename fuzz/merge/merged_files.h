// The texts of the files that only merged work directories have, or have in another form (docs/workdir.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fuzz/merge/merge_source.h"

namespace fusesmith::fuzz {

// campaign.json: each value that all shards have, or an array of those that differ; the keys of the shards.
std::string merged_identity(const std::vector<Shard>& shards);

// Sums, with the course that shards that run beside each other have.
Stats merged_stats(const std::vector<Shard>& shards);

// shards/KEY/source.json.
std::string source_text(const Shard& shard);

// seen_in.json of a finding. `seen`: shards that have the finding, with their work directories, by key; those
// that count it are added.
std::string seen_in_text(const std::string& signature, const std::string& kept_from,
                         std::map<std::string, std::string> seen, const std::vector<Shard>& shards);

}  // namespace fusesmith::fuzz
