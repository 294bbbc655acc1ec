// Special values: the reference allows one outcome for each, the one that the op's doc line names.
#include <gtest/gtest.h>

#include "graph/case.h"
#include "graph/op_tests/op_tests.h"
#include "oracle/evaluate.h"

namespace fusesmith::oracle {
namespace {

// The only value that may be stored for the element; 1e300, which no dtype has, if there are several.
double only_outcome(Dtype dtype, const RegionOutput& output, size_t i) {
  const double v = output.bounded->v[i], e = output.bounded->error(i);
  if (std::isnan(v)) return e == 0 ? v : 1e300;
  const Interval stored = stored_interval(dtype, output.computed, v, e);
  return stored.lo == stored.hi ? stored.lo : 1e300;
}

TEST(SpecialValues, HaveOneLawfulOutcome) {
  for (Dtype dtype : kFloatDtypes) {
    for (const op_tests::SpecialCase& one : op_tests::special_cases(dtype)) {
      SCOPED_TRACE(to_string(one.op) + " in " + std::string(name(dtype)));
      Case test_case;
      const auto graph = op_tests::special_graph(one, dtype);
      ASSERT_TRUE(graph.ok()) << graph.problem();
      test_case.graph = *graph;
      Trace trace;
      for (Tensor& tensor : make_inputs(test_case))
        trace.values.push_back(std::make_shared<const Tensor>(std::move(tensor)));
      const auto outputs = evaluate(*graph, make_region(*graph, {0}), trace, {});
      ASSERT_EQ(outputs.size(), one.want.size());
      for (size_t k = 0; k < outputs.size(); ++k) {
        const Dtype stored = graph->type(outputs[k].value).dtype;
        ASSERT_EQ(outputs[k].bounded->v.size(), one.want[k].size());
        for (size_t i = 0; i < one.want[k].size(); ++i) {
          const double want = round_to(stored, one.want[k][i]), got = only_outcome(stored, outputs[k], i);
          EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
              << "element " << i << " of output " << k << ": " << got << ", expected " << want;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fusesmith::oracle
