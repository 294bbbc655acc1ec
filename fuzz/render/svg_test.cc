#include "fuzz/render/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/render/layout.h"
#include "graph/case.h"
#include "graph/philox.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

Graph product() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::bf16, {4, 8}}, Normal{});
  const ValueId y = b.node(Einsum{"ij,kj->ik"}, {x, x}, "y");
  const ValueId p = b.node(Softmax{}, {y}, "p");
  b.output(b.node(Add{}, {p, y}, "sum"));
  return *b.build();
}

TEST(Svg, DrawsEveryNodeWithTypes) {
  const std::string text = svg_text(product(), "case.json", nullptr);
  EXPECT_EQ(count(text, "<rect "), 6U);               // the background, x, y, p, sum, the output
  EXPECT_EQ(count(text, "class=\"head\""), 5U);       // y reads x twice: one arrow
  EXPECT_THAT(text, HasSubstr(">bf16[4,8]</text>"));  // in the box of x
  EXPECT_EQ(count(text, ">bf16[4,4]</text>"), 3U);    // once below y, although two arrows start there
  EXPECT_THAT(text, HasSubstr("equation=&quot;ij,kj-&gt;ik&quot;"));
  EXPECT_THAT(text, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(text, Not(HasSubstr("class=\"failing")));
}

TEST(Svg, MarksTheFailingRegion) {
  const Graph graph = product();
  const FailureMark mark{{1, 2}, graph.nodes()[2].first_output, "defect"};
  const std::string text = svg_text(graph, "case.json", &mark);
  EXPECT_EQ(count(text, "class=\"failing\""), 1U);
  EXPECT_EQ(count(text, "class=\"failing worst\""), 1U);
}

TEST(Svg, EscapesText) {
  const FailureMark mark{{0}, -1, "</text><script>alert('&')</script>"};
  const std::string text = svg_text(product(), "<img src=x>\"&\x01", &mark);
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, HasSubstr("&lt;img src=x&gt;&quot;&amp;"));
  EXPECT_THAT(text, HasSubstr("&lt;/text&gt;&lt;script&gt;"));
}

TEST(Layout, BoxesOfALayerNeverOverlap) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    uint64_t next = 0;
    const auto below = [&](uint32_t n) { return static_cast<int>(philox(seed, 1, next++)[0] % n); };
    std::vector<LaidBox> boxes;
    for (int i = 0; i < 30; ++i) boxes.push_back({20.0 + below(200), i / 4});
    std::vector<LaidEdge> edges;
    for (int i = 0; i < 45; ++i) {
      const int from = below(28), to = from + 1 + below(static_cast<uint32_t>(29 - from));
      if (boxes[static_cast<size_t>(from)].layer < boxes[static_cast<size_t>(to)].layer)
        edges.push_back({from, to});
    }
    const double width = lay_out(boxes, edges);
    for (const LaidBox& a : boxes) {
      EXPECT_GE(a.x - a.width / 2, -1e-6);
      EXPECT_LE(a.x + a.width / 2, width + 1e-6);
      for (const LaidBox& b : boxes) {
        if (&a != &b && a.layer == b.layer) {
          EXPECT_GE(std::abs(a.x - b.x), (a.width + b.width) / 2);
        }
      }
    }
    for (const LaidEdge& edge : edges) {
      const int layers =
          boxes[static_cast<size_t>(edge.to)].layer - boxes[static_cast<size_t>(edge.from)].layer;
      EXPECT_EQ(static_cast<int>(edge.through.size()), layers - 1);
    }
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
