// The C interface: verdicts of tensors that exist, and what is refused.
#include <fusesmith/check.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/remote/dl_type.h"
#include "graph/tensor.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kSoftmax = R"({"fusesmith": 1, "seed": 1, "steps": 1, "graph": {
  "inputs": [{"name": "x", "type": "f32[3,8]", "fill": {"normal": {}}}], "states": [],
  "nodes": [{"name": "y", "op": "softmax", "inputs": ["x"], "axis": -1}], "outputs": ["y"]}})";

constexpr const char* kGather = R"({"fusesmith": 1, "seed": 1, "steps": 1, "graph": {
  "inputs": [{"name": "table", "type": "f32[4,2]", "fill": {"normal": {}}},
             {"name": "rows", "type": "i32[3]", "fill": {"constant": {"value": 0}}}], "states": [],
  "nodes": [{"name": "y", "op": "gather", "inputs": ["table", "rows"]}], "outputs": ["y"]}})";

DLTensor tensor(std::vector<float>& data, Shape& shape, int64_t* strides = nullptr) {
  return {data.data(),
          {kDLCPU, 0},
          static_cast<int32_t>(shape.size()),
          dl_type(Dtype::f32),
          shape.data(),
          strides,
          0};
}

Json check(const char* graph, const std::vector<fusesmith_call>& calls, const char* options = nullptr) {
  char* text = fusesmith_check(graph, options, calls.data(), calls.size());
  Json json = Json::parse(text);
  fusesmith_check_free(text);
  return json;
}

// Rows of a softmax with its right result.
struct SoftmaxCall {
  std::vector<float> x = std::vector<float>(24), y = std::vector<float>(24);
  Shape shape = {3, 8};
  DLTensor in = tensor(x, shape), out = tensor(y, shape);

  SoftmaxCall() {
    for (size_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (size_t i = 0; i < 8; ++i) {
        x[row * 8 + i] = static_cast<float>(std::sin(static_cast<double>(row * 8 + i)));
        sum += std::exp(x[row * 8 + i]);
      }
      for (size_t i = 0; i < 8; ++i)
        y[row * 8 + i] = static_cast<float>(std::exp(static_cast<double>(x[row * 8 + i])) / sum);
    }
  }
  fusesmith_call call() const { return {&in, 1, &out, 1}; }
};

TEST(Check, JudgesEachCallAlone) {
  const SoftmaxCall right;
  SoftmaxCall wrong;
  wrong.y[9] *= 1.0001F;
  const Json results = check(kSoftmax, {right.call(), wrong.call()}, R"({"kernel": "mine"})")["results"];
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]["ok"], true) << results[0];
  EXPECT_EQ(results[0]["finding"], false);
  EXPECT_EQ(results[1]["ok"], false);
  EXPECT_EQ(results[1]["verdict"], "defect");
  EXPECT_EQ(results[1]["regions"][0]["outside"], 1);
  EXPECT_EQ(results[1]["regions"][0]["worst"]["index"], Json({1, 1}));
  EXPECT_THAT(results[1]["sentence"].get<std::string>(), HasSubstr("of mine: y[1,1]"));
}

TEST(Check, ExplainsWhereItIsAskedTo) {
  SoftmaxCall wrong;
  wrong.y[9] *= 1.0001F;
  const auto sentence_of = [&](const char* options) {
    return check(kSoftmax, {wrong.call()}, options)["results"][0]["sentence"].get<std::string>();
  };
  EXPECT_THAT(sentence_of(nullptr), HasSubstr("unless it is meant that exp_scores"));
  EXPECT_THAT(sentence_of(R"({"explain": false})"), HasSubstr("No correct execution gives this result"));
}

TEST(Check, ReadsStrides) {
  SoftmaxCall call;
  std::vector<float> columns(24);
  for (size_t row = 0; row < 3; ++row) {
    for (size_t i = 0; i < 8; ++i) columns[i * 3 + row] = call.x[row * 8 + i];
  }
  Shape strides = {1, 3};
  call.in = tensor(columns, call.shape, strides.data());
  EXPECT_EQ(check(kSoftmax, {call.call()})["results"][0]["ok"], true);
  Shape backwards = {-8, 1};
  call.in = tensor(call.x, call.shape, backwards.data());
  call.in.byte_offset = 16 * sizeof(float);
  EXPECT_EQ(check(kSoftmax, {call.call()})["results"][0]["ok"], false) << "rows in another order";
}

