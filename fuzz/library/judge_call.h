// What the library judges: the tensors of one call of a kernel, against a graph that nobody runs.
#pragma once

#include <fusesmith/check.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "graph/case.h"
#include "oracle/sample_options.h"

namespace fusesmith::fuzz {

struct CallOptions {
  nlohmann::json contract;  // null: none is declared
  SampleOptions sample;
  bool explain = true;
  std::string kernel = "the kernel";
  unsigned threads = 0;  // 0: as many as there are processors
};

// The problem names the key.
Result<CallOptions> parse_call_options(std::string_view text);

// The object of one call in the results of fusesmith_check.
nlohmann::ordered_json judge_call(const Case& test_case, const fusesmith_call& call,
                                  const CallOptions& options);

}  // namespace fusesmith::fuzz
