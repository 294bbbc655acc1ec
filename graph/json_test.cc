// Reading and writing cases: what is accepted comes back the same; what is not is one line that names the
// place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/case.h"

namespace fusesmith::graph {
namespace {

using testing::StartsWith;

constexpr double kJsonInfinity = std::numeric_limits<double>::infinity();

// A case that uses every part of the format.
Case full_case() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::bf16, {4, 8}}, Normal{0, 0.02});
  const ValueId i = b.input("i", {Dtype::i32, {2}}, Tokens{4});
  const ValueId m = b.input("m", {Dtype::boolean, {8}}, Bernoulli{});
  const ValueId l = b.input("l", {Dtype::f16, {2}}, Literal{"80007c00"});
  const ValueId s = b.state("s", {Dtype::bf16, {4, 8}}, Constant{-0.0});
  const ValueId sum = b.node(Add{}, {x, s}, "sum");
  const ValueId rows = b.node(Gather{}, {sum, i}, "rows");
  const ValueId masked = b.node(MaskedFill{-kJsonInfinity, true}, {rows, m}, "masked");
  b.output(b.node(Permute{{1, 0}}, {b.node(Softmax{}, {masked}, "p")}, "t/1"));
  b.output(b.node(Scale{0.1}, {l}, "l.scaled"));
  b.next_state(0, sum);
  Case test_case;
  test_case.seed = std::numeric_limits<uint64_t>::max();
  test_case.steps = 3;
  test_case.policy = {true, Policy::ImplicitCasts::strict, {"sdpa", "gemm_bias_act"}};
  test_case.graph = *b.build();
  test_case.expect = Expect{{"cpu", "cpu_fused"}, "precision_policy", {"elided p (bf16)"}, "a|\"b\"\n"};
  return test_case;
}

// The text with one piece replaced; the piece must be there.
std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

std::string json_problem_of(const std::string& text) {
  const auto result = parse_case(text);
  return result ? "" : result.problem();
}

// A valid file, short enough to edit by eye.
const char kSmall[] =
    R"({"fusesmith": 1, "seed": 42, "steps": 1, "policy": {"tf32": false, "implicit_casts": "may_elide"},
 "graph": {"inputs": [{"name": "x", "type": "f32[4,16]", "fill": {"normal": {"stddev": 1}}},
                      {"name": "m", "type": "bool[16]", "fill": {"bernoulli": {}}}],
           "states": [],
           "nodes": [{"name": "p", "op": "softmax", "inputs": ["x"], "axis": -1},
                     {"name": "y", "op": "masked_fill", "inputs": ["p", "m"], "value": 1e-3}],
           "outputs": ["y"]},
 "expect": {"backends": ["cpu", "cpu_fused"], "verdict": "reassociation"}}
)";

std::string edited(const std::string& what, const std::string& by) {
  return json_problem_of(replaced(kSmall, what, by));
}

TEST(Json, WritesOneLinePerInputStateAndNode) {
  EXPECT_EQ(to_json(full_case()), R"json({
  "fusesmith": 1,
  "seed": 18446744073709551615,
  "steps": 3,
  "policy": {"tf32": true, "implicit_casts": "strict", "skip_patterns": ["sdpa", "gemm_bias_act"]},
  "graph": {
    "inputs": [
      {"name": "x", "type": "bf16[4,8]", "fill": {"normal": {"mean": 0, "stddev": 0.02}}},
      {"name": "i", "type": "i32[2]", "fill": {"tokens": {"count": 4}}},
      {"name": "m", "type": "bool[8]", "fill": {"bernoulli": {"p": 0.5}}},
      {"name": "l", "type": "f16[2]", "fill": {"literal": {"bits": "80007c00"}}}
    ],
    "states": [
      {"name": "s", "type": "bf16[4,8]", "fill": {"constant": {"value": -0.0}}, "next": "sum"}
    ],
    "nodes": [
      {"name": "sum", "op": "add", "inputs": ["x", "s"]},
      {"name": "rows", "op": "gather", "inputs": ["sum", "i"]},
      {"name": "masked", "op": "masked_fill", "inputs": ["rows", "m"], "value": "-inf", "inverted": true},
      {"name": "p", "op": "softmax", "inputs": ["masked"], "axis": -1},
      {"name": "t/1", "op": "permute", "inputs": ["p"], "dims": [1,0]},
      {"name": "l.scaled", "op": "scale", "inputs": ["l"], "factor": 0.1, "inverse": false}
    ],
    "outputs": ["t/1", "l.scaled"]
  },
  "expect": {"backends": ["cpu", "cpu_fused"], "verdict": "precision_policy", "deviations": ["elided p (bf16)"], "signature": "a|\"b\"\n"}
}
)json");
}

