#include "fuzz/base/table.h"

#include <gtest/gtest.h>

namespace fusesmith::fuzz {
namespace {

TEST(Table, CutsTheWidestColumnsOfTextUntilLinesFit) {
  Table table({"name", "count", "kind", "doc"});
  table.add({"softmax", "123456", "a kind", std::string(40, 'x')});
  table.add({"a_name_of_thirty_characters_ab", "7", "b", "short"});
  EXPECT_EQ(table.text(2, 64),
            "  name                             count  kind    doc\n"
            "  softmax                         123456  a kind  xxxxxxxxxxx...\n"
            "  a_name_of_thirty_characters_ab       7  b       short\n");
  EXPECT_NE(table.text().find(std::string(40, 'x')), std::string::npos) << "100 columns hold it";
  EXPECT_EQ(table.text(0, kAllColumns), table.text());
}

TEST(Table, DropsEmptyColumnsAndBreaksHeadingsFirst) {
  Table table({"region", "deviations", "worst/bound", "largest difference"});
  table.add({"norm", "", "0.5", "1e-07"});
  EXPECT_EQ(table.text(0, 30),
            "        worst/     largest\n"
            "region   bound  difference\n"
            "norm       0.5       1e-07\n");
  EXPECT_EQ(table.text(0),
            "region  deviations  worst/bound  largest difference\n"
            "norm                        0.5               1e-07\n");
}

TEST(Table, NeverCutsNamesNorNumbers) {
  Table table({"op", "times"});
  table.add({"layer_norm", std::string(40, '9')});
  EXPECT_EQ(table.text(0, 20),
            "op                                             times\n"
            "layer_norm  " +
                std::string(40, '9') + "\n");
}

}  // namespace
}  // namespace fusesmith::fuzz
