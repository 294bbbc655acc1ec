#include "fuzz/merge/merge.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/base/files.h"
#include "fuzz/base/lease.h"
#include "fuzz/base/table.h"
#include "fuzz/findings/finding_record.h"
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
  uint64_t bytes = 0;
  for (const auto& [name, size] : copy.files) bytes += size;
  return std::tuple(!copy.files.contains("min.json"), !copy.reported, measure(copy.smallest), copy.key,
                    UINT64_MAX - bytes);
}

std::string corpus_name(const std::string& text) {
  char name[32];
  std::snprintf(name, sizeof name, "%016llx.json", static_cast<unsigned long long>(hash_name(text)));
  return name;
}

class Merge {
 public:
  explicit Merge(const MergeOptions& options) : options_(options), root_(fs::path(options.destination)) {}

  std::variant<MergeResult, MergeFailure> run();

 private:
  std::optional<MergeFailure> open();
  std::optional<Problem> work();
  std::optional<Problem> recover();
  void remove_made(const WorkPath& folder, const WorkPath& successor);
  void read_sources();
  void read_destination();
  void add_shard(Shard shard);
  std::optional<Problem> merge_findings();
  std::optional<Problem> merge_finding(const std::string& signature);
  Result<bool> install(const FoundCopy& copy, const std::string& seen_in);
  std::optional<Problem> write_shards();
  std::optional<Problem> write_counts();
  std::optional<Problem> merge_corpus();
  std::vector<Shard> shards() const;
  bool stopped() {
    result_.stopped = result_.stopped || (options_.stop && options_.stop());
    return result_.stopped;
  }

  const MergeOptions& options_;
  const WorkPath root_;
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
  const WorkPath campaign = root_ / "campaign.json";
  if (kind_of(campaign) != FileKind::none) {
    if (const auto readable = size_of(campaign); !readable) return MergeFailure{readable.problem(), kUsage};
    if (!is_merged(root_))
      return MergeFailure{root_.string() + ": holds a campaign of its own; name another folder to merge into",
                          kUsage};
  }
  for (const WorkPath& folder : {root_, root_ / "findings", root_ / "corpus", root_ / kShardsFolder}) {
    if (auto problem = make_folder(folder)) return cannot_write(*problem);
  }
  return {};
}

// Removes the folder of a finding that a merge made. What it did not make there goes to the finding that took
// its place, or stays and is named.
void Merge::remove_made(const WorkPath& folder, const WorkPath& successor) {
  const auto note = [&](const Problem& problem) { result_.notes.push_back(problem.what); };
  const auto names = names_in(folder);
  if (!names) return note(Problem{names.problem()});
  for (const std::string& name : *names) {
    const WorkPath file = folder / name;
    const bool is_ours = is_finding_file(name) || is_temporary_name(name);
    const bool removed = is_ours && kind_of(file) != FileKind::folder && !remove_file(file);
    if (!removed && kind_of(successor) == FileKind::folder) (void)move_file(file, successor / name);
  }
  if (const auto problem = remove_folder(folder)) note(*problem);
}

// After a merge that was killed while it replaced a finding.
std::optional<Problem> Merge::recover() {
  const WorkPath staging = root_ / kStaging;
  if (auto problem = make_folder(staging)) return problem;
  const auto names = names_in(staging);
  if (!names) return Problem{names.problem()};
  for (const std::string& name : *names) {
    const bool is_old = name.starts_with(kOld);
    const WorkPath place = root_ / "findings" / name.substr(is_old ? kOld.size() : 0);
    if (is_old && kind_of(place) == FileKind::none && kind_of(staging / name) == FileKind::folder) {
      if (auto problem = move_file(staging / name, place)) return problem;
    } else {
      remove_made(staging / name, place);
    }
  }
  for (const WorkPath& folder : {root_, root_ / "corpus"}) remove_temporary_files(folder);
  const auto findings = names_in(root_ / "findings");
  if (!findings) return Problem{findings.problem()};
  for (const std::string& name : *findings) remove_temporary_files(root_ / "findings" / name);
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
  sources_.push_back({.path = root_.string(), .merged = true});
  for (const std::string& path : options_.sources) {
    if (stopped()) return;
    if (fs::equivalent(path, root_.root(), ignored)) {
      result_.problems.push_back(path + ": is the destination");
      continue;
    }
    auto source = read_source(path, options_.list);
    if (source)
      sources_.push_back(std::move(*source));
    else
      result_.problems.push_back(source.problem());
  }
}

void Merge::read_destination() {
  auto own = read_source(root_.string(), options_.list);
  if (own)
    sources_[0] = std::move(*own);
  else
    result_.problems.push_back(own.problem());
  for (const MergeSource& source : sources_) {
    for (const Shard& shard : source.shards) add_shard(shard);
  }
}

// False: a file of the source cannot be read any more, which is named.
Result<bool> Merge::install(const FoundCopy& copy, const std::string& seen_in) {
  const std::string& signature = copy.signature;
  const WorkPath place = root_ / "findings" / signature, made = root_ / kStaging / signature;
  const WorkPath old = root_ / kStaging / (std::string(kOld) + signature);
  if (auto problem = make_folder(made)) return *problem;
  for (const auto& [name, size] : copy.files) {
    bool unread = false;
    const auto problem = copy_file(copy.folder / name, made / name, &unread);
    if (problem && !unread) return *problem;
    if (!problem) continue;
    result_.problems.push_back(problem->what);
    remove_made(made, made);
    return false;
  }
  if (auto problem = write_file(made / kSeenInFile, seen_in)) return *problem;
  const bool replaces = kind_of(place) == FileKind::folder;
  if (replaces) {
    if (auto problem = move_file(place, old)) return *problem;
  }
  if (auto problem = move_file(made, place)) return *problem;
  if (replaces) remove_made(old, place);
  return true;
}