TEST(Json, ReadingUndoesWriting) {
  const Case test_case = full_case();
  const auto back = parse_case(to_json(test_case));
  ASSERT_TRUE(back) << back.problem();
  EXPECT_TRUE(*back == test_case);
  EXPECT_EQ(to_json(*back), to_json(test_case));
  EXPECT_TRUE(std::signbit(std::get<Constant>(back->graph.states()[0].fill).value));
}

// "$schema" is for editors and "comment" for people: kept, and of no effect.
TEST(Json, SchemaAndCommentAreKept) {
  Case with = full_case();
  with.schema = "case.schema.json";
  with.comment = "a \"note\", caf\xc3\xa9";
  const std::string text = to_json(with);
  EXPECT_TRUE(
      text.starts_with("{\n  \"$schema\": \"case.schema.json\",\n  \"fusesmith\": 1,\n  \"comment\": "))
      << text;
  const auto read = parse_case(text);
  ASSERT_TRUE(read.ok()) << read.problem();
  EXPECT_EQ(*read, with);
  EXPECT_EQ(to_json(*read), text);
  EXPECT_EQ(json_problem_of(replaced(text, "\"case.schema.json\"", "1")),
            "$schema: expected a string, got 1");
  EXPECT_NE(json_problem_of(replaced(text, "\"graph\": {", "\"graph\": {\"comment\": \"x\",")), "")
      << "top level only";
}

TEST(Json, DefaultsMayBeLeftOut) {
  const auto small = parse_case(kSmall);
  ASSERT_TRUE(small) << small.problem();
  EXPECT_TRUE(small->graph.inputs()[0].fill == Fill{Normal{}});
  const auto least = parse_case(
      R"({"fusesmith": 1, "graph": {"inputs": [{"name": "x", "type": "f32[]", "fill": {"normal": {}}}], "nodes": [], "outputs": ["x"]}})");
  ASSERT_TRUE(least) << least.problem();
  EXPECT_EQ(least->seed, 0u);
  EXPECT_EQ(least->steps, 1);
  EXPECT_TRUE(least->policy == Policy{});
  EXPECT_FALSE(least->expect);
  EXPECT_EQ(edited(R"("expect": {"backends": ["cpu", "cpu_fused"], "verdict": "reassociation"})",
                   R"("expect": {"verdict": "defect"})"),
            "");
}

TEST(Json, NumbersKeepTheirBits) {
  for (const double value : {0.1, 1e-45, -1e30, 1e22, 1e23, 123456789012345680.0, 5e-324, -0.0, 3.0,
                             kJsonInfinity, -kJsonInfinity}) {
    Builder b;
    b.output(b.input("x", {Dtype::f32, {1}}, Constant{value}));
    Case test_case;
    test_case.graph = *b.build();
    const auto back = parse_case(to_json(test_case));
    ASSERT_TRUE(back) << back.problem();
    const double read = std::get<Constant>(back->graph.inputs()[0].fill).value;
    EXPECT_EQ(read, value);
    EXPECT_EQ(std::signbit(read), std::signbit(value));
  }
  const auto zero = parse_case(replaced(kSmall, "42", "-0"));
  ASSERT_TRUE(zero) << zero.problem();
  EXPECT_EQ(zero->seed, 0u);
  const auto seed = parse_case(replaced(kSmall, "42", "18446744073709551615"));
  ASSERT_TRUE(seed) << seed.problem();
  EXPECT_EQ(seed->seed, std::numeric_limits<uint64_t>::max());
}

