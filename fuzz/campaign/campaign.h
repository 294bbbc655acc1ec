// A campaign, the command `fuzz`: judges generated cases on all cores, in a work directory from which it can
// be continued.
//
// What there is:
//   case n      a function of the seed, the shard, the engine and n alone (engine.h; but for libFuzzer's)
//   outcome     what judging a case adds to the counts: verdict, coverage, signature (fuzz/counts/stats.h)
//   counts      stats.json: the sum of the outcomes of the corpus cases and of cases 0 to `next` - 1
//   finding     a folder named by its signature: the case, its evidence, and its report, which is short until
//   the
//               case is minimized (fuzz/findings/)
//   workdir     the files of all of this, with one process at a time that writes them (fuzz/workdir/)
//   supervisor  this process, which owns the files; cases run in worker processes (fuzz/supervisor/), or,
//   with
//               --processes=0, in threads of this one
//
// What always holds:
//   1. Cases are counted in the order of their numbers, each once. Counts depend neither on the number of
//   threads
//      and processes, nor on when the campaign was ended and continued.
//   2. A case is counted after its finding is on disk, or held in memory until it can be written; stats.json
//   is
//      written after both. A campaign that is killed therefore judges again what it had not saved.
//   3. A file appears whole or not at all. A damaged one is renamed and named, and the campaign goes on.
//   4. What is not finished (a report, a case that was running) is finished by the next start.
//   5. A case that ends its process, hangs, or runs out of memory is judged again alone before it is a
//   verdict.
//
// campaign.cc: cases, and the end; supervision.cc: with worker processes; finishing.cc: minimizes and reports
// findings; campaign_status.cc: how it is doing. All are parts of the class Campaign (campaign_run.h).
#pragma once

#include <string>
#include <vector>

#include "fuzz/base/console.h"
#include "fuzz/workdir/campaign_options.h"

namespace fusesmith::fuzz {

// Exit code: 0 clean, 1 usage, 71 one case after the other ran out of memory, 72 interrupted, 73 cannot
// write, 76 the device is missing or failed, 77 (`error_exitcode`) the work directory holds findings.
int run_campaign(CampaignOptions options, Console& console);

// The engines of this build.
std::vector<std::string> campaign_engines();

}  // namespace fusesmith::fuzz
