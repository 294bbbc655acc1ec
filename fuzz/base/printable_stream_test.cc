#include "fuzz/base/printable_stream.h"

#include <gtest/gtest.h>

#include <sstream>

#include "fuzz/cli/test_support.h"
#include "fuzz/generate/generator.h"

namespace fusesmith::fuzz {
namespace {

std::string shown(const std::string& text, bool letter_by_letter) {
  std::ostringstream to;
  PrintableBuffer buffer(to.rdbuf());
  std::ostream stream(&buffer);
  if (!letter_by_letter) stream << text << std::flush;
  for (const char c : letter_by_letter ? text : "") stream << c << std::flush;
  EXPECT_TRUE(stream.good());
  return to.str();
}

TEST(PrintableStream, ReplacesControlCharacters) {
  const std::string replaced = "\xEF\xBF\xBD";
  const std::pair<std::string, std::string> texts[] = {
      {"a\tb\nc", "a\tb\nc"},
      {"\x1b[31mred\x1b[0m", replaced + "[31mred" + replaced + "[0m"},
      {std::string("\0\r\x7f", 3), replaced + replaced + replaced},
      {"\xC2\x9B"
       "31m",
       replaced + "31m"},                              // U+009B, which some terminals take for ESC [
      {"\xC2\xB5s, \xC3\xA9", "\xC2\xB5s, \xC3\xA9"},  // a micro sign, an e with an accent
      {"\xC2\xC2\x80"
       "x",
       "\xC2" + replaced + "x"}};
  for (const auto& [text, wanted] : texts) {
    EXPECT_EQ(shown(text, false), wanted);
    EXPECT_EQ(shown(text, true), wanted);
  }
}

// On both streams of every command that names files.
TEST(PrintableStream, NamesOfFilesDoNothingToATerminal) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a\x1b[31m\r.json", to_json(generate_case(1, 0, 0)));
  const std::string pair[] = {"--baseline=cpu", "--candidate=cpu_fused"};
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"replay"},
        {"explain"},
        {"minimize", "--output=" + (folder / "min.json")},
        {"fuzz", "--runs=1", "--jobs=1", "--workdir=" + (folder / "w\x1b[31m")}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {pair[0], pair[1], file});
    const Ran ran = fusesmith_command(arguments);
    EXPECT_EQ(ran.code, kClean) << ran.err;
    EXPECT_EQ((ran.out + ran.err).find_first_of("\x1b\r"), std::string::npos) << command[0];
  }
  const Ran ran = fusesmith_command({"replay", folder / "none\x1b[31m"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_EQ(ran.err.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace fusesmith::fuzz
