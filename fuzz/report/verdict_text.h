// A verdict for people: the region table, the evidence of a finding, and one sentence that says what
// happened.
#pragma once

#include <span>
#include <string>

#include "fuzz/base/table.h"
#include "fuzz/run/difference.h"
#include "oracle/judge.h"

namespace fusesmith::fuzz {

// Which regions of a backend the table shows: all, or those that were rewritten, are findings, or are the
// worst three.
enum class Regions { all, notable };

// One row per region: value, what made it (patterns or op), dtype, verdict, deviations used, worst and median
// error as shares of the bound, elements, and the difference to the other backend. `differences` as in
// verdict_json.h.
Table region_table(const BackendVerdict& verdict, Regions which,
                   std::span<const Difference> differences = {});

// "12 output elements", "36 output elements of 3 steps".
std::string outputs_text(const Verdict& verdict);

// One line, where the case has more steps than one: which of them the regions and the evidence are of.
std::string shown_step_text(const Verdict& verdict);

// " Sampled 4096 of 16777216 elements; ...", of the candidate's regions, or of the baseline's if only those
// were sampled; empty where all elements were judged.
std::string sampled_text(const Verdict& verdict);
// " The bounds of 3 of 80 elements are too large to say much ..."; empty if there are none, and of other
// verdicts than reassociation and precision_policy.
std::string loose_text(const Verdict& verdict);

// " It is wrong if it is meant that ...; to have that judged, declare ...", of the first inconclusive region
// that a narrower contract would fail; empty if there is none.
std::string fails_with_text(const Verdict& verdict);

// ", known issue a, b"; empty if no failure belongs to one.
std::string known_text(const Verdict& verdict);

// The evidence of the failing region; empty where there is none. "region 'o' (sdpa, f32) of cpu_fused: o[17]
// is 1.25, allowed is [1, 1.1] (exact 1.05, bound 3e-07, 12 ulp outside); 37 of 128 elements outside".
std::string evidence_text(const Verdict& verdict);

// One sentence about the backend that does not have the failing region, if it fails on the same graph as
// well: "cpu fails as well: region ...". Empty where it does not.
std::string other_failure_text(const Verdict& verdict);

// One sentence: what differs, whether that is within bounds, with which deviations, and where the
// worst error lies.
std::string sentence(const Verdict& verdict);

}  // namespace fusesmith::fuzz
