#include "fuzz/workdir/work_directory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "fuzz/findings/finding_record.h"
#include "fuzz/run/interrupted.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMend =
    "; give --workdir another folder, or the flags of the campaign that is there";
constexpr std::string_view kRestore = "; restore it or give --workdir another folder";

std::string identity_json(const Identity& identity) {
  Json json = {{"fusesmith", FUSESMITH_VERSION}};
  for (const IdentityValue& one : identity)
    std::visit([&](const auto& value) { json[std::string(one.key)] = value; }, one.value);
  return json.dump(2) + "\n";
}

// Lists of names (faults, patterns) mean sets.
Json as_set(Json value) {
  if (!value.is_array()) return value;
  std::sort(value.begin(), value.end());
  value.erase(std::unique(value.begin(), value.end()), value.end());
  return value;
}

// As a flag would have it; empty for what no flag can have.
std::string flag_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return value.dump();
  std::string text;
  for (const Json& name : value.is_array() ? value : Json::array()) {
    if (!name.is_string()) return "";
    text += (text.empty() ? "" : ",") + name.get<std::string>();
  }
  return text;
}

// What differs between the identities, or nothing. The version may: a resumed campaign is then one of two
// versions.
std::optional<Problem> compare(const WorkPath& file, const std::string& text, const Identity& identity) {
  const Json there = parse_record(text);
  if (!there.is_object())
    return Problem{file.string() + ": expected the JSON object that a campaign wrote" +
                   std::string(kRestore)};
  if (there.contains("merged_from"))
    return Problem{file.string() +
                   ": a merged work directory; continue the campaigns that it was merged from"};
  const Json wanted = Json::parse(identity_json(identity));
  const auto may_lack = [&](const std::string& key) {
    return std::any_of(identity.begin(), identity.end(),
                       [&](const IdentityValue& one) { return one.added_later && one.key == key; });
  };
  for (const auto& [key, value] : wanted.items()) {
    if (key == "fusesmith") continue;
    if (!there.contains(key) && may_lack(key)) continue;
    if (!there.contains(key))
      return Problem{file.string() + ": expected the key \"" + key + "\", which is missing" +
                     std::string(kRestore)};
    if (as_set(there[key]) == as_set(value)) continue;
    if (there[key].type() != value.type())
      return Problem{file.string() + ": " + key + ": expected a value like " + value.dump() + ", got " +
                     there[key].dump() + std::string(kRestore)};
    return Problem{file.string() + ": the campaign there has " + key + " " + there[key].dump() + ", not " +
                   value.dump() + std::string(kMend)};
  }
  return {};
}

}  // namespace

std::string WorkDirectory::recorded(const std::string& path, std::string_view key) {
  const auto text = read_file(WorkPath(path) / "campaign.json");
  const Json json = text ? parse_record(*text) : Json();
  const auto value = json.is_object() ? json.find(std::string(key)) : json.end();
  return value != json.end() ? flag_text(*value) : "";
}

Result<WorkDirectory> WorkDirectory::open(const std::string& path, const Identity& identity,
                                          bool& cannot_write) {
  cannot_write = true;
  if (fs::exists(path) && ::access(path.c_str(), W_OK) != 0)
    return Problem{path + ": cannot write: " + std::strerror(errno)};
  const WorkPath root(path);
  for (const WorkPath& folder : {root, root / "corpus", root / "findings"}) {
    if (auto problem = make_folder(folder)) return *problem;
  }
  bool taken = false;
  auto lock = FolderLock::take(path, &taken);
  cannot_write = !taken;
  if (!lock) return Problem{lock.problem()};
  auto lease = FolderLease::take(path, &taken);
  cannot_write = !taken;
  if (!lease) return Problem{lease.problem()};
  WorkDirectory directory(root, std::move(*lock), std::move(*lease));
  const auto findings = names_in(root / "findings");
  if (!findings) return Problem{findings.problem()};
  if (auto problem = directory.load(identity, *findings, cannot_write)) return *problem;
  // Of a campaign that was killed while it wrote: under the lock, nobody writes here now.
  for (const WorkPath& folder : {root, root / "corpus"}) remove_temporary_files(folder);
  for (const std::string& name : *findings) {
    throw_if_interrupted();
    remove_temporary_files(directory.finding(name));
  }
  return directory;
}

