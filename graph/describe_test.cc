// The committed descriptions equal what the declarations say. FUSESMITH_UPDATE_GOLDEN=1 rewrites them.
#include "graph/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/case.h"

namespace fusesmith::graph {
namespace {

const std::string kDocs = std::string(FUSESMITH_SOURCE_DIR) + "/docs/";

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The file's text must be this; rewrites it instead where the environment asks for that.
void expect_file(const std::string& path, const std::string& want) {
  if (std::getenv("FUSESMITH_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << want;
  EXPECT_TRUE(contents(path) == want)
      << path
      << " differs from the declarations: run graph_test with FUSESMITH_UPDATE_GOLDEN=1 and commit it";
}

TEST(Describe, SchemaIsCommitted) { expect_file(kDocs + "case.schema.json", case_schema()); }

TEST(Describe, OpTableIsCommitted) { expect_file(kDocs + "ops.md", op_table_markdown()); }

TEST(Describe, VocabularyIsCommitted) {
  expect_file(std::string(FUSESMITH_SOURCE_DIR) + "/python/fusesmith/vocabulary.json", vocabulary_json());
}

TEST(Describe, FillTableIsCommitted) {
  const std::string begin = "<!-- fills: written by graph_test -->\n", end = "<!-- end of fills -->\n";
  const std::string text = contents(kDocs + "case.md");
  const size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to)
      << "docs/case.md has lost its marks";
  expect_file(kDocs + "case.md", text.substr(0, from) + begin + fill_table_markdown() + text.substr(to));
}

TEST(Describe, SchemaNamesEveryOpAndAttribute) {
  const auto schema = nlohmann::json::parse(case_schema());
  for_each_op([&]<class T>(std::type_identity<T>) {
    const auto& node = schema.at("$defs").at("op." + std::string(T::info.name));
    EXPECT_EQ(node.at("properties").at("op").at("const"), std::string(T::info.name));
    for_each_field<T>([&](const auto& field) {
      EXPECT_TRUE(node.at("properties").contains(std::string(field.name)))
          << T::info.name << "." << field.name;
      const auto& required = node.at("required");
      EXPECT_EQ(std::count(required.begin(), required.end(), std::string(field.name)), field.required)
          << T::info.name;
    });
  });
}

TEST(Describe, SchemaAllowsTheDtypesThatTheOpTakes) {
  const auto schema = nlohmann::json::parse(case_schema());
  const std::vector<TensorType> inputs = {{Dtype::f32, {2}}};
  for_each_op([&]<class T>(std::type_identity<T>) {
    for_each_field<T>([&](const auto& field) {
      T op;
      if constexpr (std::same_as<std::decay_t<decltype(op.*field.member)>, Dtype>) {
        const auto& properties = schema.at("$defs").at("op." + std::string(T::info.name)).at("properties");
        const auto& allowed = properties.at(std::string(field.name)).at("enum");
        for (const Dtype dtype : kDtypes) {
          op.*field.member = dtype;
          EXPECT_EQ(std::count(allowed.begin(), allowed.end(), std::string(name(dtype))) == 1,
                    infer(Op(op), inputs).ok())
              << T::info.name << " " << name(dtype);
        }
      }
    });
  });
}

TEST(Describe, OpsJsonListsEveryOp) {
  const auto ops = nlohmann::json::parse(ops_json());
  ASSERT_EQ(ops.size(), std::variant_size_v<OpVariant>);
  for (const auto& op : ops) EXPECT_TRUE(default_op(op.at("name").get<std::string>()));
  const auto gelu =
      std::find_if(ops.begin(), ops.end(), [](const auto& op) { return op.at("name") == "gelu"; });
  EXPECT_EQ(gelu->dump(), nlohmann::json::parse(R"({"name": "gelu", "class": "pointwise", "inputs": [1, 1],
    "doc": "0.5 x (1 + erf(x / sqrt(2))), or 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); gelu(-inf) is NaN (-inf times 0).",
    "attributes": [{"name": "form", "type": "choice", "choices": ["erf", "tanh"], "default": "erf",
                    "required": false}], "outputs": 1})")
                              .dump());
  const auto outputs_of = [&](const std::string& op) {
    return std::find_if(ops.begin(), ops.end(), [&](const auto& one) { return one.at("name") == op; })
        ->at("outputs");
  };
  EXPECT_EQ(std::find_if(ops.begin(), ops.end(), [](const auto& op) { return op.at("name") == "mish"; })
                ->at("spelling")
                .dump(),
            R"({"jax":"jax.nn.mish","onnx":"Mish","torch":"F.mish"})");
  EXPECT_EQ(outputs_of("var_mean"), 2);
  EXPECT_EQ(outputs_of("chunk"), "chunks");
  EXPECT_EQ(outputs_of("layer_norm_backward"), 3);
}

// Every example in docs/case.md, so that none goes stale.
TEST(Describe, ExamplesInTheDocumentationAreValid) {
  const std::string text = contents(kDocs + "case.md");
  int examples = 0;
  for (size_t from = 0; (from = text.find("```json\n", from)) != std::string::npos; ++examples) {
    from += 8;
    const auto test_case = parse_case(text.substr(from, text.find("```", from) - from));
    EXPECT_TRUE(test_case) << test_case.problem();
  }
  EXPECT_GE(examples, 1);
}

}  // namespace
}  // namespace fusesmith::graph
