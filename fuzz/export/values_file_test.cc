#include "fuzz/export/values_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "backends/remote/frame.h"
#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;

// What a program reads: the header and the bytes of each tensor by "role step name".
struct ReadFrame {
  Json header;
  std::map<std::string, std::string> tensors;
};

std::vector<ReadFrame> read_frames(const std::string& path) {
  const auto text = read_file(path);
  std::vector<ReadFrame> frames;
  for (size_t at = 0; text && at < text->size();) {
    FramePrefix prefix;
    std::memcpy(&prefix, text->data() + at, sizeof prefix);
    EXPECT_FALSE(check_prefix(prefix, uint64_t{1} << 30));
    at += sizeof prefix;
    ReadFrame frame{Json::parse(text->substr(at, prefix.header)), {}};
    at += prefix.header;
    const size_t end = at + prefix.payload;
    for (const Json& tensor : frame.header["tensors"]) {
      const TensorType type = *parse_tensor_type(tensor["type"].get<std::string>());
      const auto bytes = static_cast<size_t>(element_count(type) * size_of(type.dtype));
      const std::string key = tensor["role"].get<std::string>() + " " +
                              std::to_string(tensor["step"].get<int>()) + " " +
                              tensor["name"].get<std::string>();
      EXPECT_TRUE(frame.tensors.emplace(key, text->substr(at, bytes)).second) << key;
      at += bytes;
    }
    EXPECT_EQ(at, end);
    frames.push_back(std::move(frame));
  }
  return frames;
}

// Two steps of s' = s + x, y = 2 s', of which y is bf16 after a cast.
Case two_steps() {
  Builder builder;
  const ValueId x = builder.input("x", {Dtype::f32, {2, 3}}, Normal{}),
                s = builder.state("s", {Dtype::f32, {2, 3}}, Normal{});
  const ValueId next = builder.node(Add{}, {s, x}, "next");
  builder.next_state(0, next);
  builder.output(builder.node(Cast{Dtype::bf16}, {builder.node(Add{}, {next, next}, "sum")}, "y"));
  Case test_case;
  test_case.steps = 2;
  test_case.graph = *builder.build();
  return test_case;
}

Ran replay(const std::vector<std::string>& files, const std::string& values) {
  std::vector<std::string> arguments = {"replay", "--baseline=cpu", "--candidate=cpu_fused",
                                        "--values=" + values};
  arguments.insert(arguments.end(), files.begin(), files.end());
  return fusesmith_command(arguments);
}

TEST(ValuesFile, HasTheValuesOfEveryStepOfEveryCase) {
  const TemporaryFolder folder;
  Case test_case = two_steps();
  const std::string a = folder.file("a.json", to_json(test_case));
  test_case.seed = 2;
  const std::string b = folder.file("b.json", to_json(test_case));
  const Ran ran = replay({a, b}, folder / "values");
  EXPECT_EQ(ran.code, kClean) << ran.err;
  const auto frames = read_frames(folder / "values");
  ASSERT_EQ(frames.size(), 2U);
  for (const ReadFrame& frame : frames) {
    EXPECT_EQ(frame.header["type"], "case");
    EXPECT_EQ(frame.header["steps"], 2);
    EXPECT_EQ(frame.header["verdict"], "identical");
    EXPECT_EQ(frame.header["finding"], false);
    EXPECT_EQ(frame.header["compile"]["types"]["y"], "bf16[2,3]");
    std::vector<std::string> keys;
    for (const auto& [key, bytes] : frame.tensors) {
      keys.push_back(key);
      EXPECT_EQ(bytes.size(), key.ends_with(" y") ? 12U : 24U);
    }
    EXPECT_EQ(keys,
              (std::vector<std::string>{"baseline 0 next", "baseline 0 y", "baseline 1 next", "baseline 1 y",
                                        "candidate 0 next", "candidate 0 y", "candidate 1 next",
                                        "candidate 1 y", "input 0 x", "input 1 x", "state 0 s"}));
    EXPECT_EQ(frame.tensors.at("baseline 1 y"), frame.tensors.at("candidate 1 y"));
    EXPECT_NE(frame.tensors.at("baseline 0 y"), frame.tensors.at("baseline 1 y"));
  }
  EXPECT_EQ(frames[0].header["file"], a);
  EXPECT_EQ(frames[1].header["file"], b);
  EXPECT_NE(frames[0].tensors, frames[1].tensors);
}

TEST(ValuesFile, ACaseThatDoesNotRunHasNoTensors) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.json", to_json(two_steps()));
  const FailingBackend failing([](const Graph&) { throw std::runtime_error("no"); });
  const Ran ran = fusesmith_command(
      {"replay", "--baseline=cpu", "--candidate=failing", "--values=" + (folder / "values"), file});
  EXPECT_EQ(ran.code, kFindings) << ran.err;
  const auto frames = read_frames(folder / "values");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].header["verdict"], "crash");
  EXPECT_TRUE(frames[0].tensors.empty());
}

TEST(ValuesFile, WhatCannotBeWrittenIsOneLine) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.json", to_json(two_steps()));
  const Ran absent = replay({file}, folder / "absent/values");
  EXPECT_EQ(absent.code, kCannotWrite);
  EXPECT_TRUE(is_one_line(absent.err)) << absent.err;
  const Ran full = replay({file, file}, "/dev/full");
  EXPECT_EQ(full.code, kCannotWrite);
  EXPECT_EQ(full.err, "fusesmith replay: /dev/full: cannot be written: No space left on device\n");
}

}  // namespace
}  // namespace fusesmith::fuzz
