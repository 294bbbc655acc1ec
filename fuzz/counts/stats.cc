#include "fuzz/counts/stats.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "backends/rewrite/pattern.h"
#include "fuzz/counts/coverage_json.h"
#include "graph/json_place.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

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

void add_coverage(GenerationCoverage& sums, const GenerationCoverage& more) {
  sums.cases += more.cases;
  sums.nodes += more.nodes;
  for_each_count(sums, [&](const std::string& key, Counts& counts) {
    for_each_count(more, [&](const std::string& other, const Counts& other_counts) {
      if (key == other) add_counts(counts, other_counts);
    });
  });
}

Json coverage_json(const Stats& stats) {
  Json json = {{"nodes", stats.coverage.nodes}};
  for_each_count(stats.coverage, [&](const char* key, const Counts& counts) { json[key] = counts; });
  write_coverage(json, stats.met, stats.cases);
  return json;
}

Json resolutions_json(const Stats& stats) {
  return {{"baseline", stats.baseline_resolutions.json()}, {"candidate", stats.candidate_resolutions.json()}};
}

constexpr double kMaxSeconds = 1e10;
constexpr size_t kMaxReadSamples = 10'000;

Json verdicts_json(const std::array<int64_t, kVerdictNames.size()>& verdicts, bool zeros) {
  Json json = Json::object();
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (zeros || verdicts[i] > 0) json[std::string(kVerdictNames[i])] = verdicts[i];
  }
  return json;
}

Json history_json(const std::vector<Sample>& history) {
  Json json = Json::array();
  for (const Sample& sample : history)
    json.push_back({{"elapsed_s", sample.elapsed_s},
                    {"cases", sample.cases},
                    {"findings", sample.findings},
                    {"verdicts", verdicts_json(sample.verdicts, false)}});
  return json;
}

Json status_json(const CampaignStatus& status) {
  Json json = {{"running", status.running},
               {"cases_per_second", {{"now", status.rate_now}, {"mean", status.rate_mean}}},
               {"threads", status.threads},
               {"findings_waiting", status.findings_waiting},
               {"gaps", status.gaps},
               {"worker_restarts", status.worker_restarts},
               {"quarantined_gpus", status.quarantined}};
  if (status.ending) json["end"] = kEndingNames[static_cast<size_t>(*status.ending)];
  if (status.last_finding_s) json["last_finding_s"] = *status.last_finding_s;
  if (status.time_left_s) json["time_left_s"] = *status.time_left_s;
  return json;
}

Json gpus_json(const Stats& stats) {
  Json json = Json::object();
  for (const auto& [uuid, gpu] : stats.gpus) {
    json[uuid] = {{"name", gpu.name}};
    if (!gpu.quarantined.empty()) json[uuid]["quarantined"] = gpu.quarantined;
  }
  return json;
}

// The required member, or the object itself once there is a problem.
Place member(const Place& object, std::string_view key) { return object.member(key, true).value_or(object); }

template <class T>
T read_value(const Place& object, std::string_view key) {
  T value{};
  if (const auto place = object.member(key, true)) place->read(value);
  return value;
}

int64_t count_at(const Place& object, std::string_view key) {
  int64_t count = 0;
  if (const auto place = object.member(key, true)) read_count(*place, count);
  return count;
}

void read_counts(const Place& object, std::string_view key, Counts& counts) {
  const auto place = object.member(key, true);
  if (!place) return;
  for (const auto& [name, entry] : place->members()) read_count(entry, counts[name]);
}

Sample sample_at(const Place& place) {
  Sample sample;
  sample.elapsed_s = read_value<double>(place, "elapsed_s");
  sample.cases = count_at(place, "cases");
  sample.findings = count_at(place, "findings");
  const Place verdicts = member(place, "verdicts");
  for (size_t i = 0; i < sample.verdicts.size(); ++i) {
    if (const auto count = verdicts.member(kVerdictNames[i])) read_count(*count, sample.verdicts[i]);
  }
  if (!(sample.elapsed_s >= 0 && sample.elapsed_s <= kMaxSeconds))
    member(place, "elapsed_s").fail_expected("a number between 0 and " + number_text(kMaxSeconds));
  return sample;
}

// What later starts of a campaign go on with, and how the last one ended.
CampaignStatus status_at(const Place& place) {
  CampaignStatus status;
  status.running = false;
  if (const auto running = place.member("running")) running->read(status.running);
  if (const auto end = place.member("end")) {
    std::string name;
    end->read(name);
    const auto* known = std::find(kEndingNames.begin(), kEndingNames.end(), name);
    // That of a later version is an end, too.
    status.ending =
        known == kEndingNames.end() ? Ending::ended : static_cast<Ending>(known - kEndingNames.begin());
  }
  if (const auto restarts = place.member("worker_restarts")) read_count(*restarts, status.worker_restarts);
  if (const auto last = place.member("last_finding_s")) last->read(status.last_finding_s.emplace());
  return status;
}

