// A worker process of a campaign: judges the cases and minimizes the findings that its supervisor asks for
// (fuzz/supervisor/worker_host.h), and loads the backends, so that what they do to the process ends no
// campaign.
#pragma once

#include <string>

namespace fusesmith::fuzz {

// The rest of the program when it was started as `fusesmith campaign-worker THREADS`. Ends the process when
// the supervisor has gone.
[[noreturn]] void serve_campaign(const std::string& threads);

}  // namespace fusesmith::fuzz
