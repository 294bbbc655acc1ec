#include "fuzz/merge/merge.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/base/files.h"
#include "fuzz/base/lease.h"
#include "fuzz/base/table.h"
#include "fuzz/merge/corpus_choice.h"
#include "fuzz/merge/merged_files.h"
#include "graph/philox.h"
#include "minimizer/measure.h"

namespace fusesmith::fuzz {

namespace fs = std::filesystem;

namespace {

// Findings are put together here, and replaced ones wait here until the new one is in place.
constexpr const char* kStaging = ".merging";
constexpr std::string_view kOld = "old-";

// Smaller is better. A minimized case that is reported comes first, then the simplest one; the key makes the
// choice independent of the order of the sources. Of one shard, the longer report: it has the neighbours.
auto rank(const FoundCopy& copy) {
  size_t bytes = 0;
  for (const auto& [name, text] : copy.files) bytes += text.size();
  return std::tuple(!copy.files.contains("min.json"), !copy.files.contains("report.md"),
                    measure(copy.smallest), copy.key, SIZE_MAX - bytes);
}

std::string corpus_name(const std::string& text) {
  char name[32];
  std::snprintf(name, sizeof name, "%016llx.json", static_cast<unsigned long long>(hash_name(text)));
  return name;
}

bool is_corpus_name(const std::string& name) {
  return name.size() == 21 && name.find_first_not_of("0123456789abcdef") == 16;
}

class Merge {
 public:
  explicit Merge(const MergeOptions& options) : options_(options), root_(options.destination) {}

  std::variant<MergeResult, MergeFailure> run();

 private:
  std::optional<MergeFailure> open();
  std::optional<Problem> work();
  std::optional<Problem> recover();
  void read_sources();
  void add_shard(Shard shard);
  std::optional<Problem> merge_findings();
  std::optional<Problem> merge_finding(const std::string& signature);
  std::optional<Problem> install(const FoundCopy& copy, bool replaces, const std::string& seen_in);
  std::optional<Problem> write_shards();
  std::optional<Problem> write_counts();
  std::optional<Problem> merge_corpus();
  std::vector<Shard> shards() const;
  bool stopped() {
    result_.stopped = result_.stopped || (options_.stop && options_.stop());
    return result_.stopped;
  }