// What holds however a campaign was cut up.
void check_sums(const Place& place, const Stats& stats) {
  const auto must_be = [&](const char* key, bool holds, const std::string& what) {
    if (!holds) member(place, key).fail_expected(what);
  };
  const int64_t judged = stats.cases + stats.invalid;
  int64_t sum = 0;
  for (const int64_t count : stats.verdicts) sum += count;
  must_be("next_counter", stats.next <= static_cast<uint64_t>(judged),
          "at most cases + invalid (" + std::to_string(judged) + ")");
  if (stats.corpus_done > judged - static_cast<int64_t>(stats.next)) {
    member(member(place, "corpus"), "done")
        .fail_expected("at most cases + invalid - next_counter (" +
                       std::to_string(judged - static_cast<int64_t>(stats.next)) + ")");
  }
  must_be("exact_cases", stats.exact_cases <= stats.cases,
          "at most cases (" + std::to_string(stats.cases) + ")");
  must_be("cases", sum == stats.cases, "the sum of the verdicts (" + std::to_string(sum) + ")");
  must_be("elapsed_s", stats.elapsed_s >= 0 && stats.elapsed_s <= kMaxSeconds,
          "a number between 0 and " + number_text(kMaxSeconds));
}

Stats stats_of(const Place& place) {
  Stats stats = Stats::with_patterns();
  stats.seed = read_value<uint64_t>(place, "seed");
  stats.next = static_cast<uint64_t>(count_at(place, "next_counter"));
  stats.shard = read_value<std::string>(place, "shard");
  stats.cases = count_at(place, "cases");
  stats.exact_cases = count_at(place, "exact_cases");
  stats.invalid = count_at(place, "invalid");
  stats.elapsed_s = read_value<double>(place, "elapsed_s");
  const Place corpus = member(place, "corpus");
  stats.corpus_done = count_at(corpus, "done");
  stats.corpus_digest = read_value<std::string>(corpus, "digest");
  const Place verdicts = member(place, "verdicts");
  for (size_t i = 0; i < stats.verdicts.size(); ++i) stats.verdicts[i] = count_at(verdicts, kVerdictNames[i]);
  read_counts(place, "unsupported", stats.unsupported);
  read_counts(place, "patterns_fired", stats.patterns);
  read_counts(place, "findings", stats.findings);
  if (place.member("known")) read_counts(place, "known", stats.known);  // older files have none
  if (place.member("arithmetic")) read_counts(place, "arithmetic", stats.arithmetic);
  if (const auto gpus = place.member("gpus")) {  // older files have none
    for (const auto& [uuid, gpu] : gpus->members()) {
      stats.gpus[uuid].name = read_value<std::string>(gpu, "name");
      if (const auto why = gpu.member("quarantined")) why->read(stats.gpus[uuid].quarantined);
    }
  }
  if (const auto metamorphic = place.member("metamorphic")) {  // older files have none
    stats.metamorphic_cases = count_at(*metamorphic, "cases");
    read_counts(*metamorphic, "checks", stats.metamorphic_checks);
  }
  if (const auto resolution = place.member("resolution")) {  // older files have none
    stats.baseline_resolutions.read(member(*resolution, "baseline"));
    stats.candidate_resolutions.read(member(*resolution, "candidate"));
  }
  if (const auto history = place.member("history")) {  // older files have none
    for (const Place& one : history->elements(kMaxReadSamples)) stats.history.push_back(sample_at(one));
  }
  if (const auto status = place.member("status")) stats.status = status_at(*status);  // older files have none
  const Place coverage = member(place, "coverage");
  stats.coverage.nodes = count_at(coverage, "nodes");
  for_each_count(stats.coverage,
                 [&](const char* key, Counts& counts) { read_counts(coverage, key, counts); });
  read_coverage(coverage, stats.met);
  check_sums(place, stats);
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
  exact_cases += outcome.exact;
  ++verdicts[static_cast<size_t>(outcome.verdict)];
  if (!outcome.signature.empty()) ++findings[outcome.signature];
  for (const std::string& issue : outcome.known) ++known[issue];
  for (const std::string& one : outcome.arithmetic) ++arithmetic[one];
  if (!outcome.unsupported.empty()) {
    const bool counted = unsupported.contains(outcome.unsupported) || unsupported.size() < kMaxReasons;
    ++unsupported[counted ? outcome.unsupported : std::string(kOtherReasons)];
  }
  for (const std::string& pattern : outcome.patterns) ++patterns[pattern];
  metamorphic_cases += !outcome.metamorphic.empty();
  add_counts(metamorphic_checks, outcome.metamorphic);
  baseline_resolutions.add(outcome.baseline_resolution);
  candidate_resolutions.add(outcome.candidate_resolution);
  met.add(outcome.events);
  add_coverage(coverage, outcome.coverage);
}

