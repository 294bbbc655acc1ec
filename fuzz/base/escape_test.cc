#include "fuzz/base/escape.h"

#include <gtest/gtest.h>

namespace fusesmith::fuzz {
namespace {

TEST(Escape, ControlCharactersAreNotShown) {
  EXPECT_EQ(printable("a\x1b[31mb\a"), "a\xEF\xBF\xBD[31mb\xEF\xBF\xBD");
  EXPECT_EQ(printable("one\ntwo\tthree"), "one two three");
  EXPECT_EQ(printable_lines("one\ntwo\tthree\r"), "one\ntwo three\xEF\xBF\xBD");
  EXPECT_EQ(printable("\xC2\x9Bm"), "\xEF\xBF\xBDm") << "a control character of two bytes";
  EXPECT_EQ(printable("\xE2\x80\xAEx"), "\xEF\xBF\xBDx") << "U+202E reverses what follows";
  EXPECT_EQ(printable("\xCE\xB1 = \xE2\x88\x9E"), "\xCE\xB1 = \xE2\x88\x9E");
}

// What is read must be what is there: text that runs backwards, and characters that nobody sees.
TEST(Escape, DirectionMarksAndInvisibleCharactersAreNotShown) {
  for (const uint32_t point :
       {0xADU, 0x61CU, 0x180EU, 0x200BU, 0x200DU, 0x200EU, 0x200FU, 0x202AU, 0x202EU, 0x2060U, 0x2066U,
        0x2069U, 0x206FU, 0xFE0FU, 0xFEFFU, 0xFFF9U, 0xE0001U, 0xE007FU, 0xE01EFU})
    EXPECT_FALSE(is_shown(point)) << std::hex << point;
  for (const uint32_t point :
       {0x20U, 0xA0U, 0xACU, 0xE9U, 0x5D0U, 0x627U, 0x2014U, 0x2190U, 0x4E2DU, 0xFFFDU, 0x1F600U})
    EXPECT_TRUE(is_shown(point)) << std::hex << point;
  EXPECT_EQ(printable("\xF3\xA0\x81\x81x"), "\xEF\xBF\xBDx") << "U+E0041, a tag";
}

TEST(Escape, BytesThatAreNotUtf8AreReplaced) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(printable("\xFF"), bad);
  EXPECT_EQ(printable("\xC0\xAF"), bad + bad) << "overlong";
  EXPECT_EQ(printable("\xED\xA0\x80"), bad + bad + bad) << "a surrogate";
  EXPECT_EQ(printable("a\xE2\x88"), "a" + bad + bad) << "cut off";
}

TEST(Escape, MarkupIsTextInHtml) {
  EXPECT_EQ(html_escaped("<script>alert('x' & \"y\")</script>"),
            "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;");
}

TEST(Escape, MarkupIsTextInMarkdown) {
  EXPECT_EQ(markdown_escaped("a|c <b> [x](y) `z` @all #1"), "a\\|c &lt;b> [x\\](y) \\`z\\` &#64;all \\#1");
  EXPECT_EQ(markdown_escaped("_a_ **b** [c][d] [e]: f"), "\\_a\\_ \\*\\*b\\*\\* [c\\][d] [e\\]: f");
}

TEST(Escape, WhatIsNoMarkupStaysReadable) {
  const std::string text = "einsum_to_gemm[0, 1], f16[2,3], [0.5, 1], x-y.z/0 -> #";
  EXPECT_EQ(markdown_escaped(text), text);
}

TEST(Escape, CodeCannotLeaveItsFence) {
  EXPECT_EQ(markdown_code("a"), "`a`");
  EXPECT_EQ(markdown_code("a``b"), "```a``b```");
  EXPECT_EQ(markdown_code("`"), "`` ` ``");
  EXPECT_EQ(markdown_block("x\n```\ny", "sh"), "````sh\nx\n```\ny\n````\n");
}

}  // namespace
}  // namespace fusesmith::fuzz
