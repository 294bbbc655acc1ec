#include "fuzz/run/named_by_files.h"

#include "backends/remote/worker_names.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

std::optional<Problem> programs_named_by(const std::string& file, std::span<const NamedBackend> backends) {
  std::string programs, flags;
  int count = 0;
  for (const NamedBackend& backend : backends) {
    if (may_start(backend.name)) continue;
    const std::string name(backend.name);
    programs += (count++ > 0 ? " and '" : " '") + name + "'";
    flags += " --" + std::string(backend.flag) + "=" + shell_quoted(name);
  }
  if (count == 0) return {};
  const bool several = count > 1;
  return Problem{file + ": names the program" + (several ? "s" : "") + programs +
                 ", which a file may not start; to run " + (several ? "them" : "it") + ", give" + flags};
}

}  // namespace fusesmith::fuzz
