#include "graph/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "graph/op.h"

namespace fusesmith::graph {
namespace {

TEST(Nearest, OneEditOfAnyOpIsThatOp) {
  std::vector<std::string_view> ops;
  for_each_op([&]<class T>(std::type_identity<T>) { ops.push_back(T::info.name); });
  for (const std::string_view op : ops) {
    std::string swapped(op);
    std::swap(swapped[1], swapped[2]);
    for (const std::string& text : {std::string(op.substr(1)), std::string(op) + "s", swapped}) {
      const bool another = std::find(ops.begin(), ops.end(), text) != ops.end();  // rsqrt, sqrt
      const auto ends = [&](std::string_view other) { return other.size() > 1 && other.substr(1) == text; };
      const bool shared = std::count_if(ops.begin(), ops.end(), ends) > 1;  // gelu_backward, relu_backward
      if (text.size() <= 3 || another || shared) continue;
      EXPECT_EQ(nearest(text, ops), op) << text;
    }
  }
}

TEST(Nearest, WhatIsFarSuggestsNothing) {
  const std::string_view words[] = {"seed", "jobs", "baseline"};
  EXPECT_EQ(nearest("sead", words), "seed");
  for (const std::string& text : {std::string("frobnicate"), std::string(), std::string(1000, 's')})
    EXPECT_EQ(nearest(text, words), "") << text;
}

}  // namespace
}  // namespace fusesmith::graph
