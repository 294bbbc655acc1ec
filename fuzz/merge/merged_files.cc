#include "fuzz/merge/merged_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The last sample that is not later; null if there is none.
const Sample* sample_at(const std::vector<Sample>& history, double elapsed_s) {
  const auto later =
      std::upper_bound(history.begin(), history.end(), elapsed_s,
                       [](double time, const Sample& sample) { return time < sample.elapsed_s; });
  return later == history.begin() ? nullptr : &*(later - 1);
}

std::vector<double> times_of(const std::vector<Shard>& shards) {
  std::set<double> all;
  for (const Shard& shard : shards) {
    for (const Sample& sample : shard.stats.history) all.insert(sample.elapsed_s);
  }
  const std::vector<double> times(all.begin(), all.end());
  const size_t step = times.size() / Stats::kMaxSamples + 1;
  std::vector<double> some;
  for (size_t i = (times.size() + step - 1) % step; i < times.size(); i += step) some.push_back(times[i]);
  return some;
}

// As if all shards had begun at one time. A finding that several shards have counts once at the end, and
// before that once for each.
std::vector<Sample> merged_history(const std::vector<Shard>& shards, const Stats& sums) {
  const auto findings = static_cast<int64_t>(sums.findings.size());
  std::vector<Sample> history;
  for (const double time : times_of(shards)) {
    Sample sum{.elapsed_s = time};
    for (const Shard& shard : shards) {
      const Sample* sample = sample_at(shard.stats.history, time);
      if (!sample) continue;
      sum.cases += sample->cases;
      sum.findings += sample->findings;
      for (size_t i = 0; i < sum.verdicts.size(); ++i) sum.verdicts[i] += sample->verdicts[i];
    }
    sum.findings = std::min(sum.findings, findings);
    history.push_back(sum);
  }
  if (sums.cases == 0) return history;
  if (!history.empty() && history.back().elapsed_s >= sums.elapsed_s) history.pop_back();
  history.push_back({sums.elapsed_s, sums.cases, findings, sums.verdicts});
  return history;
}

}  // namespace

std::string merged_identity(const std::vector<Shard>& shards) {
  Json values = Json::object(), keys = Json::array();
  for (const Shard& shard : shards) {
    keys.push_back(shard.key);
    const Json identity = parse_record(shard.identity_text);
    if (!identity.is_object()) continue;
    for (const auto& [name, value] : identity.items()) {
      Json& all = values[name];
      if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
    }
  }
  for (auto& [name, all] : values.items()) {
    if (all.size() == 1 && name != "shard") all = Json(all[0]);
  }
  values[kMergedFrom] = keys;
  return text_of(values);
}

Stats merged_stats(const std::vector<Shard>& shards) {
  Stats sums = Stats::with_patterns();
  sums.shard = "merged";
  const auto same_seed = [&](const Shard& shard) { return shard.stats.seed == shards[0].stats.seed; };
  if (!shards.empty() && std::all_of(shards.begin(), shards.end(), same_seed))
    sums.seed = shards[0].stats.seed;
  for (const Shard& shard : shards) sums.add(shard.stats);
  sums.limit_reasons();
  sums.history = merged_history(shards, sums);
  return sums;
}

std::string source_text(const Shard& shard) { return text_of({{"workdir", shard.workdir}}); }

std::string seen_in_text(const std::string& signature, const std::string& kept_from,
                         std::map<std::string, std::string> seen, const std::vector<Shard>& shards) {
  int64_t cases = 0;
  Json rows = Json::array();
  for (const Shard& shard : shards) {
    const auto counted = shard.stats.findings.find(signature);
    if (counted != shard.stats.findings.end()) {
      cases += counted->second;
    } else if (!seen.contains(shard.key)) {
      continue;
    }
    seen.erase(shard.key);
    rows.push_back({{"key", shard.key},
                    {"seed", shard.stats.seed},
                    {"shard", shard.stats.shard},
                    {"workdir", shard.workdir},
                    {"cases", counted == shard.stats.findings.end() ? 0 : counted->second}});
  }
  for (const auto& [key, workdir] : seen) rows.push_back({{"key", key}, {"workdir", workdir}, {"cases", 0}});
  return text_of({{"signature", signature}, {"cases", cases}, {"kept_from", kept_from}, {"shards", rows}});
}

}  // namespace fusesmith::fuzz
