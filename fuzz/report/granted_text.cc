#include "fuzz/report/granted_text.h"

#include "backends/remote/remote_plan.h"
#include "backends/remote/worker_names.h"

namespace fusesmith::fuzz {

std::map<std::string, std::string> granted(const CaseRun& run) {
  std::map<std::string, std::string> texts;
  const auto add = [&](const std::string& backend, const Program* program) {
    if (!program || !worker_kind(backend)) return;
    std::string& text = texts[backend];
    for (const Region& region : program->plan().regions) {
      const std::string one = granted_text(region.contract);
      if (text.find(one) == std::string::npos) text += (text.empty() ? "" : "; ") + one;
    }
  };
  add(run.verdict.baseline.backend, run.baseline.get());
  add(run.verdict.candidate.backend, run.candidate.get());
  std::erase_if(texts, [](const auto& entry) { return entry.second.empty(); });
  return texts;
}

std::string granted_lines(const CaseRun& run) {
  std::string lines;
  for (const auto& [backend, text] : granted(run))
    lines += "The contract of " + backend + " grants " + text + ".\n";
  return lines;
}

}  // namespace fusesmith::fuzz
