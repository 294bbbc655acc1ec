// The lines of Python that show how a case fails, from what the judge saw.
#pragma once

#include <string>
#include <vector>

#include "fuzz/export/snippet.h"
#include "fuzz/run/environment.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

// snippet() for a case that was run, with what `environment` says of the backend's libraries. `left_out`: as
// in SnippetFacts.
std::string snippet_of(const Case& test_case, const CaseRun& run, const std::string& backend,
                       const Environment& environment, const std::vector<std::string>& left_out = {});

}  // namespace fusesmith::fuzz