TEST(Check, IndicesAreThoseOfTheCall) {
  std::vector<float> table = {0, 1, 2, 3, 4, 5, 6, 7}, y = {6, 7, 0, 1, 6, 7};
  std::vector<int32_t> rows = {3, 0, 3};
  Shape shape = {4, 2}, count = {3}, result = {3, 2};
  const auto call_with = [&](DLTensor* in, DLTensor& out) {
    in[0] = tensor(table, shape);
    in[1] = {rows.data(), {kDLCPU, 0}, 1, dl_type(Dtype::i32), count.data(), nullptr, 0};
    out = tensor(y, result);
    return check(kGather, {{in, 2, &out, 1}})["results"][0];
  };
  DLTensor in[2], out;
  EXPECT_EQ(call_with(in, out)["ok"], true);
  rows[1] = 1;
  EXPECT_EQ(call_with(in, out)["verdict"], "defect");
  rows[1] = 4;
  EXPECT_THAT(call_with(in, out)["error"].get<std::string>(), HasSubstr("indices known to lie in [0, 4)"));
}

constexpr const char* kState = R"({"fusesmith": 1, "seed": 1, "steps": 1, "graph": {
  "inputs": [{"name": "x", "type": "f32[3]", "fill": {"normal": {}}}],
  "states": [{"name": "kept", "type": "f32[3]", "fill": {"normal": {}}, "next": "kept"},
             {"name": "sum", "type": "f32[3]", "fill": {"normal": {}}, "next": "y"}],
  "nodes": [{"name": "y", "op": "add", "inputs": ["x", "sum"]}], "outputs": ["y"]}})";

// States follow the inputs; of what is returned, each value is given once, and none that was given.
TEST(Check, StatesAreGivenAsInputsAre) {
  std::vector<float> x = {1, 2, 3}, kept = {0, 0, 0}, sum = {4, 5, 6}, y = {5, 7, 9};
  Shape shape = {3};
  const DLTensor in[] = {tensor(x, shape), tensor(kept, shape), tensor(sum, shape)};
  const DLTensor out = tensor(y, shape);
  const auto judged = [&] { return check(kState, {{in, 3, &out, 1}})["results"][0]; };
  EXPECT_EQ(judged()["ok"], true) << judged();
  y[2] = 8;
  EXPECT_EQ(judged()["finding"], true) << judged();
}

TEST(Check, SaysWhatIsWrongWithTheCall) {
  EXPECT_EQ(fusesmith_check_abi_version(), FUSESMITH_CHECK_ABI_VERSION);
  SoftmaxCall call;
  const auto error_of = [&](const char* options = nullptr) {
    const Json json = check(kSoftmax, {call.call()}, options);
    return json.value("error", json.contains("results") ? json["results"][0].value("error", "") : "");
  };
  EXPECT_EQ(error_of(), "");
  EXPECT_THAT(error_of(R"({"contract": {"atomic": 1}})"), HasSubstr("unknown key \"atomic\""));
  EXPECT_THAT(error_of(R"({"elements": "some"})"), HasSubstr("options.elements: expected"));
  EXPECT_THAT(error_of(R"({"explain": 1})"), HasSubstr("options.explain: expected true or false"));
  EXPECT_THAT(error_of(R"({"thread": 1})"), HasSubstr("unknown key \"thread\""));
  EXPECT_THAT(error_of("[]"), HasSubstr("expected an object"));
  call.out.device.device_type = kDLCUDA;
  EXPECT_THAT(error_of(), HasSubstr("output y: expected memory of the host"));
  call.out.device.device_type = kDLCPU;
  call.out.dtype.bits = 64;
  EXPECT_THAT(error_of(), HasSubstr("output y: expected f32[3,8], got code 2, 64 bits, [3,8]"));
  call.out.ndim = -1;
  EXPECT_THAT(error_of(), HasSubstr("output y: expected f32[3,8]"));
  call.out = call.in;
  call.out.data = nullptr;
  EXPECT_THAT(error_of(), HasSubstr("y: the data is NULL"));
  EXPECT_THAT(check(kSoftmax, {{&call.in, 1, nullptr, 0}})["results"][0]["error"].get<std::string>(),
              HasSubstr("outputs: expected 1 tensors, got 0"));
  EXPECT_THAT(check("{", {})["error"].get<std::string>(), HasSubstr("1:"));
  EXPECT_THAT(check(nullptr, {}), testing::Contains(testing::_));
}

TEST(Check, AContractGrantsWhatItDeclares) {
  SoftmaxCall call;
  for (float& y : call.y) y *= 1 + 40 * 0x1p-24F;
  EXPECT_EQ(check(kSoftmax, {call.call()})["results"][0]["finding"], true);
  const Json granted =
      check(kSoftmax, {call.call()}, R"({"contract": {"arithmetic": {"exp": 64}}, "elements": "all"})");
  EXPECT_EQ(granted["results"][0]["ok"], true) << granted;
}

}  // namespace
}  // namespace fusesmith::fuzz
