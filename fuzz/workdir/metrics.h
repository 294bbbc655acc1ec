// metrics.prom of a work directory: the campaign's counts and status in the text format of Prometheus
// (docs/workdir.md).
#pragma once

#include <cstdint>
#include <string>

#include "fuzz/counts/stats.h"

namespace fusesmith::fuzz {

// `now`: seconds since 1970. All metrics have the labels `seed` and `shard`.
std::string metrics_text(const Stats& stats, const CampaignStatus& status, const std::string& baseline,
                         const std::string& candidate, int64_t now);

}  // namespace fusesmith::fuzz
