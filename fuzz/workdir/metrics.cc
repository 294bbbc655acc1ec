#include "fuzz/workdir/metrics.h"

#include <cstdio>
#include <utility>
#include <vector>

namespace fusesmith::fuzz {

namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\n')
      text += "\\n";
    else
      text += c == '\\' || c == '"' ? std::string("\\") + c : std::string(1, c);
  }
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

class Metrics {
 public:
  explicit Metrics(Labels common) : common_(std::move(common)) {}

  // Samples of one metric follow each other.
  void begin(const std::string& name, const std::string& type, const std::string& help) {
    name_ = "fusesmith_" + name;
    text_ += "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n";
  }
  void sample(double value, const Labels& more = {}) {
    std::string labels;
    for (const Labels* some : {&common_, &more}) {
      for (const auto& [label, text] : *some)
        labels += (labels.empty() ? "" : ",") + label + "=\"" + escaped(text) + "\"";
    }
    text_ += name_ + "{" + labels + "} " + number(value) + "\n";
  }
  void counter(const std::string& name, const std::string& help, double value) {
    begin(name, "counter", help);
    sample(value);
  }
  void gauge(const std::string& name, const std::string& help, double value) {
    begin(name, "gauge", help);
    sample(value);
  }
  const std::string& text() const { return text_; }

 private:
  const Labels common_;
  std::string name_, text_;
};

void add_counts(Metrics& metrics, const Stats& stats) {
  metrics.counter("cases_total", "Cases that were judged.", static_cast<double>(stats.cases));
  metrics.begin("verdicts_total", "counter", "Cases by verdict.");
  for (size_t i = 0; i < stats.verdicts.size(); ++i)
    metrics.sample(static_cast<double>(stats.verdicts[i]), {{"verdict", std::string(kVerdictNames[i])}});
  metrics.counter("invalid_cases_total", "Generated graphs that are not valid: a bug in the generator.",
                  static_cast<double>(stats.invalid));
  double failing = 0;
  for (const auto& [signature, cases] : stats.findings) failing += static_cast<double>(cases);
  metrics.counter("failing_cases_total", "Cases that are findings.", failing);
  metrics.gauge("findings", "Findings in the work directory; cases of one signature are one.",
                static_cast<double>(stats.findings.size()));
  metrics.counter("elapsed_seconds_total", "Time that the campaign has run.", stats.elapsed_s);
}

}  // namespace

std::string metrics_text(const Stats& stats, const CampaignStatus& status, const std::string& baseline,
                         const std::string& candidate, int64_t now) {
  Metrics metrics({{"seed", std::to_string(stats.seed)}, {"shard", stats.shard}});
  metrics.begin("info", "gauge", "The campaign; always 1.");
  metrics.sample(1, {{"version", FUSESMITH_VERSION}, {"baseline", baseline}, {"candidate", candidate}});
  metrics.gauge("running", "1 while the campaign runs.", status.running ? 1 : 0);
  add_counts(metrics, stats);
  metrics.gauge("cases_per_second", "Cases a second over the last 30 s.", status.rate_now);
  metrics.begin("threads", "gauge", "Threads of worker processes by what they are at.");
  for (const char* stage : {"compile", "run", "judge", "minimize"}) {
    const auto found = status.threads.find(stage);
    metrics.sample(found == status.threads.end() ? 0 : static_cast<double>(found->second),
                   {{"stage", stage}});
  }
  metrics.gauge("coverage_gaps", "Gaps that are left in the coverage.", static_cast<double>(status.gaps));
  metrics.counter("worker_restarts_total", "Worker processes that ended and were replaced.",
                  static_cast<double>(status.worker_restarts));
  metrics.gauge("quarantined_gpus", "GPUs that are not used any more.",
                static_cast<double>(status.quarantined.size()));
  if (status.last_finding_s)
    metrics.gauge("last_finding_elapsed_seconds",
                  "Elapsed time of the campaign when its newest finding was met.", *status.last_finding_s);
  if (status.time_left_s)
    metrics.gauge("time_left_seconds", "Time until the campaign reaches its limit, as estimated.",
                  *status.time_left_s);
  metrics.gauge("save_timestamp_seconds", "When this file was written, in seconds since 1970.",
                static_cast<double>(now));
  return metrics.text();
}

}  // namespace fusesmith::fuzz
