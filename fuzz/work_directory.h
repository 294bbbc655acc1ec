// A campaign's work directory: campaign.json, stats.json, corpus/, findings/<signature>/. Used by one process
// at a time. All functions may be called from any thread; all files are atomic (fuzz/files.h).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fuzz/files.h"
#include "fuzz/flags.h"
#include "fuzz/stats.h"

namespace fusesmith {

class WorkDirectory {
 public:
  // Makes the folder, or takes up the campaign in it. The table's `identity` flags are its identity: when
  // campaign.json has other values, the problem names the first that differs. `cannot_write` tells the two
  // kinds of problem apart.
  static Result<WorkDirectory> open(const std::string& path, const FlagTable& table, bool& cannot_write);

  const std::filesystem::path& path() const { return path_; }
  bool resumed() const { return resumed_; }
  // As stats.json had them when the directory was opened.
  const Stats& stats() const { return stats_; }

  // stats.json, and the `count` of each finding that changed.
  std::optional<Problem> save(const Stats& stats);
  std::optional<Problem> save_corpus_case(const std::string& name, const std::string& text);

  // Signatures that have a folder with a case, sorted; and of these, the ones without report.md (a killed
  // campaign had no time).
  std::vector<std::string> findings() const;
  size_t finding_count() const;
  std::vector<std::string> unfinished_findings() const;
  std::filesystem::path finding(const std::string& signature) const { return path_ / "findings" / signature; }
  // Writes case.json of a finding that is new, before anything else is done with it; false where its
  // signature is known.
  Result<bool> add_finding(const std::string& signature, const std::string& case_text);

 private:
  WorkDirectory(std::filesystem::path path, FolderLock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::optional<Problem> load(const FlagTable& table, bool& cannot_write);

  std::filesystem::path path_;
  FolderLock lock_;
  bool resumed_ = false;
  Stats stats_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::set<std::string> known_;  // signatures with a folder
  Counts written_;               // `count` files as they stand
};

}  // namespace fusesmith