struct Edit {
  const char* what;
  const char* by;
  const char* problem;  // how the line starts
};

const Edit kDocumentEdits[] = {
    {"\"fusesmith\": 1", "\"fusesmith\": 2",
     "fusesmith: expected 1, got 2: this case was written by a newer fusesmith"},
    {"\"fusesmith\": 1", "\"fusesmith\": 0", "fusesmith: expected 1, got 0"},
    {"\"fusesmith\": 1", "\"fusesmith\": \"1\"", "fusesmith: expected an integer, got \"1\""},
    {"\"fusesmith\": 1, ", "", "top level: expected the key \"fusesmith\", which is missing"},
    {"\"seed\": 42", "\"seed\": -1", "seed: expected an integer between 0 and 2^64 - 1, got -1"},
    {"\"seed\": 42", "\"seed\": -0.0", "seed: expected an integer between 0 and 2^64 - 1, got -0.0"},
    {"\"seed\": 42", "\"seed\": 18446744073709551616",
     "seed: expected an integer between 0 and 2^64 - 1, got 1.8446744073709552e+19"},
    {"\"seed\": 42", "\"seed\": 42.0", "seed: expected an integer between 0 and 2^64 - 1, got 42.0"},
    {"\"steps\": 1", "\"steps\": 0", "steps: expected a number between 1 and 1048576, got 0"},
    {"\"steps\": 1", "\"steps\": 1.5", "steps: expected an integer, got 1.5"},
    {"\"steps\": 1", "\"steps\": null", "steps: expected an integer, got null"},
    {"{\"tf32\": false, \"implicit_casts\": \"may_elide\"}", "[0]",
     "policy: expected an object, got an array of 1"},
    {"\"steps\"", "\"step\"", "top level: unknown key \"step\" (did you mean \"steps\"?), expected one of "},
    {"\"seed\": 42", "\"seed\": 42, \"seed\": 42", "top level: expected every key once, got \"seed\" twice"},
    {"\"tf32\": false", "\"tf32\": 0", "policy.tf32: expected true or false, got 0"},
    {"\"may_elide\"", "\"elide\"",
     "policy.implicit_casts: unknown value \"elide\", expected one of \"may_elide\", \"strict\""},
    {"\"verdict\": \"reassociation\"", "\"verdict\": 3", "expect.verdict: expected a string, got 3"},
    {", \"verdict\": \"reassociation\"", "", "expect: expected the key \"verdict\", which is missing"},
    {"[\"cpu\", \"cpu_fused\"]", "[\"cpu\"]",
     "expect.backends: expected exactly two names, the baseline's and the candidate's, got an array of 1"},
    {"[\"cpu\", \"cpu_fused\"]", "[]", "expect.backends: expected exactly two names"},
    {"[\"cpu\", \"cpu_fused\"]", "[\"cpu\", \"cpu\", \"cpu\"]",
     "expect.backends: expected exactly two names"},
    {"[\"cpu\", \"cpu_fused\"]", "[\"cpu\", \"the gpu\"]",
     "expect.backends[1]: expected the name of a backend, got \"the gpu\""},
    {"[\"cpu\", \"cpu_fused\"]", "[\"\", \"cpu\"]",
     "expect.backends[0]: expected the name of a backend, got \"\""},
    {"[\"cpu\", \"cpu_fused\"]", "\"cpu\"", "expect.backends: expected an array, got \"cpu\""},
    {"\"states\": []", "\"states\": {}", "graph.states: expected an array, got an object of 0"},
};

