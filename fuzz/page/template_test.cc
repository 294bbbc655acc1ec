#include "fuzz/page/template.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::ordered_json;

TEST(Template, ValuesAreEscaped) {
  EXPECT_EQ(filled("<b title=\"{{a}}\">{{a}}</b>", {{"a", "\"<i>&'"}}),
            "<b title=\"&quot;&lt;i&gt;&amp;&#39;\">&quot;&lt;i&gt;&amp;&#39;</b>");
  EXPECT_EQ(filled("{{a}} {{b.c}}", {{"a", 1.5}, {"b", {{"c", 7}}}}), "1.5 7");
}

TEST(Template, SectionsAreRepeatedForLists) {
  const Json values = {{"list", {{{"x", 1}}, {{"x", 2}}}}, {"y", "z"}};
  EXPECT_EQ(filled("{{#list}}[{{x}}{{y}}]{{/list}}", values), "[1z][2z]");
  EXPECT_EQ(filled("{{#names}}{{.}},{{/names}}", {{"names", {"a", "<"}}}), "a,&lt;,");
}

TEST(Template, SectionsOfWhatIsEmptyAreLeftOut) {
  const Json values = {{"none", nullptr}, {"no", false}, {"zero", 0}, {"text", ""}, {"list", Json::array()}};
  for (const char* key : {"none", "no", "zero", "text", "list", "missing"}) {
    const std::string name = key;
    EXPECT_EQ(filled("{{#" + name + "}}{{deep}}{{#in}}x{{/in}}{{/" + name + "}}{{^" + name + "}}no{{/" +
                         name + "}}",
                     values),
              "no")
        << key;
  }
  EXPECT_EQ(filled("{{#a}}{{b}}{{/a}}{{^a}}no{{/a}}", {{"a", {{"b", "yes"}}}}), "yes");
}

TEST(TemplateDeathTest, MistakesAbort) {
  EXPECT_DEATH(filled("{{a}}", Json::object()), "no value for a key");
  EXPECT_DEATH(filled("{{#a}}x", {{"a", 1}}), "not closed");
  EXPECT_DEATH(filled("{{#a}}x{{/b}}", {{"a", 1}}), "another section");
}

}  // namespace
}  // namespace fusesmith::fuzz
