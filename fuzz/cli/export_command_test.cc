// `export` and `show` as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "fuzz/export/format.h"

namespace fusesmith::fuzz {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSmallCase = R"({"fusesmith": 1, "comment": "<b>\n\"\"\"", "graph": {
  "inputs": [{"name": "x", "type": "bf16[2,3]", "fill": {"normal": {}}}],
  "nodes": [{"name": "p/q", "op": "softmax", "inputs": ["x"]}], "outputs": ["p/q"]}})";

std::string small_case(const TemporaryFolder& folder) { return folder.file("case.json", kSmallCase); }

std::vector<std::string> names_in(const TemporaryFolder& folder) {
  const auto paths = entries_of(folder.string());
  std::vector<std::string> names;
  for (const auto& path : *paths) names.push_back(path.filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ExportCommand, WritesEveryFormatToOneFileOrToStandardOutput) {
  for (const ExportFormat& format : export_formats()) {
    if (format.needs_python) continue;  // scripts/workers/test_models.py
    const TemporaryFolder folder;
    const std::string file = small_case(folder), output = folder / ("out" + std::string(format.suffix));
    const std::string to = "--to=" + std::string(format.name);
    const Ran written = fusesmith_command({"export", file, to, "--output=" + output});
    EXPECT_EQ(written.code, kClean) << written.err;
    EXPECT_EQ(written.out, output + "\n");
    EXPECT_THAT(names_in(folder), ElementsAre("case.json", "out" + std::string(format.suffix)));
    const Ran printed = fusesmith_command({"export", file, to});
    EXPECT_EQ(printed.code, kClean) << printed.err;
    EXPECT_EQ(printed.out, *read_file(output)) << format.name;
    const Ran json = fusesmith_command({"export", file, to, "--output=" + output, "--json"});
    EXPECT_EQ(nlohmann::json::parse(json.out), (nlohmann::json{{"files", {output}}}));
  }
}

TEST(ExportCommand, CannotWrite) {
  const TemporaryFolder folder;
  const std::string file = small_case(folder);
  const Ran ran = fusesmith_command({"export", file, "--to=dot", "--output=" + (folder / "none/x.dot")});
  EXPECT_EQ(ran.code, kCannotWrite);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
  EXPECT_THAT(names_in(folder), ElementsAre("case.json"));
}

TEST(ShowCommand, PrintsCodeAndValues) {
  const TemporaryFolder folder;
  const std::string file = small_case(folder);
  EXPECT_EQ(fusesmith_command({"show", file}).out,
            "# seed 0\n"
            "x = normal(mean=0, stddev=1)  # bf16[2,3]\n"
            "p_q = softmax(x, axis=-1)     # bf16[2,3]\n"
            "return p_q\n");
  EXPECT_THAT(fusesmith_command({"show", file, "--values"}).out, HasSubstr("# bf16[2,3]: "));
  const auto json = nlohmann::json::parse(fusesmith_command({"show", file, "--values", "--json"}).out);
  EXPECT_EQ(json["lines"][1]["code"], "p_q = softmax(x, axis=-1)");
  EXPECT_EQ(json["lines"][1]["type"], "bf16[2,3]");
  EXPECT_EQ(json["values"].size(), 1U);
}

}  // namespace
}  // namespace fusesmith::fuzz