const Edit kSourceEdits[] = {
    {"f32[4,16]", "f32[4,-16]", "graph.inputs[0].type: expected a type like \"f32[4,16]\""},
    {"f32[4,16]", "f33[4,16]",
     "graph.inputs[0].type: expected a type like \"f32[4,16]\" (dtypes: f32, f16, bf16, i32, bool, f8e4m3, "
     "f8e5m2, f8e8m0, f4e2m1, s8, s4), got \"f33[4,16]\""},
    {"f32[4,16]", "f32[4,0]", "graph.inputs[0]: x: expected dimensions of 1 or more, got f32[4,0]"},
    {"f32[4,16]", "f32[4000000000,4000000000]",
     "graph.inputs[0]: x: expected at most 2^27 elements, got f32[4000000000,4000000000]"},
    {"f32[4,16]", "f32[99999999999999999999]", "graph.inputs[0].type: expected a type like"},
    {"f32[4,16]", "f32[1,1,1,1,1,1,1,1,1]", "graph.inputs[0]: x: expected rank 8 or less"},
    {"f32[4,16]", "i32[4,16]", "graph.inputs[0]: x: expected a fill that makes i32[4,16], got normal"},
    {"\"f32[4,16]\"", "[4, 16]", "graph.inputs[0].type: expected a string, got an array of 2"},
    {"\"normal\"", "\"norml\"",
     "graph.inputs[0].fill: unknown fill \"norml\" (did you mean \"normal\"?), expected one of "},
    {"{\"normal\": {\"stddev\": 1}}", "{}",
     "graph.inputs[0].fill: expected an object with exactly one key, got an object of 0"},
    {"{\"normal\": {\"stddev\": 1}}", "{\"normal\": {}, \"uniform\": {}}",
     "graph.inputs[0].fill: expected an object with exactly one key"},
    {"{\"normal\": {\"stddev\": 1}}", "\"normal\"",
     "graph.inputs[0].fill: expected an object with exactly one key, got \"normal\""},
    {"\"stddev\": 1", "\"sttdev\": 1",
     "graph.inputs[0].fill.normal: unknown key \"sttdev\" (did you mean \"stddev\"?), expected one of "
     "\"mean\", \"stddev\""},
    {"\"stddev\": 1", "\"stddev\": -1",
     "graph.inputs[0].fill.normal.stddev: expected a number between 0 and 1e+06, got -1"},
    {"\"stddev\": 1", "\"stddev\": \"inf\"",
     "graph.inputs[0].fill.normal.stddev: expected a number between 0 and 1e+06, got \"inf\""},
    {"\"stddev\": 1", "\"stddev\": \"big\"",
     "graph.inputs[0].fill.normal.stddev: expected a number between 0 and 1e+06, got \"big\""},
    {"\"stddev\": 1", "\"mean\": null",
     "graph.inputs[0].fill.normal.mean: expected a number between -1e+06 and 1e+06, got null"},
    {"\"name\": \"m\"", "\"name\": \"x\"", "graph.inputs[1]: x: expected every name once; this one is taken"},
    {"\"name\": \"m\"", "\"name\": \"a\\nb\"", "graph.inputs[1]: \"a?b\": expected a name of 1 to 64"},
};

