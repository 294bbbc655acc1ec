// Conclusion: which region an explanation holds responsible, and what in it an experiment has shown to be the
// cause. What scripts read instead of the sentence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/explain/causes.h"

namespace fusesmith::fuzz {

struct Conclusion {
  std::string backend;
  RegionVerdict region;
  // A CauseKind's name, or the symptom of a region that a second look at its run showed to fail; empty where
  // no experiment could tell.
  std::string kind;
  // Inner values of the kernel, or kStore, or values whose roundings were left out, moved or added. Empty:
  // the cause is inside the kernel, and no experiment in it names it.
  std::vector<std::string> named;
  std::vector<std::string> ruled_out;  // inner values with which the kernel stays out of bounds
};

// About the region that fails, else the cause of the largest share; nothing where there is neither.
std::optional<Conclusion> conclude(const Verdict& verdict, const Causes& causes);

}  // namespace fusesmith::fuzz
