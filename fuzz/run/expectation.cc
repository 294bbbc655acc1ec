#include "fuzz/run/expectation.h"

#include <algorithm>

#include "fuzz/base/table.h"

namespace fusesmith::fuzz {

bool is_about(const Case& test_case, const Verdict& verdict) {
  if (!test_case.expect) return false;
  const std::vector<std::string>& backends = test_case.expect->backends;
  return backends.empty() ||
         backends == std::vector<std::string>{verdict.baseline.backend, verdict.candidate.backend};
}

namespace {

// Which kernel a GPU's library takes, and so whether two orders leave the same bits, depends on card and
// driver.
bool has_verdict(const std::string& wanted, const Verdict& verdict) {
  if (wanted.empty() || wanted == name(verdict.verdict)) return true;
  const bool on_gpu = verdict.baseline.backend.starts_with("cuda");
  return on_gpu && verdict.verdict == VerdictClass::identical && wanted == name(VerdictClass::reassociation);
}

}  // namespace

std::optional<std::string> broken_expectation(const Case& test_case, const Verdict& verdict) {
  if (!is_about(test_case, verdict)) return {};
  const Expect& expect = *test_case.expect;
  const auto broken = [](const char* what, const std::string& wanted, const std::string& got) {
    return std::string("expected ") + what + " " + wanted + ", got " + got;
  };
  const std::string got(name(verdict.verdict));
  if (!has_verdict(expect.verdict, verdict)) return broken("verdict", expect.verdict, got);
  if (verdict.verdict == VerdictClass::precision_policy && !expect.deviations.empty()) {
    std::vector<std::string> wanted = expect.deviations;
    std::sort(wanted.begin(), wanted.end());  // as the set is
    const std::vector<std::string> used(verdict.deviations.begin(), verdict.deviations.end());
    if (wanted != used)
      return broken("deviations", "[" + list_text(wanted) + "]", "[" + list_text(used) + "]");
  }
  const std::string signature = verdict.signature_text();
  if (!expect.signature.empty() && expect.signature != signature) {
    return broken("signature", expect.signature, signature.empty() ? "none" : signature);
  }
  return {};
}

}  // namespace fusesmith::fuzz
