#include "fuzz/workdir/identity.h"

#include <algorithm>

namespace fusesmith::fuzz {

Identity identity_of(const CampaignOptions& options) {
  return {{"seed", options.seed},
          {"shard", options.shard},
          {"baseline", options.judge.baseline},
          {"candidate", options.judge.candidate},
          {"policy", options.judge.policy},
          {"skip_patterns", options.judge.skip_patterns},
          {"faults", options.judge.faults},
          {"engine", options.engine},
          {"data", options.data},
          {"ops", options.ops, true},
          {"require", options.require, true},
          {"metamorphic", options.metamorphic, true}};
}

std::optional<Problem> take_recorded(const FlagTable& table, const std::set<std::string>& given,
                                     const CampaignOptions& options) {
  // Where values of several campaigns are, WorkDirectory::open says that none goes on.
  if (!WorkDirectory::recorded(options.workdir, "merged_from").empty()) return {};
  const Identity identity = identity_of(options);
  for (const Flag& flag : table.flags) {
    const bool recorded = std::any_of(identity.begin(), identity.end(),
                                      [&](const IdentityValue& one) { return one.key == flag.name; });
    const bool of_pair = flag.name == "baseline" || flag.name == "candidate";
    if (!recorded || of_pair || given.contains(std::string(flag.name))) continue;
    const std::string text = WorkDirectory::recorded(options.workdir, flag.name);
    if (text.empty()) continue;
    const auto problem = set_flag(flag, text);
    // Of a number that is none, WorkDirectory::open says which type it should have.
    const bool is_number = std::holds_alternative<uint64_t*>(flag.target);
    if (problem && !is_number)
      return Problem{(std::filesystem::path(options.workdir) / "campaign.json").string() + ": " +
                     problem->what};
  }
  return {};
}

}  // namespace fusesmith::fuzz
