// Hostile and broken texts: one line, within a second and 256 MB.
#include "graph/json_strict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>

#include "graph/case.h"
#include "graph/sanitizers.h"

namespace fusesmith::graph {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string json_strict_problem_of(std::string_view text) {
  const auto result = parse_strict_json(text);
  return result ? "" : result.problem();
}

TEST(StrictJson, ReadsJson) {
  const auto value = parse_strict_json(R"({"a": [1, -2, 0.5, true, null, "\u00e9\n"], "b": {}})");
  ASSERT_TRUE(value) << value.problem();
  EXPECT_EQ(value->dump(), "{\"a\":[1,-2,0.5,true,null,\"\xc3\xa9\\n\"],\"b\":{}}");
}

struct Mistake {
  std::string text;
  const char* problem;
};
const Mistake kMistakes[] = {
    {"", "1:1: expected JSON, got nothing"},
    {" \n ", "2:2: expected JSON, got nothing"},
    {"{\"a\":\n NaN}",
     "2:2: expected JSON: invalid literal, near 'NaN}'; JSON has no NaN or infinity: write \"inf\" or "
     "\"-inf\""},
    {"{\"a\":Infinity}", "1:6: expected JSON: invalid literal, near 'Infinity}'; JSON has no NaN"},
    {"{\"a\":-Infinity}",
     "1:6: expected JSON: invalid number; expected digit after '-', near '-Infinity}'; JSON has no NaN"},
    {"{\"a\":1e999}", "1:6: expected a number that f64 can hold, near '1e999}'"},
    {"[1, 2", "1:6: expected a closing ']', got the end of the text; the one at 1:1 is still open"},
    {"{\"a\": {\"b\": 1}",
     "1:15: expected a closing '}', got the end of the text; the one at 1:1 is still open"},
    {"{\"a\": \"x", "1:7: expected a closing '\"' for the string that starts here"},
    {"\"\\", "1:1: expected a closing '\"'"},
    {"{\"a\":1,}", "1:8: expected JSON: unexpected '}'; expected string literal, near '}'"},
    {"{\"a\" 1}", "1:6: expected JSON: unexpected number literal; expected ':', near '1}'"},
    {"[1}", "1:3: expected JSON: unexpected '}'; expected ']', near '}'"},
    {"]", "1:1: expected JSON: unexpected ']'"},
    {"[1] 2", "1:5: expected JSON: unexpected number literal; expected end of input, near '2'"},
    {"[01]", "1:2: expected JSON: unexpected number literal; expected ']', near '01]'"},
    {"['a']", "1:2: expected JSON: invalid literal, near ''a']'"},
    {"// comment\n1", "1:1: expected JSON: invalid literal, near '//"},
    {"[\"\\q\"]", "1:3: expected JSON: invalid string: forbidden character after backslash"},
    {"[\"a\nb\"]", "1:4: expected JSON: invalid string: control character U+000A (LF) must be escaped"},
    {"[\"\xff\"]", "1:3: expected JSON: invalid string: ill-formed UTF-8 byte"},
    {"\xef\xbb\xbf{}", "1:1: expected JSON without a byte order mark"},
    {std::string("{\0}", 3), "1:2: expected JSON text, got a binary byte"},
    {"\x7f"
     "ELF\x02",
     "1:1: expected JSON text, got a binary byte"},
    {"{\"a\": {\"b\": [1, {\"c\": 1, \"c\": 2}]}}", "a.b[1]: expected every key once, got \"c\" twice"},
    {"{\"c\": 1, \"\\u0063\": 2}", "top level: expected every key once, got \"c\" twice"},
};

TEST(StrictJson, MistakesAreOneLineWithThePlace) {
  for (const Mistake& mistake : kMistakes) {
    const std::string problem = json_strict_problem_of(mistake.text);
    EXPECT_THAT(problem, StartsWith(mistake.problem)) << mistake.text;
    for (const char c : problem) ASSERT_TRUE(c >= ' ' && c <= '~') << problem;
  }
}

std::string repeated(std::string_view piece, size_t count) {
  std::string text;
  text.reserve(piece.size() * count);
  for (size_t i = 0; i < count; ++i) text += piece;
  return text;
}

// Found by libFuzzer: 30 objects in each other under long keys made a problem of 3,500 characters.
TEST(StrictJson, APathOfLongKeysIsShortened) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "{\"" + std::string(300, static_cast<char>('a' + i % 26)) + "\": ";
  text += "{\"c\": 1, \"c\": 2}" + std::string(30, '}');
  const auto parsed = parse_strict_json(text);
  ASSERT_FALSE(parsed.ok());
  EXPECT_LT(parsed.problem().size(), 500u);
  EXPECT_EQ(parsed.problem().substr(0, 5), "aaaaa");
  EXPECT_NE(parsed.problem().find("dddd... (300 characters): expected every key once, got \"c\" twice"),
            std::string::npos)
      << parsed.problem();
}

