// check-worker with known issues, against a worker that returns zeros for relu and add of f32 tensors.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;

class CheckWorker : public testing::Test {
 protected:
  // With a file of known issues that has one issue for each of these ops.
  Ran check(const std::vector<std::string>& known_ops, const std::string& jobs = "1") {
    Json issues = Json::array();
    for (const std::string& op : known_ops)
      issues.push_back({{"name", "zeros-of-" + op}, {"component", op}, {"why", "The worker returns zeros."}});
    const Json file = {{"fusesmith_known", 1}, {"issues", issues}};
    return fusesmith_command({"check-worker",
                              std::string("remote:python3 '") + FUSESMITH_SOURCE_DIR +
                                  "/python/tests/workers/faulty_worker.py' zeros",
                              "--known=" + folder_.file("known.json", file.dump()), "--samples=1",
                              "--jobs=" + jobs, "--json"});
  }

  const TemporaryFolder folder_;
};

TEST_F(CheckWorker, KnownFailuresAreCountedAndPass) {
  const Ran ran = check({"relu", "add"});
  EXPECT_EQ(ran.code, kClean) << ran.out << ran.err;
  const Json json = Json::parse(ran.out);
  int64_t known = 0;
  for (const char* op : {"relu", "add"}) {
    EXPECT_EQ(json["ops"][op]["failed"], 0);
    EXPECT_EQ(json["known"].value(std::string("zeros-of-") + op, 0), json["ops"][op]["known"]) << op;
    known += json["ops"][op]["known"].get<int64_t>();
  }
  EXPECT_GT(known, 0);
}

TEST_F(CheckWorker, OtherFailuresStillFail) {
  const Ran ran = check({"relu"}, "3");
  EXPECT_EQ(ran.code, kFindings) << ran.out << ran.err;
  EXPECT_GT(Json::parse(ran.out)["ops"]["add"]["failed"], 0);
}

TEST(CheckWorkerStart, AWorkerThatCannotBeStartedIsNoFinding) {
  const Ran ran = fusesmith_command({"check-worker", "sh -c 'echo no such module >&2; exit 3'"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, testing::HasSubstr("cannot be started: the worker ended with exit code 3"));
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
  EXPECT_EQ(fusesmith_command({"check-worker", "echo this is no answer"}).code, kFindings);
}

TEST_F(CheckWorker, AFileOfKnownIssuesThatCannotBeReadIsOneLine) {
  const Ran ran = fusesmith_command({"check-worker", "torch:eager", "--known=" + (folder_ / "none.json")});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
}

}  // namespace
}  // namespace fusesmith::fuzz
