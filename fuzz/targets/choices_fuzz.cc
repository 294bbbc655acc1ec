// libFuzzer target: bytes as the generator's choices. Every byte string must make a valid case, which is
// judged on `cpu` and `cpu_fused`; a finding aborts with its signature and the case file that shows it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/generate/generator.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/run_case.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fusesmith::fuzz;
  // Small, because sanitizers make a graph some ten times slower.
  static const GeneratorOptions options{16, int64_t{1} << 16, int64_t{1} << 13, {}};
  Choices choices(std::span<const uint8_t>(data, size));
  const Case test_case = generate(choices, options);
  const std::string text = to_json(test_case);
  const auto read = parse_case(text);
  check(read.ok() && *read == test_case, "a generated case reads back the same");
  const Verdict verdict = run_case(test_case, *find_backend("cpu"), *find_backend("cpu_fused"));
  if (!verdict.finding) return 0;
  std::fprintf(stderr, "finding: %s\n%s\n", verdict.signature_text().c_str(), text.c_str());
  std::abort();
}
