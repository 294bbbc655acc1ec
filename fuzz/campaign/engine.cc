#include "fuzz/campaign/engine.h"

#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/campaign/guided_choices.h"
#include "fuzz/run/interrupted.h"
#include "graph/philox.h"

namespace fusesmith::fuzz {

namespace {

// One case after the other, since each depends on what the last one met.
class LibFuzzerEngine : public CaseEngine {
 public:
  LibFuzzerEngine(uint64_t seed, const WorkPath& folder) : guided_(seed, folder.string()) {}

  void begin() override {
    auto choices = guided_.next(Signals::interrupted);
    if (!choices) throw Interrupted{};
    choices_ = std::move(*choices);
  }
  void end(const CoverageEvents& events) override { guided_.tell(events); }
  std::span<const uint8_t> choices() const override { return choices_; }
  bool repeats_cases() const override { return false; }

 private:
  GuidedChoices guided_;
  std::vector<uint8_t> choices_;
};

// libFuzzer opens whatever is there.
std::optional<Problem> check_choices(const WorkPath& folder) {
  const auto names = names_in(folder);
  if (!names) return Problem{names.problem()};
  for (const std::string& name : *names) {
    if (const auto size = size_of(folder / name); !size) return Problem{size.problem()};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<CaseEngine>> make_engine(const CampaignOptions& options, const WorkPath& workdir,
                                                uint64_t counter) {
  if (options.engine != kLibFuzzer) return std::make_unique<CaseEngine>();
  const auto folder = workdir / "choices";
  if (auto problem = make_folder(folder)) return *problem;
  if (auto problem = check_choices(folder)) return *problem;
  return std::unique_ptr<CaseEngine>(
      std::make_unique<LibFuzzerEngine>(hash_name(options.shard, options.seed + counter), folder));
}

}  // namespace fusesmith::fuzz
