#include "oracle/signature.h"

#include <gtest/gtest.h>

#include <set>

namespace fusesmith::oracle {
namespace {

// Folders of work directories and case files hold these texts: their spelling is a contract.
TEST(Signature, IsAFileName) {
  EXPECT_EQ(to_string(Signature{VerdictClass::defect, "cpu_fused", "sdpa.both.causal", Dtype::bf16,
                                Symptom::out_of_bounds}),
            "defect-cpu_fused-sdpa.both.causal-bf16-out_of_bounds");
  EXPECT_EQ(to_string(Signature{VerdictClass::crash, "remote:python3 /x/y.py", "a/b", {}, Symptom::thrown}),
            "crash-remote_python3_y.py-a_b-any-thrown");
}

TEST(VerdictNames, ReadBack) {
  for (std::string_view text : kVerdictNames) {
    const auto verdict = parse_verdict(text);
    ASSERT_TRUE(verdict.has_value());
    EXPECT_EQ(name(*verdict), text);
  }
  EXPECT_FALSE(parse_verdict("fine").has_value());
}

// The spellings of version 0.1: old work directories and case files hold them.
TEST(SymptomNames, KeepTheirSpelling) {
  EXPECT_EQ(name(Symptom::none), "");
  EXPECT_EQ(name(Symptom::out_of_bounds), "out_of_bounds");
  EXPECT_EQ(name(Symptom::nan), "nan");
  EXPECT_EQ(name(Symptom::infinity), "infinity");
  EXPECT_EQ(name(Symptom::missing_nan), "missing_nan");
  EXPECT_EQ(name(Symptom::missing_infinity), "missing_infinity");
  EXPECT_EQ(name(Symptom::undeclared_rounding), "undeclared_rounding");
  EXPECT_EQ(name(Symptom::declared_rounding), "declared_rounding");
  EXPECT_EQ(name(Symptom::explicit_cast_skipped), "explicit_cast_skipped");
  EXPECT_EQ(name(Symptom::guard_overwritten), "guard_overwritten");
  EXPECT_EQ(name(Symptom::depends_on_unwritten_memory), "depends_on_unwritten_memory");
  EXPECT_EQ(name(Symptom::repeat_differs), "repeat_differs");
  EXPECT_EQ(name(Symptom::production_differs), "production_differs");
  EXPECT_EQ(name(Symptom::source_overwritten), "source_overwritten");
  EXPECT_EQ(name(Symptom::scaling_differs), "scaling_differs");
  EXPECT_EQ(name(Symptom::exchange_differs), "exchange_differs");
  EXPECT_EQ(name(Symptom::input_changed), "input_changed");
  EXPECT_EQ(name(Symptom::thrown), "thrown");
  EXPECT_EQ(name(Symptom::died), "died");
  EXPECT_EQ(name(Symptom::timed_out), "timed_out");
  EXPECT_EQ(name(Symptom::bad_reply), "bad_reply");
  EXPECT_EQ(name(Symptom::device_error), "device_error");
  EXPECT_EQ(std::set(kSymptomNames.begin(), kSymptomNames.end()).size(), kSymptomNames.size());
}

}  // namespace
}  // namespace fusesmith::oracle