TEST(StrictJson, LimitsDepthAndCount) {
  EXPECT_EQ(json_strict_problem_of(repeated("[", 32) + repeated("]", 32)), "");
  EXPECT_EQ(json_strict_problem_of(repeated("[", 33) + repeated("]", 33)),
            "1:33: expected at most 32 levels of nesting");
  EXPECT_EQ(json_strict_problem_of("[" + repeated("0,", 200000) + "0]"), "");
  EXPECT_THAT(json_strict_problem_of("[" + repeated("0,", 300000) + "0]"),
              HasSubstr("expected at most 262144 values"));
  EXPECT_THAT(json_strict_problem_of("[" + repeated("1", 100) + "]"),
              HasSubstr("expected a number or word of at most 64 characters"));
}

// A case whose one input is a literal of this many elements, and a text of about `size` bytes made from
// `head`, `piece`, `tail`.
std::string literal_case(const std::string& dtype, size_t elements, char digit) {
  return "{\"fusesmith\": 1, \"graph\": {\"inputs\": [{\"name\": \"x\", \"type\": \"" + dtype + "[" +
         std::to_string(elements) + "]\", \"fill\": {\"literal\": {\"bits\": \"" +
         std::string(elements * 8, digit) + "\"}}}], \"nodes\": [], \"outputs\": [\"x\"]}}";
}
// A text of the largest size read: the piece over and over between head and tail.
std::string filled(const std::string& head, const std::string& piece, const std::string& tail) {
  return head + repeated(piece, (kMaxJsonBytes - head.size() - tail.size()) / piece.size()) + tail;
}

// Bytes of memory in use at the worst moment so far.
int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

// The rest of the program (test framework, sanitizers) is not the reader's: what it adds on top is measured.
// Sanitizers and debug builds are slow and large, so the bounds hold for what users run.
#if FUSESMITH_ADDRESS_SANITIZER || !defined(__OPTIMIZE__)
constexpr double kSlack = 8;
#else
constexpr double kSlack = 1;
#endif

TEST(StrictJson, HostileFilesTakeLittleTimeAndMemory) {
  const size_t elements = kMaxJsonBytes / 8 - 100;
  struct Text {
    const char* label;
    std::function<std::string()> make;
    bool valid = false;
  };
  const Text texts[] = {
      {"10^6 arrays", [] { return repeated("[", 1000000); }},
      {"10^6 objects", [] { return repeated("{\"a\":", 1000000); }},
      {"long arrays", [] { return filled("[", "0,", "0]"); }},
      {"empty objects", [] { return filled("[", "{},", "0]"); }},
      {"one long number", [] { return filled("", "1", ""); }},
      {"one long string", [] { return filled("\"", "a", "\""); }},
      {"escapes", [] { return filled("\"", "\\u0041", "\""); }},
      {"unclosed string", [] { return filled("{\"a\": \"", "a", ""); }},
      {"a string in the wrong place", [] { return filled("{\"a\" \"", "a", "\"}"); }},
      {"a long key", [] { return filled("{\"", "k", "\": 1}"); }},
      {"a long op",
       [] {
         return filled("{\"fusesmith\": 1, \"graph\": {\"inputs\": [], \"nodes\": [{\"op\": \"", "k",
                       "\"}], \"outputs\": []}}");
       }},
      {"spaces", [] { return filled("", " ", ""); }},
      {"a literal", [=] { return literal_case("f32", elements, '0'); }, true},
      {"a literal of integers", [=] { return literal_case("i32", elements, '1'); }, true},
      {"a literal that is none", [=] { return literal_case("f32", elements, 'x'); }},
  };
  for (const auto& [label, make, valid] : texts) {
    const std::string text = make();
    const std::clock_t start = std::clock();  // of the processor: a loaded machine is not the reader's fault
    const auto result = parse_case(text);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 2 * kSlack) << label;  // 0.6 s on a slow core
    EXPECT_LT(static_cast<double>(peak_memory()), 256e6 * kSlack) << label;
    const std::string problem = result ? "" : result.problem();
    EXPECT_LT(problem.size(), 3000u) << label;
    EXPECT_EQ(problem.find('\n'), std::string::npos) << label;
    EXPECT_EQ(result.ok(), valid) << label << ": " << problem;
  }
}

