// plot_data of a work directory, in the format of AFL++, whose tools plot it (docs/workdir.md): a line of
// counts every few seconds. When there are too many lines, every second one goes, and lines are added half as
// often.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/base/work_path.h"
#include "fuzz/counts/stats.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

// "24, 0, 12345, 38, ...": as the header names the values.
std::string plot_line(const Stats& stats, const CampaignStatus& status, size_t corpus_files,
                      int64_t processes);

class PlotData {
 public:
  static constexpr size_t kMaxLines = 8192;
  static constexpr double kEvery = 5;  // seconds, at first

  // Goes on with the file of an earlier call; lines that are no such lines are dropped.
  explicit PlotData(const WorkPath& workdir);

  // Whether a line is due, at this time of the campaign.
  bool is_due(double elapsed_s) const { return elapsed_s >= last_ + every_; }
  std::optional<Problem> add(const std::string& line, double elapsed_s);

 private:
  std::optional<Problem> append(const std::string& line) const;
  void thin();

  const WorkPath file_;
  std::vector<std::string> lines_;
  double every_ = kEvery, last_ = -kEvery;
  bool whole_ = false;  // the file has all lines
};

}  // namespace fusesmith::fuzz
