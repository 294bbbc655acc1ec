// Where the generated cases of a campaign come from (--engine). All engines make a case from choices, and
// differ in who makes these: random and focused draw them from the seed, the shard and the counter; libFuzzer
// changes those whose cases met new coverage.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "fuzz/base/work_path.h"
#include "fuzz/counts/coverage.h"
#include "fuzz/workdir/campaign_options.h"

namespace fusesmith::fuzz {

class CaseEngine {
 public:
  virtual ~CaseEngine() = default;
  // Before a generated case is judged, and after it was. begin() throws Interrupted.
  virtual void begin() {}
  virtual void end(const CoverageEvents&) {}
  // The choices of the case at hand; none where its counter is enough.
  virtual std::span<const uint8_t> choices() const { return {}; }
  // Whether a case can be made again from its counter.
  virtual bool repeats_cases() const { return true; }
};

// Of a campaign that goes on in this work directory, from this counter on.
Result<std::unique_ptr<CaseEngine>> make_engine(const CampaignOptions& options, const WorkPath& workdir,
                                                uint64_t counter);

}  // namespace fusesmith::fuzz
