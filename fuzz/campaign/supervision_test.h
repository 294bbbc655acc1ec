// For tests of campaigns with worker processes: runs the program, because the supervisor starts itself as a
// worker.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "backends/process_faults.h"
#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {

class Supervision : public testing::Test {
 protected:
  // A campaign in the folder `workdir`; in a shell, so that what stands before and after it may be anything.
  int fuzz(const std::string& flags, const std::string& workdir = "w", const std::string& before = "",
           const std::string& after = "") {
    return run_shell("cd '" + folder_.string() + "'; " + before +
                         " $P fuzz --baseline=cpu --candidate=cpu_fused --seed=9 --workdir=" + workdir + " " +
                         flags + " " + after,
                     folder_);
  }
  nlohmann::json stats(const std::string& workdir = "w") const {
    return nlohmann::json::parse(*read_file(folder_ / (workdir + "/stats.json")));
  }
  // What must not depend on how the campaign was cut up.
  nlohmann::json counts(const std::string& workdir) const {
    nlohmann::json json = stats(workdir);
    for (const char* key : {"elapsed_s", "history", "graphs_per_second", "status"}) json.erase(key);
    return json;
  }
  std::string out() const { return *read_file(folder_ / "out"); }
  std::string err() const { return *read_file(folder_ / "err"); }

  const TemporaryFolder folder_;
};

class SupervisionWithFaults : public Supervision {
 protected:
  void SetUp() override {
    if (process_faults().empty()) GTEST_SKIP() << "a build without faults";
  }
};

}  // namespace fusesmith::fuzz