  const MergeOptions& options_;
  const fs::path root_;
  std::vector<MergeSource> sources_;     // the destination itself is the first
  std::map<std::string, Shard> by_key_;  // of all sources, the furthest one of each key
  std::map<std::string, std::pair<std::string, std::map<std::string, std::string>>> seen_;  // by signature
  MergeResult result_;
};

std::vector<Shard> Merge::shards() const {
  std::vector<Shard> all;
  for (const auto& [key, shard] : by_key_) all.push_back(shard);
  return all;
}

std::optional<MergeFailure> Merge::open() {
  const auto cannot_write = [](const Problem& problem) { return MergeFailure{problem.what, kCannotWrite}; };
  if (fs::exists(root_ / "campaign.json") && !is_merged(root_))
    return MergeFailure{root_.string() + ": holds a campaign of its own; name another folder to merge into",
                        kUsage};
  for (const fs::path& folder : {root_, root_ / "findings", root_ / "corpus", root_ / kShardsFolder}) {
    if (auto problem = make_folder(folder)) return cannot_write(*problem);
  }
  return {};
}

// After a merge that was killed while it replaced a finding.
std::optional<Problem> Merge::recover() {
  const fs::path staging = root_ / kStaging;
  if (auto problem = make_folder(staging)) return problem;
  const auto entries = entries_of(staging);
  if (!entries) return Problem{entries.problem()};
  for (const fs::path& entry : *entries) {
    const std::string name = entry.filename().string();
    const fs::path place = root_ / "findings" / name.substr(std::min(name.size(), kOld.size()));
    if (name.starts_with(kOld) && !fs::exists(place)) {
      if (auto problem = move_folder(entry, place)) return problem;
    } else {
      std::error_code ignored;
      fs::remove_all(entry, ignored);
    }
  }
  for (const fs::path& folder : {root_, root_ / "corpus"}) remove_temporary_files(folder);
  const auto findings = entries_of(root_ / "findings");
  if (!findings) return Problem{findings.problem()};
  for (const fs::path& folder : *findings) remove_temporary_files(folder);
  return {};
}

void Merge::add_shard(Shard shard) {
  auto [place, is_new] = by_key_.try_emplace(shard.key, shard);
  Shard& known = place->second;
  if (is_new) return;
  const bool moved = known.workdir != shard.workdir;
  if (shard.judged() < known.judged() || shard.stats_text.empty()) {
    if (shard.judged() < known.judged())
      result_.notes.push_back(shard.workdir + ": has the cases of shard " + shard.key + ", " +
                              counted(shard.judged(), "case") + "; of " + known.workdir + ", " +
                              counted(known.judged(), "case") + " were counted");
    return;
  }
  if (moved && shard.judged() == known.judged() && shard.workdir > known.workdir) return;
  known = std::move(shard);
}

void Merge::read_sources() {
  std::error_code ignored;
  auto own = read_source(root_.string(), options_.list);
  sources_.push_back(own ? std::move(*own) : MergeSource{.path = root_.string(), .merged = true});
  if (!own) result_.problems.push_back(own.problem());
  for (const std::string& path : options_.sources) {
    if (stopped()) return;
    if (fs::equivalent(path, root_, ignored)) {
      result_.problems.push_back(path + ": is the destination");
      continue;
    }
    auto source = read_source(path, options_.list);
    if (source)
      sources_.push_back(std::move(*source));
    else
      result_.problems.push_back(source.problem());
  }
  for (const MergeSource& source : sources_) {
    for (const Shard& shard : source.shards) add_shard(shard);
  }
}

std::optional<Problem> Merge::install(const FoundCopy& copy, bool replaces, const std::string& seen_in) {
  const std::string& signature = copy.signature;
  const fs::path place = root_ / "findings" / signature, made = root_ / kStaging / signature;
  const fs::path old = root_ / kStaging / (std::string(kOld) + signature);
  std::error_code ignored;
  fs::remove_all(made, ignored);
  if (auto problem = make_folder(made)) return problem;
  for (const auto& [name, text] : copy.files) {
    if (auto problem = write_file(made / name, text)) return problem;
  }
  if (auto problem = write_file(made / kSeenInFile, seen_in)) return problem;
  if (replaces) {
    if (auto problem = move_folder(place, old)) return problem;
  }
  if (auto problem = move_folder(made, place)) return problem;
  fs::remove_all(old, ignored);
  return {};
}

std::optional<Problem> Merge::merge_finding(const std::string& signature) {
  std::optional<FoundCopy> best, kept;
  std::map<std::string, std::string> seen;
  for (MergeSource& source : sources_) {
    if (!std::binary_search(source.signatures.begin(), source.signatures.end(), signature)) continue;
    const bool is_own = &source == &sources_[0];
    const size_t problems = source.problems.size();
    auto copy = read_found(source, signature, options_.list);
    if (is_own && !copy) source.problems.resize(problems);  // a source may have it
    if (!copy) continue;
    seen.insert(copy->seen.begin(), copy->seen.end());
    if (is_own) kept = copy;
    if (!best || rank(*copy) < rank(*best)) best = std::move(copy);
  }
  if (!best) {
    result_.problems.push_back((root_ / "findings" / signature).string() +
                               ": no source has a readable case of this finding");
    return {};
  }
  seen_[signature] = {best->key, seen};
  ++result_.findings;
  result_.new_findings += !kept;
  if (kept && kept->files == best->files && kept->key == best->key) return {};
  const bool replaces = fs::exists(root_ / "findings" / signature);
  return install(*best, replaces, seen_in_text(signature, best->key, std::move(seen), shards()));
}

std::optional<Problem> Merge::merge_findings() {
  std::set<std::string> signatures;
  for (const MergeSource& source : sources_)
    signatures.insert(source.signatures.begin(), source.signatures.end());
  for (const std::string& signature : signatures) {
    if (stopped()) return {};
    if (auto problem = merge_finding(signature)) return problem;
  }
  return {};
}

std::optional<Problem> Merge::write_shards() {
  for (const auto& [key, shard] : by_key_) {
    const fs::path folder = root_ / kShardsFolder / key;
    if (auto problem = make_folder(folder)) return problem;
    remove_temporary_files(folder);
    if (auto problem = write_if_changed(folder / kSourceFile, source_text(shard))) return problem;
    // A folder without campaign.json is no shard, so that it comes last but for one that has no counts yet.
    if (!shard.stats_text.empty()) {
      if (auto problem = write_if_changed(folder / "stats.json", shard.stats_text)) return problem;
    }
    if (auto problem = write_if_changed(folder / "campaign.json", shard.identity_text)) return problem;
  }
  return {};
}

std::optional<Problem> Merge::write_counts() {
  result_.shards = shards();
  result_.stats = merged_stats(result_.shards);
  for (const auto& [signature, from] : seen_) {
    const fs::path folder = root_ / "findings" / signature;
    const auto cases = result_.stats.findings.find(signature);
    const int64_t count = cases == result_.stats.findings.end() ? 0 : cases->second;
    if (auto problem = write_if_changed(folder / kSeenInFile,
                                        seen_in_text(signature, from.first, from.second, result_.shards)))
      return problem;
    if (auto problem = write_if_changed(folder / "count", std::to_string(count) + "\n")) return problem;
    result_.stats.findings.try_emplace(signature, 0);
  }
  if (auto problem = write_if_changed(root_ / "stats.json", to_json(result_.stats))) return problem;
  return write_if_changed(root_ / "campaign.json", merged_identity(result_.shards));
}

std::optional<Problem> Merge::merge_corpus() {
  std::map<std::string, std::string> texts;  // of all cases, by the name that they get
  std::vector<CorpusCase> cases;
  for (const MergeSource& source : sources_) {
    for (const fs::path& file : source.corpus) {
      if (stopped()) return {};
      std::error_code ignored;
      if (!fs::exists(file, ignored)) continue;  // listed, but gone
      auto text = read_file(file);
      const auto test_case = text ? parse_case(*text) : Result<Case>(Problem{text.problem()});
      if (!test_case) {
        result_.problems.push_back(text ? file.string() + ": " + test_case.problem() : test_case.problem());
        continue;
      }
      const std::string name = corpus_name(*text);
      if (!texts.contains(name)) cases.push_back({name, text->size(), cells_of(*test_case)});
      texts.try_emplace(name, std::move(*text));
    }
  }
  std::set<std::string> names;
  std::set<uint32_t> cells;
  for (const size_t index : choose_corpus(cases)) {
    names.insert(cases[index].name);
    cells.insert(cases[index].cells.begin(), cases[index].cells.end());
  }
  for (const std::string& name : names) {
    if (auto problem = write_if_changed(root_ / "corpus" / name, texts[name])) return problem;
  }
  for (const fs::path& file : sources_[0].corpus) {
    std::error_code ignored;
    const std::string name = file.filename().string();
    if (is_corpus_name(name) && !names.contains(name)) fs::remove(file, ignored);
  }
  result_.corpus_read = cases.size();
  result_.corpus_kept = names.size();
  result_.cells = cells.size();
  return {};
}

std::optional<Problem> Merge::work() {
  if (auto problem = recover()) return problem;
  if (!fs::exists(root_ / "campaign.json")) {
    if (auto problem = write_file(root_ / "campaign.json", merged_identity({}))) return problem;
  }
  read_sources();
  if (auto problem = merge_findings()) return problem;
  if (stopped()) return {};
  if (auto problem = write_shards()) return problem;
  if (auto problem = merge_corpus()) return problem;
  if (stopped()) return {};
  if (auto problem = write_counts()) return problem;
  for (MergeSource& source : sources_)
    result_.problems.insert(result_.problems.end(), source.problems.begin(), source.problems.end());
  std::error_code ignored;
  fs::remove(root_ / kStaging, ignored);
  return {};
}

std::variant<MergeResult, MergeFailure> Merge::run() {
  if (auto failure = open()) return *failure;
  const auto lock = FolderLock::take(root_);
  if (!lock) return MergeFailure{lock.problem(), kUsage};
  const auto lease = FolderLease::take(root_);
  if (!lease) return MergeFailure{lease.problem(), kUsage};
  if (auto problem = work()) return MergeFailure{problem->what, kCannotWrite};
  return std::move(result_);
}

}  // namespace

std::variant<MergeResult, MergeFailure> merge(const MergeOptions& options) { return Merge(options).run(); }

}  // namespace fusesmith::fuzz
