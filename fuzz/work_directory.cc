#include "fuzz/work_directory.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace fusesmith {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view kMend =
    "; give --workdir another folder, or the flags of the campaign that is there";

std::string identity_json(const FlagTable& table) {
  Json json = {{"fusesmith", FUSESMITH_VERSION}};
  for (const Flag& flag : table.flags) {
    if (!flag.identity) continue;
    std::visit([&](auto* value) { json[std::string(flag.name)] = *value; }, flag.target);
  }
  return json.dump(2) + "\n";
}

// What differs between the identities, or nothing. The version may: a resumed campaign is then one of two
// versions.
std::optional<Problem> compare(const fs::path& file, const std::string& text, const FlagTable& table) {
  const Json there = Json::parse(text, nullptr, false);
  if (!there.is_object())
    return Problem{file.string() + ": expected the JSON object that a campaign wrote" + std::string(kMend)};
  const Json wanted = Json::parse(identity_json(table));
  for (const auto& [key, value] : wanted.items()) {
    if (key == "fusesmith") continue;
    if (!there.contains(key) || there[key] != value) {
      return Problem{file.string() + ": the campaign there has " + key + " " +
                     (there.contains(key) ? there[key].dump() : "unset") + ", not " + value.dump() +
                     std::string(kMend)};
    }
  }
  return {};
}

}  // namespace

Result<WorkDirectory> WorkDirectory::open(const std::string& path, const FlagTable& table,
                                          bool& cannot_write) {
  cannot_write = true;
  for (const fs::path& folder : {fs::path(path), fs::path(path) / "corpus", fs::path(path) / "findings"}) {
    if (auto problem = make_folder(folder)) return *problem;
  }
  auto lock = FolderLock::take(path);
  if (!lock) {
    cannot_write = false;
    return Problem{lock.problem()};
  }
  WorkDirectory directory(path, std::move(*lock));
  if (auto problem = directory.load(table, cannot_write)) return *problem;
  return directory;
}

std::optional<Problem> WorkDirectory::load(const FlagTable& table, bool& cannot_write) {
  const fs::path campaign = path_ / "campaign.json", stats = path_ / "stats.json";
  stats_ = Stats::with_patterns();
  if (!fs::exists(campaign)) {
    if (fs::exists(stats)) {
      cannot_write = false;
      return Problem{stats.string() + ": found without its campaign.json" + std::string(kMend)};
    }
    return write_file(campaign, identity_json(table));
  }
  cannot_write = false;
  const auto text = read_file(campaign);
  if (!text) return Problem{text.problem()};
  if (auto problem = compare(campaign, *text, table)) return problem;
  resumed_ = true;
  if (fs::exists(stats)) {
    const auto stats_text = read_file(stats);
    if (!stats_text) return Problem{stats_text.problem()};
    auto parsed = parse_stats(*stats_text);
    if (!parsed)
      return Problem{stats.string() + ": " + parsed.problem() +
                     "; restore it or give --workdir another folder"};
    stats_ = std::move(*parsed);
  }
  for (const auto& entry : fs::directory_iterator(path_ / "findings")) {
    if (fs::exists(entry.path() / "case.json")) known_.insert(entry.path().filename().string());
  }
  return {};
}

std::optional<Problem> WorkDirectory::save(const Stats& stats) {
  if (auto problem = write_file(path_ / "stats.json", to_json(stats))) return problem;
  const std::lock_guard guard(*mutex_);
  for (const auto& [signature, count] : stats.findings) {
    if (!known_.contains(signature) || written_[signature] == count) continue;
    if (auto problem = write_file(finding(signature) / "count", std::to_string(count) + "\n")) return problem;
    written_[signature] = count;
  }
  return {};
}

std::optional<Problem> WorkDirectory::save_corpus_case(const std::string& name, const std::string& text) {
  return write_file(path_ / "corpus" / name, text);
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
  std::erase_if(unfinished,
                [&](const auto& signature) { return fs::exists(finding(signature) / "report.md"); });
  return unfinished;
}

Result<bool> WorkDirectory::add_finding(const std::string& signature, const std::string& case_text) {
  // Under the lock: whoever counts another case of this signature finds it on disk.
  const std::lock_guard guard(*mutex_);
  if (known_.contains(signature)) return false;
  if (auto problem = make_folder(finding(signature))) return *problem;
  if (auto problem = write_file(finding(signature) / "case.json", case_text)) return *problem;
  known_.insert(signature);
  return true;
}

}  // namespace fusesmith
