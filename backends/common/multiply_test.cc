#include "backends/common/multiply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/common/run_node.h"
#include "graph/philox.h"

namespace fusesmith::backends {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor tensor(Shape shape, std::vector<float> values) {
  return from_f32(values, {Dtype::f32, std::move(shape)});
}

std::vector<float> run_product(const Op& op, const Tensor& a, const Tensor& b) {
  const Types types = {a.type, b.type};
  const Tensor* inputs[] = {&a, &b};
  return to_f32(run_node(op, inputs, *infer(op, types)).front());
}

Product plain(int64_t m, int64_t n, int64_t k) {
  Product product;
  product.m.add(m, k, 0, n);
  product.n.add(n, 0, 1, 1);
  product.k.add(k, 1, n, 0);
  return product;
}

float* at_offset(std::vector<float>& buffer, size_t offset) { return buffer.data() + offset; }

// Repeated runs put tensors at other addresses; their bits must not follow.
TEST(Multiply, BitsDoNotDependOnAlignment) {
  for (const auto& [m, n, k] : {std::array{1, 1, 700},
                                {1, 33, 50},
                                {33, 1, 50},
                                {2, 3, 90},
                                {3, 5, 7},
                                {8, 8, 8},
                                {17, 19, 23},
                                {64, 48, 300}}) {
    const size_t a_size = static_cast<size_t>(m * k), b_size = static_cast<size_t>(k * n),
                 out_size = static_cast<size_t>(m * n);
    std::vector<float> want;
    for (size_t shift = 0; shift < 8; ++shift) {
      std::vector<float> a(a_size + 8), b(b_size + 8), out(out_size + 8);
      for (size_t i = 0; i < a_size; ++i) at_offset(a, shift)[i] = std::sin(static_cast<float>(i) + 1);
      for (size_t i = 0; i < b_size; ++i) at_offset(b, 7 - shift)[i] = std::cos(static_cast<float>(i) * 3);
      multiply(plain(m, n, k), at_offset(a, shift), at_offset(b, 7 - shift), at_offset(out, (3 * shift) % 8));
      const float* got = at_offset(out, (3 * shift) % 8);
      if (shift == 0) want.assign(got, got + out_size);
      EXPECT_EQ(std::memcmp(got, want.data(), out_size * sizeof(float)), 0)
          << m << " x " << n << " x " << k << ", shift " << shift;
    }
  }
}

// Products of small integers have one right answer in any order.
TEST(Multiply, IntegersAreExactInEveryLayout) {
  const int64_t batch = 3, m = 14, n = 11, k = 37;
  for (int layout = 0; layout < 32; ++layout) {
    const auto bit = [&](int i) { return (layout >> i & 1) != 0; };
    const bool shared = bit(3), padded = bit(4);
    const int64_t pad =
        padded ? 2 : 1;  // every stride doubled: no unit stride anywhere, so operands are packed
    Product p;
    p.batch.add(batch, m * k * pad, shared ? 0 : n * k * pad, m * n);
    p.m.add(m, (bit(0) ? 1 : k) * pad, 0, bit(2) ? 1 : n);
    p.n.add(n, 0, (bit(1) ? k : 1) * pad, bit(2) ? m : 1);
    p.k.add(k, (bit(0) ? m : 1) * pad, (bit(1) ? 1 : n) * pad, 0);
    std::vector<float> a(static_cast<size_t>(batch * m * k * pad)),
        b(static_cast<size_t>(batch * n * k * pad));
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(philox(1, 0, i)[0] % 17) - 8;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(philox(2, 0, i)[0] % 17) - 8;
    std::vector<float> out(static_cast<size_t>(batch * m * n), -1);
    multiply(p, a.data(), b.data(), out.data());
    for (int64_t g = 0; g < batch; ++g) {
      for (int64_t i = 0; i < m * n; ++i) {
        const int64_t row = i / n, col = i % n;
        float want = 0;
        for (int64_t l = 0; l < k; ++l) {
          want += a[static_cast<size_t>(g * p.batch.a[0] + row * p.m.a[0] + l * p.k.a[0])] *
                  b[static_cast<size_t>(g * p.batch.b[0] + col * p.n.b[0] + l * p.k.b[0])];
        }
        ASSERT_EQ(out[static_cast<size_t>(g * m * n + row * p.m.out[0] + col * p.n.out[0])], want)
            << "layout " << layout;
      }
    }
  }
}

// Terms are finite although the sum of a alone is not.
TEST(Multiply, AxesOfOneOperandAreNotSummedFirst) {
  const std::vector<float> y =
      run_product(Einsum{"ij,k->k"}, tensor({1, 4}, {3e38f, 3e38f, 3e38f, 3e38f}), tensor({2}, {1e-10f, 0}));
  EXPECT_NEAR(y[0], 1.2e29, 1e23);
  EXPECT_EQ(y[1], 0);
}

// A NaN or an infinity reaches its own row and column, and no other element.
TEST(Multiply, SpecialValuesStayInTheirRow) {
  for (int64_t size : {3, 24}) {
    const size_t n = static_cast<size_t>(size);
    std::vector<float> a(n * n, 1.0f), b(n * n, 1.0f);
    a[0 * n + 1] = kInf;
    a[1 * n + 1] = std::nanf("");
    a[2 * n + 1] = -kInf;
    b[1 * n + 0] = 0;
    const std::vector<float> y = run_product(Matmul{}, tensor({size, size}, a), tensor({size, size}, b));
    EXPECT_TRUE(std::isnan(y[0]));  // inf * 0
    EXPECT_EQ(y[1], kInf);
    EXPECT_TRUE(std::isnan(y[n + 2]));
    EXPECT_EQ(y[2 * n + 1], -kInf);
    for (size_t i = 3 * n; i < n * n; ++i) EXPECT_EQ(y[i], static_cast<float>(n) - (i % n == 0 ? 1 : 0));
  }
}

}  // namespace
}  // namespace fusesmith::backends
