// The orders of our own CPU kernels: revealed, bit for bit those of the kernels, and no higher than declared.
#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu_fused/cpu_fused_backend.h"
#include "fuzz/order/find_orders.h"
#include "fuzz/order/order_text.h"

namespace fusesmith::fuzz {
namespace {

BackendOrder found(const Backend& backend, const SumSpec& spec) {
  const auto graph = graph_of(spec);
  EXPECT_TRUE(graph.ok()) << graph.problem();
  return order_on(backend, spec, *graph, {}, {.products = 10, .most_terms = 1 << 16});
}

const SumTree& tree_of(const BackendOrder& order) { return order.parts.at(0).report.order.tree; }

void expect_declared(const BackendOrder& order, const SumSpec& spec) {
  EXPECT_TRUE(order.is_known()) << order.backend << ": " << to_string(spec) << ": " << order_text(order);
  EXPECT_GT(order.declared_height, 0);
  ASSERT_EQ(order.parts.size(), 1U);
  EXPECT_EQ(tree_of(order).term_count(), spec.k);
  EXPECT_LE(static_cast<double>(tree_of(order).height()), order.declared_height)
      << order.backend << ": " << to_string(spec) << ": " << to_string(tree_of(order));
}

TEST(OwnOrders, SumsOfCpu) {
  for (const Backend* backend : {&cpu_backend(), &cpu_fused_backend()}) {
    for (const int64_t k : {1, 2, 7, 8, 9, 64, 300}) {
      for (const int64_t n : {1, 5}) {
        for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
          const SumSpec spec{.op = "reduce_sum", .dtype = dtype, .m = 6, .n = n, .k = k};
          const BackendOrder order = found(*backend, spec);
          if (k == 1) continue;  // nothing is added
          expect_declared(order, spec);
        }
      }
    }
  }
}

TEST(OwnOrders, SumsAreEightLanes) {
  const BackendOrder order = found(cpu_backend(), {.op = "reduce_sum", .m = 6, .n = 1, .k = 64});
  EXPECT_EQ(to_string(tree_of(order)), "8 interleaved chains of 8 terms, added pairwise");
  EXPECT_EQ(tree_of(order).height(), 7 + 3);
}

// With a relu, cpu_fused uses its own GEMM.
TEST(OwnOrders, FusedProducts) {
  for (const int64_t k : {1, 5, 127, 128, 129, 300}) {
    for (const bool bias : {false, true}) {
      SumSpec spec{.op = "linear", .m = 9, .n = 21, .k = k, .bias = bias, .relu = true};
      if (k > 1) expect_declared(found(cpu_fused_backend(), spec), spec);
      spec.op = "matmul";
      spec.bias = false;
      spec.batch = 2;
      spec.transpose_b = bias;
      spec.dtype = bias ? Dtype::bf16 : Dtype::f16;
      if (k > 1) expect_declared(found(cpu_fused_backend(), spec), spec);
    }
  }
}

TEST(OwnOrders, FusedProductsAreBlocksOf128) {
  const BackendOrder order =
      found(cpu_fused_backend(), {.op = "linear", .m = 9, .n = 21, .k = 300, .relu = true});
  EXPECT_EQ(to_string(tree_of(order)),
            "2 chains of 128 terms and 1 chain of 44 terms, added one after the other");
}

// Eigen promises no order, and has one, or one for each of some parts of the result.
TEST(OwnOrders, ProductsOfEigen) {
  for (const auto& [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{9, 21, 300}, {1, 40, 64}, {33, 2, 40}, {3, 5, 7}}) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      const SumSpec spec{.dtype = dtype, .m = m, .n = n, .k = k};
      const BackendOrder order = found(cpu_backend(), spec);
      EXPECT_TRUE(order.is_known()) << to_string(spec) << order_text(order);
      EXPECT_EQ(order.declared_height, 0);
    }
  }
}

// The program multiplies the numbers that the codes are, in f32.
TEST(OwnOrders, ProductsOf8BitFloats) {
  for (const Backend* backend : {&cpu_backend(), &cpu_fused_backend()}) {
    for (const Dtype dtype : {Dtype::f8e4m3, Dtype::f8e5m2}) {
      for (const char* op : {"matmul", "linear"}) {
        const bool bias = op == std::string("linear") && dtype == Dtype::f8e4m3;
        const SumSpec spec{.op = op, .dtype = dtype, .m = 9, .n = 21, .k = 300, .bias = bias};
        const BackendOrder order = found(*backend, spec);
        EXPECT_TRUE(order.is_known()) << to_string(spec) << order_text(order);
      }
    }
  }
}

TEST(OwnOrders, Comparison) {
  const SumSpec spec{.op = "reduce_sum", .m = 4, .n = 1, .k = 40};
  const BackendOrder a = found(cpu_backend(), spec), b = found(cpu_fused_backend(), spec);
  EXPECT_EQ(difference_between(a, b), "");
  BackendOrder other = b;
  other.parts[0].report.order.tree.nodes.back().group = 7;
  EXPECT_EQ(difference_between(a, other), "the trees differ");
  other = b;
  other.parts[0].report.order.arithmetic.kind = NodeArithmetic::Kind::f64;
  EXPECT_EQ(difference_between(a, other), "the arithmetic of the operations differs");
  other.parts[0].results.flip();
  EXPECT_EQ(difference_between(a, other), "both have several orders, in other places");
  other.parts.push_back(b.parts[0]);
  EXPECT_EQ(difference_between(a, other), "one has other orders in other places");
  other.parts.clear();
  EXPECT_EQ(difference_between(a, other), "the order of cpu_fused is not known");
}

}  // namespace
}  // namespace fusesmith::fuzz
