#include "minimizer/fingerprint.h"

#include <gtest/gtest.h>

#include <map>

#include "minimizer/reductions.h"
#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

TEST(Fingerprint, EqualCasesAndNoOthersShareIt) {
  std::map<uint64_t, std::string> texts;
  for (const Case& test_case : sample_cases()) {
    const Probe probe{"", some_bits(test_case.graph), {}};
    for (const Reduction& reduction : all_reductions()) {
      for (const Edits& edits : reduction.propose({test_case, probe})) {
        const auto edited = apply_edits(test_case, edits);
        if (!edited) continue;
        const std::string text = to_json(*edited);
        const auto [at, is_new] = texts.emplace(fingerprint(*edited), text);
        EXPECT_TRUE(is_new || at->second == text) << to_string(edits);
      }
    }
  }
  EXPECT_GT(texts.size(), 1000u);
}

TEST(Fingerprint, SeesEveryPartOfACase) {
  const Case test_case = stepping();
  Case other = test_case;
  EXPECT_EQ(fingerprint(other), fingerprint(test_case));
  other.expect = Expect{};
  EXPECT_EQ(fingerprint(other), fingerprint(test_case));  // says nothing about how it runs
  other.seed = 8;
  EXPECT_NE(fingerprint(other), fingerprint(test_case));
  other = test_case;
  other.steps = 2;
  EXPECT_NE(fingerprint(other), fingerprint(test_case));
  other = test_case;
  other.policy.tf32 = true;
  EXPECT_NE(fingerprint(other), fingerprint(test_case));
  other = test_case;
  other.policy.skip_patterns = {"sdpa"};
  EXPECT_NE(fingerprint(other), fingerprint(test_case));
  other = test_case;
  other.policy.metamorphic = {"scaling"};
  EXPECT_NE(fingerprint(other), fingerprint(test_case));
}

}  // namespace
}  // namespace fusesmith::minimizer
