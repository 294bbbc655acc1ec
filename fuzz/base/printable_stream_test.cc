#include "fuzz/base/printable_stream.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "fuzz/cli/test_support.h"
#include "fuzz/generate/generator.h"

namespace fusesmith::fuzz {
namespace {

std::string shown(const std::string& text, bool letter_by_letter,
                  PrintableBuffer::Replaced replaced = PrintableBuffer::Replaced::by_a_sign) {
  std::ostringstream to;
  PrintableBuffer buffer(to.rdbuf(), replaced);
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
       "\xC2" + replaced + "x"},
      {"\xE2\x80\xAE"
       "txt.nosj",
       replaced + "txt.nosj"},  // U+202E: what follows is read from right to left
      {"a\xE2\x80\x8B\xEF\xBB\xBF", "a" + replaced + replaced},             // zero width
      {"\xF3\xA0\x81\x81\xF0\x9F\x98\x80", replaced + "\xF0\x9F\x98\x80"},  // a tag, a face
      {"\xE2\x80\xE2\x80\xAE", "\xE2\x80" + replaced},
      {"\xFF\xE2\x80 x", "\xFF\xE2\x80 x"}};  // no UTF-8
  for (const auto& [text, wanted] : texts) {
    EXPECT_EQ(shown(text, false), wanted);
    EXPECT_EQ(shown(text, true), wanted);
  }
}

TEST(PrintableStream, JsonSaysTheSame) {
  const std::string text = "{\"file\": \"a\xE2\x80\xAE\xF3\xA0\x81\x81\x7F\xC2\x85\"}\n";
  for (const bool letter_by_letter : {false, true}) {
    const std::string json = shown(text, letter_by_letter, PrintableBuffer::Replaced::by_json);
    EXPECT_EQ(json, "{\"file\": \"a\\u202e\\udb40\\udc41\\u007f\\u0085\"}\n");
    EXPECT_EQ(nlohmann::json::parse(json), nlohmann::json::parse(text));
  }
}

// On both streams of every command that names files.
TEST(PrintableStream, NamesOfFilesDoNothingToATerminal) {
  const TemporaryFolder folder;
  const std::string backwards = "\xE2\x80\xAE", unseen = "\xE2\x80\x8B";
  const std::string file =
      folder.file("a\x1b[31m\r" + backwards + unseen + ".json", to_json(generate_case(1, 0, 0)));
  const std::string pair[] = {"--baseline=cpu", "--candidate=cpu_fused"};
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"replay"},
        {"explain"},
        {"minimize", "--output=" + (folder / "min.json")},
        {"replay", "--json"},
        {"fuzz", "--runs=1", "--jobs=1", "--workdir=" + (folder / ("w\x1b[31m" + backwards))}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {pair[0], pair[1], file});
    const Ran ran = fusesmith_command(arguments);
    EXPECT_EQ(ran.code, kClean) << ran.err;
    EXPECT_EQ((ran.out + ran.err).find_first_of("\x1b\r"), std::string::npos) << command[0];
    for (const std::string& mark : {backwards, unseen})
      EXPECT_EQ((ran.out + ran.err).find(mark), std::string::npos) << command[0];
  }
  const Ran ran = fusesmith_command({"replay", folder / "none\x1b[31m"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_EQ(ran.err.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace fusesmith::fuzz
