#include "fuzz/page/coverage_facts.h"

#include <nlohmann/json.hpp>

#include "backends/rewrite/pattern.h"
#include "fuzz/counts/coverage_gaps.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

// Over all shape classes.
int64_t refused(const Coverage& coverage, std::string_view pattern, std::string_view guard,
                std::string_view dtype) {
  return coverage.sum("refused", {pattern, guard, dtype});
}

}  // namespace

Json coverage_facts(const Coverage& coverage, int64_t cases, bool rewrites) {
  const CoverageGaps gaps = coverage_gaps(coverage, cases, rewrites);
  Json facts = {{"dtypes", Json::array()}, {"wanted", gaps.wanted}, {"rows", Json::array()}};
  for (const Dtype dtype : kFloatDtypes) facts["dtypes"].push_back(name(dtype));
  for (const Pattern& pattern : all_patterns()) {
    if (!rewrites) break;
    const auto add = [&](std::string_view outcome, auto count_of) {
      Json counts = Json::array();
      for (const Dtype dtype : kFloatDtypes) counts.push_back(count_of(name(dtype)));
      facts["rows"].push_back({{"pattern", pattern.name}, {"outcome", outcome}, {"counts", counts}});
    };
    add("matched", [&](std::string_view dtype) { return coverage.sum("matched", {pattern.name, dtype}); });
    for (const std::string_view guard : pattern.guards)
      add(guard, [&](std::string_view dtype) { return refused(coverage, pattern.name, guard, dtype); });
  }
  facts["missing_ops"] = gaps.ops;
  facts["gaps"] = gaps.count();
  return facts;
}

}  // namespace fusesmith::fuzz
