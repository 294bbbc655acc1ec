// Files of a work directory that are not whole, though campaigns write every file whole: a disk lost them, or
// somebody edited them. Each is kept as FILE.damaged, and named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/base/work_path.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

class DamagedFiles {
 public:
  // `then`: what happens without the file. The problem: it cannot be renamed.
  std::optional<Problem> set_aside(const WorkPath& file, const std::string& why, const std::string& then);

  // Of a finding's folder. What is made from its case.json goes where it is damaged, so that the campaign
  // makes it again; a damaged case.json becomes the minimized case. False: there is no case any more.
  Result<bool> check_finding(const WorkPath& folder);
  // Of a folder of generated cases: the names of those that are damaged.
  Result<std::vector<std::string>> check_corpus(const WorkPath& folder);

  // A line for each file.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> notes_;
};

}  // namespace fusesmith::fuzz