TEST(BrokenCase, EveryTruncationDeletionAndSwapIsAnswered) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {2, 3}}, Normal{});
  const ValueId s = b.state("s", {Dtype::f32, {2, 3}}, Literal{std::string(48, '0')});
  const ValueId y = b.node(Add{}, {x, s}, "y");
  b.next_state(0, y);
  b.output(b.node(Einsum{"ab,cb->ac"}, {y, y}, "e"));
  b.output(b.node(Sdpa{Sdpa::ScaleOn::both, true, Sdpa::Mask::causal}, {y, y, y}, "a"));
  Case test_case;
  test_case.graph = *b.build();
  test_case.expect = Expect{{"cpu", "cpu_fused"}, "identical", {}, ""};
  const std::string text = to_json(test_case);
  const auto answered = [](const std::string& broken) {
    const auto result = parse_case(broken);
    if (result) return parse_case(to_json(*result)).ok();  // still a valid case
    return !result.problem().empty() && result.problem().find('\n') == std::string::npos;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    ASSERT_TRUE(answered(text.substr(0, i))) << "cut at " << i;
    std::string broken = text;
    ASSERT_TRUE(answered(broken.erase(i, 1))) << "without character " << i;
    for (const char c : {'"', '9', '-', '[', '}', '\0', '\xff'}) {
      broken = text;
      broken[i] = c;
      ASSERT_TRUE(answered(broken)) << "character " << i << " replaced";
    }
  }
}

TEST(StrictJson, QuotesAndShortens) {
  EXPECT_EQ(json_quoted("a\"b\\\n"), R"("a\"b\\\n")");
  EXPECT_EQ(json_quoted("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(shortened("abc"), "abc");
  EXPECT_EQ(shortened("a\nb\xc3"), "a?b?");
  EXPECT_EQ(shortened("abcdef", 3), "abc... (6 characters)");
}

TEST(ParseRecord, ReadsObjectsOfBoundedDepth) {
  const auto nested = [](size_t levels) {
    return "{\"a\": " + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_EQ(parse_record(R"({"b": 1, "a": [2]})").dump(), R"({"b":1,"a":[2]})");
  EXPECT_TRUE(parse_record(nested(kMaxJsonDepth - 1)).is_object());
  EXPECT_TRUE(parse_record(nested(kMaxJsonDepth)).is_null());
  EXPECT_TRUE(parse_record(nested(1 << 20)).is_null());
  for (const char* text : {"", "[]", "1", "{", R"({"a": )"})
    EXPECT_TRUE(parse_record(text).is_null()) << text;
}

// Two million keys took minutes.
TEST(ParseRecord, ReadsObjectsOfBoundedSize) {
  const auto with_keys = [](int count) {
    std::string text = "{\"list\": [1, 2, 3]";
    for (int i = 1; i < count; ++i) text += ", \"" + std::to_string(i) + "\": {}";
    return text + "}";
  };
  EXPECT_EQ(parse_record(with_keys(kMaxRecordKeys)).size(), kMaxRecordKeys);
  EXPECT_TRUE(parse_record(with_keys(kMaxRecordKeys + 1)).is_null());
  EXPECT_TRUE(parse_record(with_keys(kMaxRecordValues / 2)).is_null());
}

}  // namespace
}  // namespace fusesmith::graph
