#include "fuzz/page/history_chart.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fuzz/base/table.h"
#include "oracle/signature.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kChartWidth = 600, kChartHeight = 120;

std::string point(double x, double y) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f,%.1f ", x * kChartWidth, (1 - y) * kChartHeight);
  return text;
}

std::string time_text(double seconds) {
  if (seconds < 120) return short_number(seconds) + " s";
  return seconds < 7200 ? short_number(seconds / 60) + " min" : short_number(seconds / 3600) + " h";
}

// Between two samples: the seconds, the cases, and the cases of each verdict.
struct Step {
  double from = 0, until = 0, cases = 0;
  std::array<double, kVerdictNames.size()> verdicts{};
};

double count(const Json& sample, std::string_view verdict) {
  const auto& verdicts = sample.at("verdicts");
  const auto found = verdicts.find(std::string(verdict));
  return found == verdicts.end() ? 0 : found->get<double>();
}

std::vector<Step> steps_of(const Json& history) {
  std::vector<Step> steps;
  for (size_t i = 1; i < history.size(); ++i) {
    const Json &a = history[i - 1], &b = history[i];
    Step step{a.at("elapsed_s").get<double>(), b.at("elapsed_s").get<double>()};
    step.cases = b.at("cases").get<double>() - a.at("cases").get<double>();
    if (step.until <= step.from || step.cases < 0) continue;
    for (size_t v = 0; v < kVerdictNames.size(); ++v)
      step.verdicts[v] = std::max(0.0, count(b, kVerdictNames[v]) - count(a, kVerdictNames[v]));
    steps.push_back(step);
  }
  return steps;
}

// One area for each verdict that occurs, one above the other.
Json areas_of(const std::vector<Step>& steps, double begin, double end) {
  std::vector<double> below(steps.size(), 0);
  Json areas = Json::array();
  for (size_t v = 0; v < kVerdictNames.size(); ++v) {
    std::string up, down;
    bool any = false;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const double share = step.cases > 0 ? step.verdicts[v] / step.cases : 0, top = below[i] + share;
      const double x1 = (step.from - begin) / (end - begin), x2 = (step.until - begin) / (end - begin);
      up += point(x1, top) + point(x2, top);
      down = point(x2, below[i]) + point(x1, below[i]) + down;
      below[i] = top;
      any = any || share > 0;
    }
    if (any) areas.push_back({{"verdict", kVerdictNames[v]}, {"points", up + down}});
  }
  return areas;
}

}  // namespace

Json history_chart(const Json& history) {
  const std::vector<Step> steps = steps_of(history);
  if (steps.size() < 2) return {};
  const double begin = steps.front().from, end = steps.back().until;
  double fastest = 0;
  for (const Step& step : steps) fastest = std::max(fastest, step.cases / (step.until - step.from));
  if (fastest <= 0) return {};
  std::string line;
  for (const Step& step : steps) {
    const double rate = step.cases / (step.until - step.from) / fastest;
    line +=
        point((step.from - begin) / (end - begin), rate) + point((step.until - begin) / (end - begin), rate);
  }
  return {{"rate_points", line},
          {"rate_top", short_number(fastest) + "/s"},
          {"begin", time_text(begin)},
          {"end", time_text(end)},
          {"areas", areas_of(steps, begin, end)}};
}

}  // namespace fusesmith::fuzz
