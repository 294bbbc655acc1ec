// `export --to=onnx` against scripts that stand in for export_onnx.py; python/tests/workers/test_models.py
// tests the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/cli/stand_in_script.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

class ExportOnnx : public testing::Test {
 protected:
  Ran run(const std::string& output) {
    return fusesmith_command(
        {"export", folder_.file("case.json", kReluCase), "--to=onnx", "--output=" + output});
  }

  void expect_refused(const std::string& text) {
    const Ran ran = run(folder_ / "m.onnx");
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(text));
    for (const char* name : {"m.onnx", "m.npz", "m.py"})
      EXPECT_FALSE(std::filesystem::exists(folder_ / name)) << name;
  }

  const StandInScript script_{"onnx/export_onnx.py"};
  const TemporaryFolder folder_;
};

TEST_F(ExportOnnx, WritesModelDataAndScript) {
  script_.replies(R"({"model": 5})", "MODELprint(1)");
  const Ran ran = run(folder_ / "m.onnx");
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_EQ(*read_file(folder_ / "m.onnx"), "MODEL");
  EXPECT_EQ(*read_file(folder_ / "m.py"), "print(1)");
  EXPECT_THAT(*read_file(folder_ / "m.npz"), HasSubstr("input.0"));
  EXPECT_EQ(run("-").out, "MODEL");
}

TEST_F(ExportOnnx, NothingIsWrittenOnErrors) {
  script_.replies(R"({"error": "no onnx"})", "");
  expect_refused("case.json: no onnx");
  script_.replies(R"({"model": 6})", "MODEL");
  expect_refused("expected the size of the model");
  script_.runs("exit 4");
  expect_refused("onnx/export_onnx.py ended with exit code 4");
}

}  // namespace
}  // namespace fusesmith::fuzz
