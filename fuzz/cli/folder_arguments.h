// Arguments that are folders, as shells expand them: `shard-*` also matches shard-0.log.
#pragma once

#include <string>
#include <vector>

#include "fuzz/base/console.h"

namespace fusesmith::fuzz {

// Without the plain files among them, from position `first` on, if there is a folder; a note names these. A
// plain file alone stays, so that the command says what is wrong with it.
void leave_out_files(std::vector<std::string>& folders, Console& console, size_t first = 0);

}  // namespace fusesmith::fuzz