std::optional<Problem> WorkDirectory::load(const Identity& identity, const std::vector<std::string>& findings,
                                           bool& cannot_write) {
  const WorkPath campaign = path_ / "campaign.json", stats = path_ / "stats.json";
  stats_ = Stats::with_patterns();
  identity_ = identity_json(identity);
  if (kind_of(campaign) == FileKind::none) {
    if (is_there(stats)) {
      cannot_write = false;
      return Problem{stats.string() + ": found without its campaign.json" + std::string(kRestore)};
    }
    return write_file(campaign, identity_);
  }
  cannot_write = false;
  resumed_ = true;
  if (auto problem = load_stats()) return problem;
  if (auto problem = load_identity(identity)) return problem;
  // Listings of network file systems may be old: what was counted is asked for by name.
  std::set<std::string> signatures(findings.begin(), findings.end());
  for (const auto& [signature, cases] : stats_.findings) signatures.insert(signature);
  for (const std::string& signature : signatures) {
    const FileKind kind = kind_of(finding(signature) / kCaseFile);
    if (kind == FileKind::none && stats_.findings.contains(signature) && is_there(finding(signature))) {
      if (const auto folder = names_in(finding(signature)); !folder) return Problem{folder.problem()};
    }
    if (kind == FileKind::none) continue;
    if (kind == FileKind::unknown) return Problem{size_of(finding(signature) / kCaseFile).problem()};
    const auto has_case = damaged_.check_finding(finding(signature));
    if (!has_case) return Problem{has_case.problem()};
    if (*has_case) known_.insert(signature);
  }
  auto corpus = damaged_.check_corpus(path_ / "corpus");
  if (!corpus) return Problem{corpus.problem()};
  damaged_corpus_ = std::move(*corpus);
  return {};
}

std::optional<Problem> WorkDirectory::load_stats() {
  const WorkPath file = path_ / "stats.json";
  if (kind_of(file) == FileKind::none) return {};
  const auto text = read_file(file);
  if (!text) return Problem{text.problem()};
  auto parsed = parse_stats(*text);
  if (!parsed)
    return damaged_.set_aside(file, file.string() + ": " + parsed.problem(), "the cases are judged again");
  stats_ = std::move(*parsed);
  return {};
}

// A file that tells nothing is written anew, unless stats.json is of another campaign.
std::optional<Problem> WorkDirectory::load_identity(const Identity& identity) {
  const WorkPath file = path_ / "campaign.json";
  const auto text = read_file(file);
  if (!text) return Problem{text.problem()};
  if (parse_record(*text).is_object()) return compare(file, *text, identity);
  const Json wanted = Json::parse(identity_);
  const bool counted = stats_.cases + stats_.invalid > 0;
  if (counted && (wanted["seed"] != stats_.seed || wanted["shard"] != stats_.shard))
    return Problem{file.string() + ": damaged, and stats.json is of a campaign with --seed=" +
                   std::to_string(stats_.seed) + " --shard=" + stats_.shard + std::string(kMend)};
  const std::string why = file.string() + ": expected the JSON object that a campaign wrote";
  if (auto problem = damaged_.set_aside(file, why, "the campaign goes on with the flags that are given now"))
    return problem;
  return write_file(file, identity_);
}

std::optional<Problem> WorkDirectory::check_corpus(const std::string& digest, size_t size) const {
  if (stats_.corpus_digest != digest || stats_.corpus_done <= static_cast<int64_t>(size)) return {};
  return Problem{(path_ / "stats.json").string() + ": corpus.done: expected at most " + std::to_string(size) +
                 ", the cases of this corpus, got " + std::to_string(stats_.corpus_done) +
                 std::string(kRestore)};
}

