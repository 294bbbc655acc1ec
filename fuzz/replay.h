// The `replay` command: judges case files again, compares with what they expect, and on demand repeats them
// or asks for equal bits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/command.h"
#include "fuzz/judging.h"

namespace fusesmith {

struct ReplayFlags {
  JudgeFlags judge;
  int64_t repeat = 0;
  bool bitwise = false;
  bool json = false;
  std::vector<std::string> files;

  FlagTable table();
};

// Exit code: 77 when a case is a finding that its file does not expect, breaks its expectation, or (bitwise)
// has unequal outputs; else 71 when memory ran out; else 1 when a file could not be read; else 0. 72 when
// interrupted, 76 when the device failed: the rest is not replayed.
int run(ReplayFlags& flags, Console& console);

// Whether the case has an expectation, and it is about these two backends.
bool is_about(const Case& test_case, const Verdict& verdict);

// What is wrong, in one line, when the verdict is not what the case expects; nothing where it is, and where
// the expectation is not about it.
std::optional<std::string> broken_expectation(const Case& test_case, const Verdict& verdict);

// Runs the judged step again up to `times` times, both backends, on the same inputs. When bits differ the
// verdict, unless it is a finding already, becomes `nondeterministic`. Ends early then, and when `stop`, if
// given, says so; how often it ran.
int64_t repeat_run(const Graph& graph, CaseRun& run, int64_t times, const std::function<bool()>& stop = {});

}  // namespace fusesmith
