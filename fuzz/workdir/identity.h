// What decides which cases a campaign judges and how: the options that campaign.json records.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "fuzz/base/flags.h"
#include "fuzz/workdir/campaign_options.h"
#include "fuzz/workdir/work_directory.h"

namespace fusesmith::fuzz {

Identity identity_of(const CampaignOptions& options);

// Gives those of these flags that campaign.json records, and that were not given, the values that it has, so
// that a campaign is continued without them. Not the pair of backends, for which run_campaign has rules of
// its own. The problem: a value is none that the flag may have. `table` is that of `options`.
std::optional<Problem> take_recorded(const FlagTable& table, const std::set<std::string>& given,
                                     const CampaignOptions& options);

}  // namespace fusesmith::fuzz