std::optional<Problem> Merge::merge_finding(const std::string& signature) {
  const WorkPath place = root_ / "findings" / signature;
  if (const FileKind kind = kind_of(place); kind != FileKind::none && kind != FileKind::folder) {
    result_.problems.push_back(place.string() + ": cannot write: it is no folder, but a link or a file");
    return {};
  }
  std::optional<FoundCopy> best;
  bool is_kept = false, is_best = false;  // the destination's own copy
  std::vector<std::string> own_problems;
  std::map<std::string, std::string> seen;
  for (MergeSource& source : sources_) {
    if (!std::binary_search(source.signatures.begin(), source.signatures.end(), signature)) continue;
    const bool is_own = &source == &sources_[0];
    const size_t problems = source.problems.size();
    auto copy = read_found(source, signature, options_.list);
    if (is_own && !copy) {  // a source may have it
      own_problems.assign(source.problems.begin() + static_cast<std::ptrdiff_t>(problems),
                          source.problems.end());
      source.problems.resize(problems);
    }
    if (!copy) continue;
    seen.insert(copy->seen.begin(), copy->seen.end());
    is_kept = is_kept || is_own;
    if (best && rank(*best) <= rank(*copy)) continue;
    best = std::move(copy);
    is_best = is_own;
  }
  if (!best) {
    result_.problems.insert(result_.problems.end(), own_problems.begin(), own_problems.end());
    result_.problems.push_back(place.string() + ": no source has a readable case of this finding");
    return {};
  }
  if (!is_best) {
    const auto installed = install(*best, seen_in_text(signature, best->key, seen, shards()));
    if (!installed) return Problem{installed.problem()};
    if (!*installed) return {};
  }
  seen_[signature] = {best->key, std::move(seen)};
  ++result_.findings;
  result_.new_findings += !is_kept;
  return {};
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
    const WorkPath folder = root_ / kShardsFolder / key;
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
    const WorkPath folder = root_ / "findings" / signature;
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
  std::map<std::string, WorkPath> files;  // a file of each case, by the name that it gets
  std::set<std::string> own;              // those that a merge put into the destination
  std::vector<CorpusCase> cases;
  for (const MergeSource& source : sources_) {
    for (const WorkPath& file : source.corpus) {
      if (stopped()) return {};
      if (kind_of(file) == FileKind::none) continue;  // listed, but gone
      const auto text = read_file(file);
      const auto test_case = text ? parse_case(*text) : Result<Case>(Problem{text.problem()});
      if (!test_case) {
        result_.problems.push_back(text ? file.string() + ": " + test_case.problem() : test_case.problem());
        continue;
      }
      const std::string name = corpus_name(*text);
      if (!files.try_emplace(name, file).second) continue;
      cases.push_back({name, text->size(), cells_of(*test_case)});
      if (&source == &sources_[0] && file.name() == name) own.insert(name);
    }
  }
  std::set<std::string> names;
  std::set<uint32_t> cells;
  for (const size_t index : choose_corpus(cases)) {
    names.insert(cases[index].name);
    cells.insert(cases[index].cells.begin(), cases[index].cells.end());
  }
  for (const std::string& name : names) {
    if (own.contains(name)) continue;
    bool unread = false;
    auto problem = copy_file(files.at(name), root_ / "corpus" / name, &unread);
    if (problem && !unread) return problem;
    if (problem) result_.problems.push_back(problem->what);
  }
  for (const std::string& name : own) {
    if (!names.contains(name)) (void)remove_file(root_ / "corpus" / name);
  }
  result_.corpus_read = cases.size();
  result_.corpus_kept = names.size();
  result_.cells = cells.size();
  return {};
}

std::optional<Problem> Merge::work() {
  if (auto problem = recover()) return problem;
  if (kind_of(root_ / "campaign.json") == FileKind::none) {
    if (auto problem = write_file(root_ / "campaign.json", merged_identity({}))) return problem;
  }
  read_destination();
  if (auto problem = merge_findings()) return problem;
  if (stopped()) return {};
  if (auto problem = write_shards()) return problem;
  if (auto problem = merge_corpus()) return problem;
  if (stopped()) return {};
  if (auto problem = write_counts()) return problem;
  for (MergeSource& source : sources_)
    result_.problems.insert(result_.problems.end(), source.problems.begin(), source.problems.end());
  (void)remove_folder(root_ / kStaging);  // what is left in it was named
  return {};
}

std::variant<MergeResult, MergeFailure> Merge::run() {
  read_sources();
  if (sources_.size() == 1 && kind_of(root_) == FileKind::none && !result_.problems.empty())
    return MergeFailure{result_.problems[0] + "; there is nothing to merge", kUsage};
  if (auto failure = open()) return *failure;
  const auto lock = FolderLock::take(root_.root());
  if (!lock) return MergeFailure{lock.problem(), kUsage};
  const auto lease = FolderLease::take(root_.root());
  if (!lease) return MergeFailure{lease.problem(), kUsage};
  if (auto problem = work()) return MergeFailure{problem->what, kCannotWrite};
  return std::move(result_);
}

}  // namespace

std::variant<MergeResult, MergeFailure> merge(const MergeOptions& options) { return Merge(options).run(); }

}  // namespace fusesmith::fuzz
