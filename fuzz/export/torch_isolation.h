// What a script of PyTorch adds for a case whose policy names what the check isolation replaces: it runs the
// graph on both data, eager and compiled, and shows which elements change that have to stay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/export/script.h"

namespace fusesmith::fuzz {

struct IsolationScript {
  std::vector<std::pair<ValueId, ScriptVariable>> replaced;  // of these inputs
  std::vector<ScriptVariable> keeps;   // by returned value: bool, true where it has to stay
  std::string functions, lists, main;  // `lists` after the data
};

// Nothing of other cases, of those with several steps or states, and of data that is no case's.
std::optional<IsolationScript> isolation_script(const Case& test_case, const ScriptSources& sources,
                                                std::span<const ValueId> returned, Identifiers& names);

}  // namespace fusesmith::fuzz
