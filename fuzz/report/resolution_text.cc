#include "fuzz/report/resolution_text.h"

#include "fuzz/base/table.h"

namespace fusesmith::fuzz {

namespace {

// Whether at least a result of 0 in place of the right one would have been found.
bool says_something(double resolution) { return resolution < 1; }

// "0.2 % if all of them change, 12 % for the worst"
std::string others_text(const Resolution& resolution) {
  return percent_text(resolution.least) + " if all of them change, " +
         (says_something(resolution.worst) ? percent_text(resolution.worst) + " for the worst of them"
                                           : "of some of them nothing is known");
}

}  // namespace

std::string percent_text(double share) { return short_number(100 * share) + " %"; }

std::string resolution_text(const Verdict& verdict) {
  if (verdict.finding || verdict.verdict > VerdictClass::inconclusive) return "";
  const RegionVerdict* region = verdict.candidate.coarsest();
  if (!region) return "";
  const Resolution& resolution = region->resolution;
  const std::string of = " of '" + region->name + "'";
  if (!says_something(resolution.median))
    return " No change of half of the elements" + of + " would have been found.";
  return " A change of " + percent_text(resolution.median) + of + " would have been found" +
         (region->probable_sums ? " or left undecided" : "") + " (median of its elements; " +
         others_text(resolution) + ").";
}

}  // namespace fusesmith::fuzz