void Stats::add(const Stats& other) {
  next += other.next;
  cases += other.cases;
  exact_cases += other.exact_cases;
  invalid += other.invalid;
  elapsed_s = std::max(elapsed_s, other.elapsed_s);
  corpus_done += other.corpus_done;
  for (size_t i = 0; i < verdicts.size(); ++i) verdicts[i] += other.verdicts[i];
  add_counts(unsupported, other.unsupported);
  add_counts(patterns, other.patterns);
  add_counts(findings, other.findings);
  add_counts(known, other.known);
  add_counts(arithmetic, other.arithmetic);
  metamorphic_cases += other.metamorphic_cases;
  add_counts(metamorphic_checks, other.metamorphic_checks);
  baseline_resolutions.add(other.baseline_resolutions);
  candidate_resolutions.add(other.candidate_resolutions);
  add_coverage(coverage, other.coverage);
  met.add(other.met);
}

void Stats::limit_reasons() {
  const std::string others(kOtherReasons);
  if (unsupported.size() <= kMaxReasons + 1) return;
  std::vector<std::pair<std::string, int64_t>> reasons(unsupported.begin(), unsupported.end());
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  unsupported = {{others, unsupported[others]}};
  for (const auto& [reason, count] : reasons) {
    if (reason != others) unsupported[unsupported.size() <= kMaxReasons ? reason : others] += count;
  }
}

void Stats::sample() {
  const double apart = std::max(1.0, elapsed_s / (static_cast<double>(kMaxSamples) / 2));
  if (!history.empty() && elapsed_s < history.back().elapsed_s + apart) return;
  history.push_back({elapsed_s, cases, static_cast<int64_t>(findings.size()), verdicts});
  if (history.size() <= kMaxSamples) return;
  std::vector<Sample> half;  // every second one, the last among them
  for (size_t i = (history.size() + 1) % 2; i < history.size(); i += 2) half.push_back(history[i]);
  history = std::move(half);
}

std::vector<std::string> Stats::new_features(const CaseOutcome& outcome) const {
  std::vector<std::string> features;
  for (const std::string& pattern : outcome.patterns) {
    const auto fired = patterns.find(pattern);
    if (fired == patterns.end() || fired->second == 0) features.push_back("pattern " + pattern);
  }
  for (const auto& [op, count] : outcome.coverage.ops) {
    if (!coverage.ops.contains(op)) features.push_back("op " + op);
  }
  for (const auto& [piece, count] : outcome.coverage.pieces) {
    if (!coverage.pieces.contains(piece)) features.push_back("piece " + piece);
  }
  return features;
}

std::string to_json(const Stats& stats) {
  Json json = {{"cases", stats.cases},
               {"exact_cases", stats.exact_cases},
               {"graphs_per_second", stats.graphs_per_second()},
               {"verdicts", verdicts_json(stats.verdicts, true)},
               {"unsupported", stats.unsupported},
               {"patterns_fired", stats.patterns},
               {"coverage", coverage_json(stats)},
               {"findings", stats.findings},
               {"known", stats.known},
               {"arithmetic", stats.arithmetic},
               {"gpus", gpus_json(stats)},
               {"metamorphic", {{"cases", stats.metamorphic_cases}, {"checks", stats.metamorphic_checks}}},
               {"resolution", resolutions_json(stats)},
               {"invalid", stats.invalid},
               {"seed", stats.seed},
               {"shard", stats.shard},
               {"elapsed_s", stats.elapsed_s},
               {"next_counter", stats.next},
               {"corpus", {{"done", stats.corpus_done}, {"digest", stats.corpus_digest}}},
               {"history", history_json(stats.history)}};
  if (stats.status) json["status"] = status_json(*stats.status);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Stats> parse_stats(const std::string& text) {
  auto tree = parse_strict_json(text);
  if (!tree) return Problem{tree.problem()};
  std::optional<Problem> problem;
  Stats stats = stats_of(Place(*tree, problem));
  if (problem) return *problem;
  stats.coverage.cases = stats.cases;
  std::erase_if(stats.findings,
                [](const auto& finding) { return finding.second == 0; });  // had a folder then
  return stats;
}

}  // namespace fusesmith::fuzz
