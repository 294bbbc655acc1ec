#include "graph/memory_layout.h"

#include <gtest/gtest.h>

#include "graph/case.h"

namespace fusesmith::graph {
namespace {

const TensorType kType{Dtype::f16, {2, 3, 4}};

std::string problem(const MemoryLayout& layout, const Shape& repeated = {}) {
  const auto found = check_layout(layout, kType, repeated);
  return found ? found->what : "";
}

TEST(MemoryLayout, StridesFollowOrderPaddingAndExpand) {
  const Strides dense = strides_of(MemoryLayout{}, kType.shape);
  EXPECT_EQ(dense.of_axes, (Shape{12, 4, 1}));
  EXPECT_EQ(dense.extent, 24);
  const Strides mixed = strides_of({.order = {1, 0, 2}, .pad = {1, 0, 5}}, kType.shape);
  EXPECT_EQ(mixed.of_axes, (Shape{9, 27, 1}));
  EXPECT_EQ(mixed.extent, 81);
  const Strides expanded = strides_of({.pad = {0, 0, 2}, .expand = {1}}, kType.shape);
  EXPECT_EQ(expanded.of_axes, (Shape{6, 0, 1}));
  EXPECT_EQ(expanded.extent, 12);
  EXPECT_EQ(strides_of(MemoryLayout{}, {}).extent, 1);
}

TEST(MemoryLayout, EveryWrongValueIsNamed) {
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({.order = {0, 1}}), "expected order with all axes of f16[2,3,4], each once, got [0,1]");
  EXPECT_EQ(problem({.order = {0, 1, 1}}),
            "expected order with all axes of f16[2,3,4], each once, got [0,1,1]");
  EXPECT_EQ(problem({.pad = {1}}), "expected pad with a number for each axis of f16[2,3,4], got [1]");
  EXPECT_EQ(problem({.pad = {0, -1, 0}}), "expected pad between 0 and 134217728, got [0,-1,0]");
  EXPECT_EQ(problem({.pad = {0, 1 << 27, 0}}), "expected at most 2^27 elements with their padding");
  EXPECT_EQ(problem({.expand = {3}}), "expected expand with axes of f16[2,3,4], each once, got [3]");
  EXPECT_EQ(problem({.expand = {0}}),
            "expected data that repeats along axis 0, which the layout expands: name it in \"repeat\"");
  EXPECT_EQ(problem({.expand = {0}}, {0}), "");
  for (const int64_t align : {0, 1, 3, 512}) {
    EXPECT_EQ(problem({.align = align}),
              "expected align as a power of two between 2 and 256 for f16, got " + std::to_string(align));
  }
}

TEST(MemoryLayout, ClassesSayWhatItDoes) {
  using enum LayoutClass;
  const auto classes = [](const MemoryLayout& layout) { return classes_of(layout, kType); };
  using Classes = std::vector<LayoutClass>;
  EXPECT_EQ(classes_of(std::nullopt, kType), Classes{dense});
  EXPECT_EQ(classes({}), Classes{dense});
  EXPECT_EQ(classes({.order = {2, 0, 1}}), Classes{permuted});
  EXPECT_EQ(classes({.pad = {0, 0, 1}}), Classes{padded});
  EXPECT_EQ(classes({.offset = 8}), Classes{offset});
  EXPECT_EQ(classes({.offset = 1}), (Classes{offset, misaligned}));
  EXPECT_EQ(classes({.align = 2}), Classes{misaligned});
  EXPECT_EQ(classes({.expand = {1}}), Classes{expanded});
  EXPECT_EQ(classes_of(MemoryLayout{.order = {1, 0}}, {Dtype::f32, {1, 4}}), Classes{dense});
}

TEST(MemoryLayout, RepeatedElementsAreThoseOfIndexZero) {
  Tensor tensor({Dtype::f32, {2, 2, 3}});
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i));
  repeat_elements(tensor, {0, 2});
  EXPECT_EQ(to_f32(tensor), (std::vector<float>{0, 0, 0, 3, 3, 3, 0, 0, 0, 3, 3, 3}));
}

std::string file(const std::string& input) {
  return R"({"fusesmith": 1, "graph": {"inputs": [{"name": "x", "type": "f32[4,6]", "fill": {"normal": {}})" +
         input + R"(}], "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}], "outputs": ["y"]}})";
}

TEST(MemoryLayout, FilesAreReadAndWrittenWithIt) {
  const auto read = parse_case(file(
      R"(, "repeat": [0], "layout": {"order": [1, 0], "pad": [0, 2], "offset": 3, "expand": [0], "align": 4})"));
  ASSERT_TRUE(read) << read.problem();
  const Input& x = read->graph.inputs()[0];
  EXPECT_EQ(x.repeat, Shape{0});
  EXPECT_EQ(x.layout, (MemoryLayout{{1, 0}, {0, 2}, 3, {0}, 4}));
  const std::string text = to_json(*read);
  EXPECT_NE(
      text.find(R"("repeat": [0], "layout": {"order": [1,0], "pad": [0,2], "offset": 3, "expand": [0], )"
                R"("align": 4}})"),
      std::string::npos)
      << text;
  const auto again = parse_case(text);
  ASSERT_TRUE(again) << again.problem();
  EXPECT_TRUE(*again == *read);
  EXPECT_EQ(to_json(*parse_case(file(""))).find("layout"), std::string::npos);
}

TEST(MemoryLayout, WrongFilesAreOneLine) {
  const auto said = [](const std::string& input) { return parse_case(file(input)).problem(); };
  EXPECT_EQ(
      said(R"(, "layout": {"strides": [1]})"),
      "graph.inputs[0].layout: unknown key \"strides\", expected one of \"order\", \"pad\", \"offset\", "
      "\"expand\", \"align\"");
  EXPECT_EQ(said(R"(, "layout": {"offset": -1})"),
            "graph.inputs[0].layout.offset: expected a number between 0 and 1048576, got -1");
  EXPECT_EQ(said(R"(, "layout": {"align": 2})"),
            "graph.inputs[0]: x: layout: expected align as a power of two between 4 and 256 for f32, got 2");
  EXPECT_EQ(said(R"(, "repeat": [2])"),
            "graph.inputs[0]: x: expected repeat with axes of f32[4,6], each once, got [2]");
  EXPECT_EQ(said(R"(, "layout": 3)"), "graph.inputs[0].layout: expected an object, got 3");
}

// The same elements, whatever the layout is; repeated ones where the data says so.
TEST(MemoryLayout, DataDoesNotDependOnIt) {
  const auto with = parse_case(file(R"(, "layout": {"order": [1, 0], "offset": 5})")),
             without = parse_case(file(""));
  EXPECT_TRUE(make_inputs(*with)[0] == make_inputs(*without)[0]);
  const auto repeated = parse_case(file(R"(, "repeat": [0])"));
  const std::vector<float> rows = to_f32(make_inputs(*repeated)[0]), plain = to_f32(make_inputs(*without)[0]);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], plain[i % 6]);
}

}  // namespace
}  // namespace fusesmith::graph
