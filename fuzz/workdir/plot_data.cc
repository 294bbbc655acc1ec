#include "fuzz/workdir/plot_data.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace fusesmith::fuzz {

namespace {

// As AFL++ 4.3 writes it; 13 columns are all that its afl-plot reads.
constexpr std::string_view kHeader =
    "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, map_size, "
    "saved_crashes, "
    "saved_hangs, max_depth, execs_per_sec, total_execs, edges_found, total_crashes, servers_count";

bool is_line(const std::string& line) {
  return std::count(line.begin(), line.end(), ',') == std::count(kHeader.begin(), kHeader.end(), ',') &&
         line.find_first_not_of("0123456789., %") == std::string::npos;
}

double time_of(const std::string& line) { return std::strtod(line.c_str(), nullptr); }

}  // namespace

std::string plot_line(const Stats& stats, const CampaignStatus& status, size_t corpus_files,
                      int64_t processes) {
  const size_t cells = coverage_cells().size();
  size_t met = 0;
  for (size_t cell = 0; cell < cells; ++cell) met += stats.met.count(cell) > 0;
  int64_t hangs = 0, failing = 0;
  for (const auto& [signature, cases] : stats.findings) {
    hangs += signature.starts_with("timeout");
    failing += cases;
  }
  char line[512];
  std::snprintf(
      line, sizeof line, "%lld, 0, %llu, %zu, %lld, 0, %.2f%%, %lld, %lld, 0, %.2f, %lld, %zu, %lld, %lld",
      std::llround(stats.elapsed_s), static_cast<unsigned long long>(stats.next), corpus_files,
      static_cast<long long>(status.gaps), 100.0 * static_cast<double>(met) / static_cast<double>(cells),
      static_cast<long long>(stats.findings.size()) - static_cast<long long>(hangs),
      static_cast<long long>(hangs), status.rate_now, static_cast<long long>(stats.cases), met,
      static_cast<long long>(failing), static_cast<long long>(processes));
  return line;
}

PlotData::PlotData(const WorkPath& workdir) : file_(workdir / "plot_data") {
  const auto text = read_file(file_);
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    if (is_line(line) && lines_.size() < 2 * kMaxLines) lines_.push_back(line);
  }
  if (lines_.empty()) return;
  last_ = time_of(lines_.back());
  const double apart = (last_ - time_of(lines_.front())) / static_cast<double>(lines_.size());
  while (every_ * 1.5 < apart) every_ *= 2;
}

void PlotData::thin() {
  std::vector<std::string> half;
  for (size_t i = (lines_.size() + 1) % 2; i < lines_.size(); i += 2) half.push_back(std::move(lines_[i]));
  lines_ = std::move(half);
  every_ *= 2;
}

std::optional<Problem> PlotData::append(const std::string& line) const {
  const auto file = open_file(file_, O_WRONLY | O_APPEND, "write");
  if (!file) return Problem{file.problem()};
  const std::string text = line + "\n";
  if (::write(file->get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return Problem{file_.string() + ": cannot write: " + std::strerror(errno)};
}

// Appended where that is possible; the whole file is written by the first call, and when lines went.
std::optional<Problem> PlotData::add(const std::string& line, double elapsed_s) {
  last_ = elapsed_s;
  lines_.push_back(line);
  if (lines_.size() <= kMaxLines && whole_) {
    auto problem = append(line);
    whole_ = !problem;
    return problem;
  }
  if (lines_.size() > kMaxLines) thin();
  std::string text(kHeader);
  for (const std::string& one : lines_) text += "\n" + one;
  auto problem = write_file(file_, text + "\n");
  whole_ = !problem;
  return problem;
}

}  // namespace fusesmith::fuzz
