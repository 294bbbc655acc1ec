#include "fuzz/page/page_view.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/base/table.h"
#include "fuzz/page/finding_view.h"
#include "fuzz/page/history_chart.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string duration(double seconds) {
  if (seconds < 120) return std::to_string(std::lround(seconds)) + " s";
  if (seconds < 7200) return std::to_string(std::lround(seconds / 60)) + " min";
  return short_number(seconds / 3600) + " h";
}

std::string option(const Json& campaign, const char* name) {
  return campaign.at("options").value(name, std::string());
}

Json verdict_rows(const Json& campaign) {
  Json rows = Json::array();
  const double cases = campaign.at("cases").get<double>();
  for (const auto& [verdict, count] : campaign.at("verdicts").items()) {
    const double share = cases > 0 ? 100 * count.get<double>() / cases : 0;
    rows.push_back(
        {{"verdict", verdict}, {"cases", grouped(count.get<int64_t>())}, {"share", short_number(share)}});
  }
  return rows;
}

Json counts_rows(const Json& counts) {
  Json rows = Json::array();
  for (const auto& [name, count] : counts.items())
    rows.push_back({{"name", name}, {"cases", grouped(count.get<int64_t>())}});
  return rows;
}

Json campaign_view(const Json& campaign) {
  const Json chart = history_chart(campaign.at("history"));
  return {{"workdir", campaign.at("workdir")},
          {"pair", option(campaign, "baseline") + " against " + option(campaign, "candidate")},
          {"seed", option(campaign, "seed") + ", shard " + option(campaign, "shard")},
          {"faults", option(campaign, "faults")},
          {"version", option(campaign, "fusesmith")},
          {"state", campaign.at("state")},
          {"cases", grouped(campaign.at("cases").get<int64_t>())},
          {"rate", short_number(campaign.at("cases_per_second").get<double>())},
          {"elapsed", duration(campaign.at("elapsed_s").get<double>())},
          {"findings", campaign.at("findings").dump()},
          {"verdict_rows", verdict_rows(campaign)},
          {"unsupported_rows", counts_rows(campaign.at("unsupported"))},
          {"known_rows", counts_rows(campaign.at("known"))},
          {"chart", chart},
          {"no_chart", chart.is_null()}};
}

// 0 for none, then one more for each factor of ten.
int level(int64_t count) { return count == 0 ? 0 : std::min(6, 1 + static_cast<int>(std::log10(count))); }

Json coverage_view(const Json& coverage) {
  Json rows = Json::array();
  const int64_t wanted = coverage.at("wanted").get<int64_t>();
  std::string pattern;
  for (const Json& row : coverage.at("rows")) {
    const bool match = row.at("outcome") == "matched";
    Json cells = Json::array();
    int64_t sum = 0;
    for (const Json& count : row.at("counts")) sum += count.get<int64_t>();
    for (const Json& count : row.at("counts")) {
      const bool gap = match ? count.get<int64_t>() < wanted : sum == 0;
      cells.push_back({{"count", grouped(count.get<int64_t>())},
                       {"level", std::to_string(level(count.get<int64_t>()))},
                       {"gap", gap}});
    }
    rows.push_back({{"pattern", row.at("pattern") == pattern ? Json("") : row.at("pattern")},
                    {"outcome", row.at("outcome")},
                    {"match", match},
                    {"cells", cells}});
    pattern = row.at("pattern").get<std::string>();
  }
  std::string missing;
  for (const Json& op : coverage.at("missing_ops"))
    missing += (missing.empty() ? "" : ", ") + op.get<std::string>();
  return {{"dtypes", coverage.at("dtypes")},
          {"wanted", std::to_string(wanted)},
          {"rows", rows},
          {"gaps", std::to_string(coverage.at("gaps").get<int64_t>())},
          {"missing_ops", missing}};
}

// Each environment that findings were seen in, once.
Json environments_view(const Json& groups) {
  Json views = Json::array();
  std::set<std::string> seen;
  for (const Json& group : groups) {
    for (const Json& finding : group.at("findings")) {
      const Json rows = environment_rows(finding.at("report"));
      if (!rows.empty() && seen.insert(rows.dump(-1, ' ', false, Json::error_handler_t::replace)).second)
        views.push_back({{"rows", rows}});
    }
  }
  return views;
}

}  // namespace

Json page_view(const Json& facts) {
  const auto word = [](const char* singular, int64_t count) {
    return std::string(singular) + (count == 1 ? "" : "s");
  };
  const auto group_count = static_cast<int64_t>(facts.at("groups").size());
  const auto campaign_count = static_cast<int64_t>(facts.at("campaigns").size());
  Json view = {{"version", facts.at("version")},
               {"commit", facts.at("commit")},
               {"date", facts.at("date")},
               {"cases", grouped(facts.at("cases").get<int64_t>())},
               {"finding_count", grouped(facts.at("findings").get<int64_t>())},
               {"finding_word", word("finding", facts.at("findings").get<int64_t>())},
               {"group_count", grouped(group_count)},
               {"group_word", word("group", group_count)},
               {"campaign_count", grouped(campaign_count)},
               {"campaign_word", word("campaign", campaign_count)},
               {"campaigns", Json::array()},
               {"groups", Json::array()}};
  for (const Json& campaign : facts.at("campaigns")) view["campaigns"].push_back(campaign_view(campaign));
  size_t number = 0;
  for (const Json& group : facts.at("groups")) view["groups"].push_back(group_view(group, ++number));
  view["coverage"] = coverage_view(facts.at("coverage"));
  view["environments"] = environments_view(facts.at("groups"));
  return view;
}

}  // namespace fusesmith::fuzz
