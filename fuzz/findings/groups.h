// Groups of findings that probably have one cause (docs/report.md). A campaign files findings by signature,
// so that one bug leaves several: one for each dtype, and one for each symptom.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "fuzz/findings/finding_record.h"

namespace fusesmith::fuzz {

// What two findings are compared by.
struct CauseTraits {
  // The backend and the failing pattern or op; of no region, the signature. A cast that a compiler skips is
  // one cause, whichever ops read it and in whichever dtype.
  std::string place;
  std::string failure;       // verdict and symptom
  bool wrong_value = false;  // the symptom is that of a value out of its interval
  // Memory that is not the tensor's is read or written: the same mistake may give wrong values, too.
  bool wrong_access = false;
  // What the case does not fail without: kinds of ops that no other op can stand for, tiles, a batch; not
  // dtypes and ops that move elements.
  std::set<std::string> needs;
  std::set<std::string> layouts;  // what it needs of how operands lie in memory: "strides of right"
  std::set<std::string> rules;    // of sizes that fail, if they speak of a remainder: "N mod 32 != 0"
};
CauseTraits traits_of(const FindingRecord& record);

// Whether both have the same place and
// - the same symptom, if it is neither that of a wrong value nor of a wrong access;
// - else the same layouts, if one of them reads memory that is not its own and both need a layout;
// - else the same rule of sizes, or graphs that need the same; not if their rules differ for one symptom. Of
// one
//   symptom, one may need tiles and the other not.
bool is_same_cause(const CauseTraits& a, const CauseTraits& b);

// Indices into `records`, each once; groups with most cases first. The first of each group is its face: the
// one with the fewest nodes, then the fewest elements.
using Groups = std::vector<std::vector<size_t>>;
Groups groups_of(std::span<const FindingRecord> records);

}  // namespace fusesmith::fuzz