const Edit kNodeEdits[] = {
    {"\"softmax\"", "\"sofmax\"",
     "graph.nodes[0].op: unknown op \"sofmax\" (did you mean \"softmax\"?), expected one of \"einsum\", "},
    {"\"op\": \"softmax\", ", "", "graph.nodes[0]: expected the key \"op\", which is missing"},
    {"\"axis\": -1", "\"axs\": -1",
     "graph.nodes[0]: unknown key \"axs\" (did you mean \"axis\"?), expected one of \"name\", \"op\", "
     "\"inputs\", \"axis\""},
    {"\"axis\": -1", "\"axis\": -1.5", "graph.nodes[0].axis: expected an integer, got -1.5"},
    {"\"axis\": -1", "\"axis\": 2", "graph.nodes[0]: p: softmax expected an axis between -2 and 1, got 2"},
    {"\"axis\": -1", "\"axis\": 9223372036854775808",
     "graph.nodes[0].axis: expected an integer, got 9223372036854775808"},
    {"\"axis\": -1", "\"axis\": -1, \"axis\": -1",
     "graph.nodes[0]: expected every key once, got \"axis\" twice"},
    {"[\"x\"]", "[\"y\"]",
     "graph.nodes[0].inputs[0]: \"y\" is used before it is defined; write nodes after their inputs"},
    {"[\"x\"]", "[\"p\"]", "graph.nodes[0].inputs[0]: \"p\" is used before it is defined"},
    {"[\"x\"]", "[\"xx\"]",
     "graph.nodes[0].inputs[0]: unknown value \"xx\" (did you mean \"x\"?), expected one of \"x\", \"m\""},
    {"[\"x\"]", "[0]", "graph.nodes[0].inputs[0]: expected a string, got 0"},
    {"[\"x\"]", "[]", "graph.nodes[0]: p: softmax expected 1 inputs, got 0"},
    {"[\"x\"]", "[\"m\"]", "graph.nodes[0]: p: softmax expected a float tensor, got bool[16]"},
    {"[\"p\", \"m\"]", "[\"p\", \"x\"]", "graph.nodes[1]: y: masked_fill expected"},
    {"\"name\": \"y\"", "\"name\": \"\"", "graph.nodes[1]: expected a name, got \"\""},
    {"\"name\": \"y\", ", "", "graph.nodes[1]: expected the key \"name\", which is missing"},
    {"\"value\": 1e-3", "\"value\": null",
     "graph.nodes[1].value: expected a number, \"inf\" or \"-inf\", got null"},
    {"{\"name\": \"p\", \"op\": \"softmax\", \"inputs\": [\"x\"], \"axis\": -1}", "3",
     "graph.nodes[0]: expected an object, got 3"},
    {"\"value\": 1e-3", "\"inverted\": true", "graph.nodes[1]: expected the key \"value\", which is missing"},
    {"\"outputs\": [\"y\"]", "\"outputs\": [\"z\"]", "graph.outputs[0]: unknown value \"z\""},
    {"\"outputs\": [\"y\"]", "\"outputs\": []", "graph: outputs: expected at least one output"},
    {"\"outputs\": [\"y\"]", "\"outputs\": [\"y\", \"y\"]", "graph: outputs: expected every output once"},
    {"\"states\": []", "\"states\": [{\"name\": \"s\", \"type\": \"f32[4,16]\", \"fill\": {\"normal\": {}}}]",
     "graph.states[0]: expected the key \"next\", which is missing"},
    {"\"states\": []",
     "\"states\": [{\"name\": \"s\", \"type\": \"f32[4,16]\", \"fill\": {\"normal\": {}}, \"next\": \"t\"}]",
     "graph.states[0].next: unknown value \"t\""},
    {"\"states\": []",
     "\"states\": [{\"name\": \"s\", \"type\": \"f32[4,16]\", \"fill\": {\"normal\": {}}, \"next\": \"m\"}]",
     "graph: s: expected a next value of type f32[4,16], got bool[16]"},
};

TEST(Json, EveryMistakeIsOneLineThatNamesThePlace) {
  for (const auto& edits : {std::span<const Edit>(kDocumentEdits), std::span<const Edit>(kSourceEdits),
                            std::span<const Edit>(kNodeEdits)}) {
    for (const Edit& edit : edits) {
      const std::string problem = edited(edit.what, edit.by);
      EXPECT_THAT(problem, StartsWith(edit.problem));
      EXPECT_EQ(problem.find('\n'), std::string::npos) << problem;
    }
  }
}

}  // namespace
}  // namespace fusesmith::graph
