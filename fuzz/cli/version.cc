#include "fuzz/cli/version.h"

#include "backends/faults.h"

namespace fusesmith::fuzz {

namespace {

#ifdef FUSESMITH_HAS_CUDA
constexpr bool kCudaBuilt = true;
#else
constexpr bool kCudaBuilt = false;
#endif

std::string compiler() {
#ifdef __clang__
  return std::string("clang ") + __clang_version__;
#else
  return std::string("GNU ") + __VERSION__;
#endif
}

std::string option(const char* name, bool on) { return std::string(name) + (on ? " on" : " off"); }

}  // namespace

std::string version_text(std::string_view commit) {
  return "fusesmith " FUSESMITH_VERSION "\ncommit: " + std::string(commit) + "\ncompiler: " + compiler() +
         "\nbuild type: " FUSESMITH_BUILD_TYPE "\noptions: " + option("CUDA", kCudaBuilt) + ", " +
         option("faults", kFaultsBuilt) + ", " + option("libFuzzer", FUSESMITH_LIBFUZZER_BUILT) +
         ", -march=" FUSESMITH_MARCH "\n";
}

}  // namespace fusesmith::fuzz
