// libFuzzer target: bytes as the generator's choices, then as choices of edits that the reductions propose.
// Every edit that fits gives a valid case, which reads back the same; and every edit has a text.
#include <cstdint>

#include "fuzz/base/choices.h"
#include "fuzz/generate/generator.h"
#include "minimizer/reductions.h"

namespace {

using namespace fusesmith;

// The proposals of one reduction, of which one is taken and applied.
std::optional<fuzz::Case> edited(const fuzz::Case& test_case, fuzz::Choices& choices) {
  minimizer::Probe probe{.signature = "a"};
  const auto nodes = static_cast<int64_t>(test_case.graph.nodes().size());
  if (nodes > 0 && choices.flip(0.5)) probe.failing_nodes = {static_cast<int>(choices.below(nodes))};
  const minimizer::Reduction& reduction = choices.pick(minimizer::all_reductions());
  const auto proposals = reduction.propose({test_case, probe});
  if (proposals.empty()) return {};
  const minimizer::Edits& edits = choices.pick(std::span<const minimizer::Edits>(proposals));
  fuzz::check(!edits.empty() && !minimizer::to_string(edits).empty(), "an edit has a text");
  return minimizer::apply_edits(test_case, edits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::GeneratorOptions options{16, int64_t{1} << 16, int64_t{1} << 13, {}};
  constexpr int kMostEdits = 40;
  fuzz::Choices choices(std::span<const uint8_t>(data, size));
  fuzz::Case test_case = generate(choices, options);
  for (int i = 0; i < kMostEdits && choices.flip(0.99); ++i) {
    const auto smaller = edited(test_case, choices);
    if (!smaller) continue;
    const std::string text = to_json(*smaller);
    const auto read = fuzz::parse_case(text);
    if (!read.ok()) std::fprintf(stderr, "%s\n%s\n", read.problem().c_str(), text.c_str());
    fuzz::check(read.ok() && *read == *smaller, "an edited case reads back the same");
    test_case = *smaller;
  }
  return 0;
}
