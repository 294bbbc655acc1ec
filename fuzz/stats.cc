#include "fuzz/stats.h"

#include <nlohmann/json.hpp>

#include "backends/rewrite/pattern.h"

namespace fusesmith {

using Json = nlohmann::ordered_json;

namespace {

void add_counts(Counts& sums, const Counts& more) {
  for (const auto& [key, count] : more) sums[key] += count;
}

// The maps of the coverage, with the keys under which stats.json has them.
template <class Coverage, class F>
void for_each_count(Coverage& coverage, F f) {
  f("ops", coverage.ops);
  f("dtypes", coverage.dtypes);
  f("fills", coverage.fills);
  f("pieces", coverage.pieces);
  f("examples", coverage.examples);
  f("near_misses", coverage.near_misses);
}

Json coverage_json(const GenerationCoverage& coverage) {
  Json json = {{"nodes", coverage.nodes}};
  for_each_count(coverage, [&](const char* key, const Counts& counts) { json[key] = counts; });
  return json;
}

Stats stats_of(const Json& json) {
  Stats stats = Stats::with_patterns();
  stats.seed = json.at("seed");
  stats.next = json.at("next_counter");
  stats.shard = json.at("shard");
  stats.cases = json.at("cases");
  stats.invalid = json.at("invalid");
  stats.elapsed_s = json.at("elapsed_s");
  stats.corpus_done = json.at("corpus").at("done");
  stats.corpus_digest = json.at("corpus").at("digest");
  for (size_t i = 0; i < stats.verdicts.size(); ++i)
    stats.verdicts[i] = json.at("verdicts").at(std::string(kVerdictNames[i]));
  add_counts(stats.unsupported, json.at("unsupported").get<Counts>());
  add_counts(stats.patterns, json.at("patterns_fired").get<Counts>());
  add_counts(stats.findings, json.at("findings").get<Counts>());
  stats.coverage.nodes = json.at("coverage").at("nodes");
  for_each_count(stats.coverage, [&](const char* key, Counts& counts) {
    counts = json.at("coverage").at(key).get<Counts>();
  });
  return stats;
}

}  // namespace

Stats Stats::with_patterns() {
  Stats stats;
  for (const Pattern& pattern : all_patterns()) stats.patterns[std::string(pattern.name)] = 0;
  return stats;
}

void Stats::add(const CaseOutcome& outcome) {
  if (outcome.invalid) {
    ++invalid;
    return;
  }
  ++cases;
  ++verdicts[static_cast<size_t>(outcome.verdict)];
  if (!outcome.signature.empty()) ++findings[outcome.signature];
  if (!outcome.unsupported.empty()) ++unsupported[outcome.unsupported];
  for (const std::string& pattern : outcome.patterns) ++patterns[pattern];
  coverage.cases += outcome.coverage.cases;
  coverage.nodes += outcome.coverage.nodes;
  for_each_count(coverage, [&](const std::string& key, Counts& counts) {
    for_each_count(outcome.coverage, [&](const std::string& other, const Counts& more) {
      if (key == other) add_counts(counts, more);
    });
  });
}

std::vector<std::string> Stats::news(const CaseOutcome& outcome) const {
  std::vector<std::string> news;
  for (const std::string& pattern : outcome.patterns) {
    const auto known = patterns.find(pattern);
    if (known == patterns.end() || known->second == 0) news.push_back("pattern " + pattern);
  }
  for (const auto& [op, count] : outcome.coverage.ops) {
    if (!coverage.ops.contains(op)) news.push_back("op " + op);
  }
  for (const auto& [piece, count] : outcome.coverage.pieces) {
    if (!coverage.pieces.contains(piece)) news.push_back("piece " + piece);
  }
  return news;
}

std::string to_json(const Stats& stats) {
  Json verdicts = Json::object();
  for (size_t i = 0; i < stats.verdicts.size(); ++i)
    verdicts[std::string(kVerdictNames[i])] = stats.verdicts[i];
  const Json json = {{"cases", stats.cases},
                     {"graphs_per_second", stats.graphs_per_second()},
                     {"verdicts", verdicts},
                     {"unsupported", stats.unsupported},
                     {"patterns_fired", stats.patterns},
                     {"coverage", coverage_json(stats.coverage)},
                     {"findings", stats.findings},
                     {"invalid", stats.invalid},
                     {"seed", stats.seed},
                     {"shard", stats.shard},
                     {"elapsed_s", stats.elapsed_s},
                     {"next_counter", stats.next},
                     {"corpus", {{"done", stats.corpus_done}, {"digest", stats.corpus_digest}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Stats> parse_stats(const std::string& text) {
  try {
    Stats stats = stats_of(Json::parse(text));
    if (stats.cases < 0 || stats.invalid < 0) return Problem{"expected counts of 0 or more"};
    stats.coverage.cases = stats.cases;
    return stats;
  } catch (const Json::exception& error) {
    return Problem{error.what()};
  }
}

}  // namespace fusesmith
