// A campaign's work directory: campaign.json, stats.json, corpus/, findings/<signature>/. Used by one process
// at a time. All functions may be called from any thread; all files are atomic (fuzz/base/files.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fuzz/base/files.h"
#include "fuzz/base/lease.h"
#include "fuzz/counts/stats.h"
#include "fuzz/workdir/damaged_files.h"
#include "fuzz/workdir/held_files.h"

namespace fusesmith::fuzz {

// An option that decides what a campaign does, by its key in campaign.json. It may not change when the
// campaign is resumed.
struct IdentityValue {
  std::string_view key;
  std::variant<uint64_t, std::string, std::vector<std::string>> value;
  bool added_later =
      false;  // campaign.json of an earlier version lacks it: any value continues that campaign
};
using Identity = std::vector<IdentityValue>;

class WorkDirectory {
 public:
  // Makes the folder, or takes up the campaign in it, without what a killed one left half done. When
  // campaign.json has another identity, the problem names the first value that differs. `cannot_write` tells
  // the two kinds of problem apart.
  // Files that are damaged are set aside.
  static Result<WorkDirectory> open(const std::string& path, const Identity& identity, bool& cannot_write);

  // What the campaign there, if there is one, has for a key, as a flag would have it: "7", "a,b"; else empty.
  static std::string recorded(const std::string& path, std::string_view key);

  const WorkPath& path() const { return path_; }
  bool resumed() const { return resumed_; }
  // As stats.json had them when the directory was opened.
  const Stats& stats() const { return stats_; }

  // A problem when stats.json has more cases of this very corpus than it has.
  std::optional<Problem> check_corpus(const std::string& digest, size_t size) const;

  // What was found to be damaged, a line for each file; and the corpus cases among it.
  const std::vector<std::string>& damaged() const { return damaged_.notes(); }
  const std::vector<std::string>& damaged_corpus() const { return damaged_corpus_; }

  // stats.json, and the `count` of each finding that changed; before these, the files that are held, so that
  // no count is on disk without what it counts. The problem: something cannot be written; try again.
  std::optional<Problem> save(const Stats& stats);
  // Another process took the directory: nothing more is written.
  bool is_lost() const { return lease_->is_lost(); }
  // For a campaign that ends and cannot save: how, as CampaignRecord::state() tells it. Nothing may follow.
  void leave(std::string_view ending) { lease_->leave(ending); }
  // How many files are held in memory, since they cannot be written (fuzz/workdir/held_files.h).
  size_t held() const { return held_->count(); }
  // Held where it cannot be written. The problem: there is no room for that.
  std::optional<Problem> save_corpus_case(const std::string& name, const std::string& text);

  // Signatures that have a folder with a case, sorted; and of these, the ones that are not finished (a killed
  // campaign had no time; fuzz/findings/finding_record.h).
  std::vector<std::string> findings() const;
  size_t finding_count() const;
  std::vector<std::string> unfinished_findings() const;
  // Forgets a finding whose case.json is gone although the directory is there, as stats.json shows: somebody
  // removed it. Whether that is so.
  bool forget_removed(const std::string& signature);
  WorkPath finding(const std::string& signature) const { return path_ / "findings" / signature; }
  enum class Added : uint8_t { known, written, held };
  struct FirstFiles {
    std::string case_text, verdict_text, report_text;
    std::string title = {};  // to tell of it
  };
  // Writes verdict.json, a first report.md and case.json of a finding that is new, before anything else is
  // done with it, or holds them. The problem: there is no room for that.
  Result<Added> add_finding(const std::string& signature, const FirstFiles& files);
  // Whether the finding is on disk, and not only held.
  bool is_written(const std::string& signature) const;
  // The findings that were held, and that save() has written since the last call.
  struct Written {
    std::string signature, title;
  };
  std::vector<Written> take_written();

 private:
  WorkDirectory(WorkPath path, FolderLock lock, std::unique_ptr<FolderLease> lease)
      : path_(std::move(path)), lock_(std::move(lock)), lease_(std::move(lease)) {}
  std::optional<Problem> load(const Identity& identity, const std::vector<std::string>& findings,
                              bool& cannot_write);
  std::optional<Problem> load_identity(const Identity& identity);
  std::optional<Problem> load_stats();
  std::optional<Problem> write_counts(const Stats& stats);

  WorkPath path_;
  FolderLock lock_;
  std::unique_ptr<FolderLease> lease_;
  bool resumed_ = false;
  Stats stats_;
  std::string identity_;  // as campaign.json has it
  DamagedFiles damaged_;
  std::vector<std::string> damaged_corpus_;
  std::unique_ptr<HeldFiles> held_ = std::make_unique<HeldFiles>(path_);
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::set<std::string> known_;  // signatures with a folder
  Counts written_;               // `count` files as they stand
  std::vector<Written> held_findings_, now_written_;
};

}  // namespace fusesmith::fuzz
