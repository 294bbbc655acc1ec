// The `whatsup` command: how campaigns in many work directories are doing, in one table.
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/base/escape.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/cli/folder_arguments.h"
#include "fuzz/findings/groups.h"
#include "fuzz/workdir/campaign_record.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kWhatsupName = "whatsup";

struct WhatsupFlags {
  bool json = false;
  bool wide = false;
  std::vector<std::string> workdirs;

  FlagTable table();
};

FlagTable WhatsupFlags::table() {
  FlagTable table;
  table.command = kWhatsupName;
  table.doc = "show how campaigns in work directories are doing.";
  table.details =
      "Prints one row for each work directory. state: running; ended; interrupted (by a signal) or "
      "preempted, which go on when they are started again; failed (a device, the memory or the disk); or "
      "killed, where the campaign could not say that it ended. cases/s is of the last minutes, as far as the "
      "work directory tells. seen: how long ago the campaign last saved its counts, which a running one does "
      "every 2 "
      "seconds. groups: findings that probably have one cause count once. trouble: worker processes that "
      "ended and were replaced, and GPUs that are not used any more because they failed.\n"
      "\n"
      "Exit codes: 0 all were read, 1 wrong usage, or a work directory or a finding cannot be read; "
      "the others are shown.";
  table.positional = {"WORKDIR...", &workdirs, 1};
  table.flags.push_back(wide_flag(wide));
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there."});
  table.examples = {{"whatsup node*/work", "See which campaigns run, and what they found."}};
  table.shows = true;
  return table;
}

struct Row {
  CampaignRecord campaign;
  size_t findings = 0, groups = 0;
  double rate = 0;    // cases a second
  int64_t seen = -1;  // seconds ago; -1: has saved nothing
};

// Between the last samples of the history; of all the time where there is none.
double recent_rate(const Stats& stats) {
  constexpr size_t kSamples = 5;
  if (stats.history.size() < 2) return stats.graphs_per_second();
  const Sample& last = stats.history.back();
  const Sample& before = stats.history[stats.history.size() - std::min(stats.history.size(), kSamples)];
  const double seconds = last.elapsed_s - before.elapsed_s;
  return seconds > 0 ? static_cast<double>(last.cases - before.cases) / seconds : stats.graphs_per_second();
}

Result<Row> read_row(const std::string& workdir, int64_t now, std::vector<std::string>& problems) {
  auto campaign = read_campaign(workdir);
  if (!campaign) return Problem{campaign.problem()};
  const auto findings = read_findings(WorkPath(workdir), &problems);
  if (!findings) return Problem{findings.problem()};
  Row row{.campaign = std::move(*campaign)};
  row.findings = findings->size();
  row.groups = groups_of(*findings).size();
  row.rate = recent_rate(row.campaign.stats);
  if (row.campaign.saved_at > 0) row.seen = std::max<int64_t>(now - row.campaign.saved_at, 0);
  return row;
}

std::string ago_text(int64_t seconds) {
  if (seconds < 0) return "never";
  if (seconds < 120) return std::to_string(seconds) + " s ago";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min ago";
  return seconds < 172800 ? std::to_string(seconds / 3600) + " h ago"
                          : std::to_string(seconds / 86400) + " days ago";
}

std::string option(const Row& row, const char* name) {
  const auto found = row.campaign.options.find(name);
  return found == row.campaign.options.end() ? "" : found->second;
}

std::string pair_text(const Row& row) {
  return printable(option(row, "baseline") + " / " + option(row, "candidate"));
}

int64_t restarts_of(const Row& row) {
  const auto& status = row.campaign.stats.status;
  return status ? status->worker_restarts : 0;
}

std::vector<std::string> quarantined_of(const Row& row) {
  std::vector<std::string> uuids;
  for (const auto& [uuid, gpu] : row.campaign.stats.gpus) {
    if (!gpu.quarantined.empty()) uuids.push_back(uuid);
  }
  return uuids;
}

std::string trouble_text(const Row& row) {
  std::string text;
  if (const int64_t restarts = restarts_of(row)) text = counted(restarts, "restart");
  if (const auto gpus = quarantined_of(row); !gpus.empty())
    text += (text.empty() ? "" : ", ") + counted(static_cast<int64_t>(gpus.size()), "GPU") + " out";
  return text;
}

Json json_of(const Row& row) {
  return {{"workdir", row.campaign.path.string()},
          {"baseline", option(row, "baseline")},
          {"candidate", option(row, "candidate")},
          {"running", row.campaign.running},
          {"state", row.campaign.state()},
          {"cases_per_second", row.rate},
          {"cases", row.campaign.stats.cases},
          {"elapsed_s", row.campaign.stats.elapsed_s},
          {"findings", row.findings},
          {"groups", row.groups},
          {"worker_restarts", restarts_of(row)},
          {"quarantined_gpus", quarantined_of(row)},
          {"seen_s_ago", row.seen < 0 ? Json() : Json(row.seen)}};
}

// Exit code: 0, 1.
int run(WhatsupFlags& flags, Console& console) {
  int code = kClean;
  leave_out_files(flags.workdirs, console);
  Table table(
      {"work directory", "backends", "state", "cases/s", "cases", "findings", "groups", "seen", "trouble"});
  Json rows = Json::array();
  int64_t cases = 0;
  for (const std::string& workdir : flags.workdirs) {
    std::vector<std::string> problems;
    const auto row = read_row(workdir, std::time(nullptr), problems);
    for (const std::string& problem : problems) code = fail(console, kWhatsupName, printable(problem));
    if (!row) {
      code = fail(console, kWhatsupName, row.problem());
      continue;
    }
    cases += row->campaign.stats.cases;
    rows.push_back(json_of(*row));
    table.add({printable(workdir), pair_text(*row), std::string(row->campaign.state()),
               short_number(std::round(row->rate)), std::to_string(row->campaign.stats.cases),
               std::to_string(row->findings), std::to_string(row->groups), ago_text(row->seen),
               trouble_text(*row)});
  }
  if (flags.json)
    console.out << Json{{"campaigns", rows}, {"cases", cases}}.dump(2, ' ', false,
                                                                    Json::error_handler_t::replace)
                << "\n";
  else if (!table.empty())
    console.out << table.text(0, flags.wide ? kAllColumns : kColumns);
  return code;
}

}  // namespace

Command whatsup_command() { return command_of<WhatsupFlags>(); }

}  // namespace fusesmith::fuzz