std::optional<Problem> WorkDirectory::save(const Stats& stats) {
  if (is_lost())
    return Problem{path_.string() + ": another process took the lease, which was not renewed for " +
                   std::to_string(FolderLease::kStaleSeconds) + " s; nothing more is written"};
  {
    const std::lock_guard guard(*mutex_);
    if (auto problem = held_->retry()) return problem;
    now_written_.insert(now_written_.end(), held_findings_.begin(), held_findings_.end());
    held_findings_.clear();
  }
  // A directory that was removed may be there again, without its files.
  if (kind_of(path_ / "campaign.json") == FileKind::none) {
    if (auto problem = write_file(path_ / "campaign.json", identity_)) return problem;
  }
  if (auto problem = write_file(path_ / "stats.json", to_json(stats))) return problem;
  return write_counts(stats);
}

std::optional<Problem> WorkDirectory::write_counts(const Stats& stats) {
  const std::lock_guard guard(*mutex_);
  for (const auto& [signature, count] : stats.findings) {
    const auto written = written_.find(signature);
    if (!known_.contains(signature) || (written != written_.end() && written->second == count)) continue;
    if (kind_of(finding(signature)) == FileKind::none) {  // somebody removed it: its next case makes it anew
      known_.erase(signature);
      continue;
    }
    if (auto problem = write_file(finding(signature) / "count", std::to_string(count) + "\n")) return problem;
    written_[signature] = count;
  }
  return {};
}

std::optional<Problem> WorkDirectory::save_corpus_case(const std::string& name, const std::string& text) {
  const auto written = held_->write(path_ / "corpus" / name, text);
  return written ? std::nullopt : std::optional(Problem{written.problem()});
}

std::vector<WorkDirectory::Written> WorkDirectory::take_written() {
  const std::lock_guard guard(*mutex_);
  return std::exchange(now_written_, {});
}

std::vector<std::string> WorkDirectory::findings() const {
  const std::lock_guard guard(*mutex_);
  return {known_.begin(), known_.end()};
}

size_t WorkDirectory::finding_count() const {
  const std::lock_guard guard(*mutex_);
  return known_.size();
}

std::vector<std::string> WorkDirectory::unfinished_findings() const {
  std::vector<std::string> unfinished = findings();
  std::erase_if(unfinished, [&](const auto& signature) { return is_finished(finding(signature)); });
  return unfinished;
}

bool WorkDirectory::forget_removed(const std::string& signature) {
  if (!is_there(path_ / "stats.json") || is_there(finding(signature) / kCaseFile)) return false;
  const std::lock_guard guard(*mutex_);
  return known_.erase(signature) > 0;
}

Result<WorkDirectory::Added> WorkDirectory::add_finding(const std::string& signature,
                                                        const FirstFiles& files) {
  // Under the lock: whoever counts another case of this signature finds it on disk, or held.
  const std::lock_guard guard(*mutex_);
  if (known_.contains(signature)) return Added::known;
  const WorkPath folder = finding(signature);
  if (is_there(folder / kCaseFile)) {  // was not listed when the campaign began
    known_.insert(signature);
    return Added::known;
  }
  for (const char* left : {"report.md", "min.json"}) (void)remove_file(folder / left);
  // The case comes last: a folder without it is no finding.
  bool all_written = true;
  for (const auto& [name, text] : {std::pair("verdict.json", &files.verdict_text),
                                   {"report.md", &files.report_text},
                                   {kCaseFile, &files.case_text}}) {
    const auto written = held_->write(folder / name, *text);
    if (!written) return Problem{written.problem()};
    all_written = *written;  // where one is held, so are those that follow
  }
  known_.insert(signature);
  if (all_written) return Added::written;
  held_findings_.push_back({signature, files.title});
  return Added::held;
}

bool WorkDirectory::is_written(const std::string& signature) const {
  const std::lock_guard guard(*mutex_);
  return known_.contains(signature) &&
         std::none_of(held_findings_.begin(), held_findings_.end(),
                      [&](const Written& held) { return held.signature == signature; });
}

}  // namespace fusesmith::fuzz
