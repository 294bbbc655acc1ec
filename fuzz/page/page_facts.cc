#include "fuzz/page/page_facts.h"

#include <nlohmann/json.hpp>

#include "fuzz/base/table.h"
#include "fuzz/findings/groups.h"
#include "fuzz/page/coverage_facts.h"
#include "fuzz/run/known_names.h"
#include "fuzz/workdir/campaign_record.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

Json verdict_counts(const std::array<int64_t, kVerdictNames.size()>& verdicts) {
  Json json = Json::object();
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i] > 0) json[std::string(kVerdictNames[i])] = verdicts[i];
  }
  return json;
}

Json history_facts(const Stats& stats) {
  Json history = Json::array();
  for (const Sample& sample : stats.history)
    history.push_back({{"elapsed_s", sample.elapsed_s},
                       {"cases", sample.cases},
                       {"findings", sample.findings},
                       {"verdicts", verdict_counts(sample.verdicts)}});
  return history;
}

Json campaign_facts(const CampaignRecord& campaign, size_t findings) {
  const Stats& stats = campaign.stats;
  return {{"workdir", campaign.path.string()},
          {"options", campaign.options},
          {"running", campaign.running},
          {"state", campaign.state()},
          {"saved_at", campaign.saved_at},
          {"cases", stats.cases},
          {"exact_cases", stats.exact_cases},
          {"elapsed_s", stats.elapsed_s},
          {"cases_per_second", stats.graphs_per_second()},
          {"findings", findings},
          {"known", stats.known},
          {"unsupported", stats.unsupported},
          {"verdicts", verdict_counts(stats.verdicts)},
          {"history", history_facts(stats)}};
}

// What verdict.json of an earlier version has, in the words of this one.
Json older_report(const FindingRecord& record) {
  Json report = {{"title", record.signature}, {"what", text_member(record.judged(), "reason")}};
  const Json& region = record.failing_region();
  if (!region.is_object() || !region.contains("worst")) return report;
  const Json& worst = region.at("worst");
  report["outside"] = region.at("outside");
  report["elements"] = region.at("elements");
  report["element"] = {{"value", worst.at("value")},
                       {"dtype", region.at("dtype")},
                       {"got", worst.at("got")},
                       {"exact", worst.at("want")},
                       {"lowest", worst.at("lo")},
                       {"highest", worst.at("hi")},
                       {"ulps_outside", worst.at("steps_outside")}};
  return report;
}

Json report_of(const FindingRecord& record) {
  if (record.verdict.is_object() && record.verdict.contains("report")) return record.verdict.at("report");
  try {
    return older_report(record);
  } catch (const Json::exception&) {  // damaged
    return {{"title", record.signature}};
  }
}

Json finding_facts(const FindingRecord& record, const std::string& workdir) {
  constexpr size_t kMostCaseBytes = 16384;
  Json json = {{"signature", record.signature},
               {"workdir", workdir},
               {"folder", record.folder.string()},
               {"file", record.file.string()},
               {"cases", record.cases},
               {"verdict", text_member(record.judged(), "verdict")},
               {"reason", text_member(record.judged(), "reason")},
               {"region", record.failing_region()}};
  json["report"] = report_of(record);
  json["neighbours"] = record.verdict.is_object() && record.verdict.contains("neighbours")
                           ? record.verdict["neighbours"]
                           : Json();
  const CauseTraits traits = traits_of(record);
  json["needs"] = traits.needs;
  json["layouts"] = traits.layouts;
  json["size_rules"] = traits.rules;
  json["nodes"] = record.smallest ? Json(record.smallest->graph.nodes().size()) : Json();
  const std::string text = record.smallest ? to_json(*record.smallest) : "";
  json["case"] = text.size() <= kMostCaseBytes ? Json(text) : Json();
  return json;
}

}  // namespace

Result<Json> page_facts(const std::vector<std::string>& workdirs, std::string_view commit,
                        const std::string& today, std::vector<std::string>* problems) {
  Json facts = {{"version", FUSESMITH_VERSION}, {"commit", commit}, {"date", today}};
  facts["campaigns"] = Json::array();
  std::vector<FindingRecord> records;
  std::vector<std::string> workdir_of;  // of each record
  Coverage coverage;
  int64_t cases = 0;
  bool rewrites = false;
  for (const std::string& workdir : workdirs) {
    auto campaign = read_campaign(workdir);
    if (!campaign) return Problem{campaign.problem()};
    auto findings = read_findings(WorkPath(workdir), problems);
    if (!findings) return Problem{findings.problem()};
    facts["campaigns"].push_back(campaign_facts(*campaign, findings->size()));
    for (FindingRecord& record : *findings) {
      records.push_back(std::move(record));
      workdir_of.push_back(workdir);
    }
    const auto candidate = campaign->options.find("candidate");
    rewrites = rewrites || candidate == campaign->options.end() || rewrites_graphs(candidate->second);
    coverage.add(campaign->stats.met);
    cases += campaign->stats.cases;
  }
  facts["cases"] = cases;
  facts["findings"] = records.size();
  facts["groups"] = Json::array();
  for (const auto& members : groups_of(records)) {
    Json group = {{"cases", 0}, {"findings", Json::array()}};
    int64_t sum = 0;
    for (const size_t member : members) {
      sum += records[member].cases;
      group["findings"].push_back(finding_facts(records[member], workdir_of[member]));
    }
    group["cases"] = sum;
    facts["groups"].push_back(std::move(group));
  }
  facts["coverage"] = coverage_facts(coverage, cases, rewrites);
  return facts;
}

}  // namespace fusesmith::fuzz
