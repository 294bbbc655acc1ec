// A file of what both backends stored for each judged case: frames as workers read and write them
// (docs/workers.md), so that programs which compare results need no process for each case.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/case.h"
#include "graph/result.h"
#include "oracle/plan.h"
#include "oracle/verdict.h"

namespace fusesmith::fuzz {

class ValuesFile {
 public:
  // Replaces the file, if there is one.
  static Result<ValuesFile> open(const std::string& path);

  // The values of a step: inputs, graph outputs and next states; of step 0 also the states before it. Step 0
  // begins a case.
  void add_step(const Graph& graph, int64_t step, const Trace& baseline, const Trace& candidate);
  // Writes the frame of the case, with the steps since the last one. `file` is the name it was given by.
  std::optional<Problem> write(const Case& test_case, const std::string& file, const Verdict& verdict);

 private:
  struct Value {
    std::string name, role;
    int64_t step;
    TensorPtr tensor;
  };

  ValuesFile(std::string path, std::ofstream stream) : path_(std::move(path)), stream_(std::move(stream)) {}

  std::string path_;
  std::ofstream stream_;
  std::vector<Value> values_;
};

}  // namespace fusesmith::fuzz
