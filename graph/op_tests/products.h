// For tests: products of two operands, and rope.
#pragma once

#include "graph/op_tests/op_test.h"

namespace fusesmith::graph::op_tests {

inline std::vector<OpCase> product_cases() {
  std::vector<OpCase> cases = {
      {Matmul{}, {f({3, 4}), f({4, 5})}},
      {Matmul{}, {f({1, 1}), f({1, 1})}},
      {Matmul{}, {f({1, 64}), f({64, 33})}},
      {Matmul{}, {f({33, 64}), f({64, 1})}},
      {Matmul{}, {f({2, 3, 17, 9}), f({2, 3, 9, 15})}},
      {Matmul{}, {f({2, 1, 17, 9}), f({3, 9, 15})}},
      {Matmul{}, {f({4, 17, 9}), f({9, 15})}},
      {Matmul{}, {f({17, 9}), f({4, 9, 15})}},
      {Matmul{true, false}, {f({4, 9, 17}), f({9, 15})}},
      {Matmul{false, true}, {f({4, 17, 9}), f({15, 9})}},
      {Matmul{true, true}, {f({2, 9, 17}), f({2, 15, 9})}},
      {Linear{}, {f({5}), f({3, 5})}},
      {Linear{}, {f({2, 7, 16}), f({32, 16}), f({32})}},
      {Linear{}, {f({1, 40}), f({1, 40}), f({1})}},
      {Rope{}, {f({2, 3, 5, 8}), f({5, 4}), f({5, 4})}},
      {Rope{Rope::Pairing::interleaved}, {f({2, 3, 5, 6}), f({2, 1, 5, 3}), f({3})}},
      {Rope{}, {f({2}), f({1}), f({1})}},
      {Rope{Rope::Pairing::half, 4}, {f({2, 3, 5, 7}), f({5, 2}), f({5, 2})}},
      {Rope{Rope::Pairing::interleaved, 2}, {f({3, 8}), f({1}), f({3, 1})}},
  };
  const auto einsum = [&](const char* equation, Shape a, Shape b) {
    cases.push_back({Einsum{equation}, {f(std::move(a)), f(std::move(b))}});
  };
  einsum("bid,bdh->bih", {3, 8, 10}, {3, 10, 12});
  einsum("bikd,bjkd->bijd", {2, 5, 6, 7}, {2, 4, 6, 7});
  einsum("bthd,bshd->bhts", {2, 9, 3, 8}, {2, 10, 3, 8});
  einsum("bhts,bshd->bthd", {2, 3, 9, 10}, {2, 10, 3, 8});
  einsum("abc,cbd->da", {9, 4, 5}, {5, 4, 11});
  einsum("ki,kj->ji", {16, 12}, {16, 10});
  einsum("ij,jk->ik", {1, 30}, {30, 1});
  einsum("ij,ij->ij", {4, 5}, {4, 5});
  einsum("ij,ij->i", {40, 50}, {40, 50});
  einsum("i,i->", {1000}, {1000});
  einsum("i,j->ij",
         {
             20,
         },
         {30});
  einsum(",->", {}, {});
  einsum(",ij->ji", {}, {3, 4});
  einsum("ii,ij->j", {6, 6}, {6, 20});
  einsum("ii,ij->ij", {6, 6}, {6, 20});
  einsum("iij,jk->ik", {9, 9, 10}, {10, 11});
  einsum("ij,k->k", {9, 10}, {11});  // letters summed over one operand alone
  einsum("aij,jkb->ik", {3, 9, 10}, {10, 11, 2});
  einsum("ab,cd->", {3, 4}, {5, 2});
  return cases;
}

// Small integers: no partial sum of products needs more than 24 bits.
inline std::vector<ExactCase> exact_products() {
  const Fill grid = Lattice{8, -1};
  return {{Einsum{"bid,bdh->bih"}, {{{2, 4, 16}, grid}, {{2, 16, 5}, grid}}},
          {Einsum{"ij,ij->j"}, {{{33, 4}, grid}, {{33, 4}, grid}}},
          {Matmul{}, {{{3, 40}, grid}, {{40, 5}, grid}}},
          {Matmul{false, true}, {{{2, 3, 8}, OneHot{5, 0.5}}, {{2, 4, 8}, Normal{}}}},
          {Linear{}, {{{4, 16}, grid}, {{5, 16}, grid}, {{5}, grid}}},
          {Rope{}, {{{2, 3, 8}, grid}, {{3, 4}, grid}, {{3, 4}, grid}}},
          {Rope{Rope::Pairing::interleaved}, {{{2, 3, 8}, grid}, {{3, 4}, grid}, {{4}, grid}}},
          {Rope{Rope::Pairing::half, 4}, {{{2, 3, 7}, grid}, {{3, 2}, grid}, {{2}, grid}}}};
}

// Rows (inf, 1), (nan, 1), (inf, -inf), (1, 2) times columns (0, 1) and (1, 1).
inline std::vector<SpecialCase> special_products(Dtype dtype) {
  [[maybe_unused]] const double max = max_finite(dtype), tiny = smallest_subnormal(dtype);
  const SpecialInput a{{4, 2}, {inf, 1, nan, 1, inf, -inf, 1, 2}}, b{{2, 2}, {0, 1, 1, 1}};
  const Row y = {nan, inf, nan, nan, nan, nan, 2, 3};
  return {{Matmul{}, {a, b}, {y}},
          {Einsum{"ij,jk->ik"}, {a, b}, {y}},
          {Linear{}, {a, b}, {y}},
          {Linear{}, {a, b, row({1, -inf})}, {{nan, nan, nan, nan, nan, nan, 3, -inf}}},
          {Rope{}, {row({inf, 1}), row({0}), row({1})}, {{nan, inf}}}};
}

inline Values eval(const Einsum& op, const Args& x, const Shape& shape) {
  const size_t comma = op.equation.find(','), arrow = op.equation.find("->");
  const std::string a = op.equation.substr(0, comma), b = op.equation.substr(comma + 1, arrow - comma - 1);
  const std::string out = op.equation.substr(arrow + 2);
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < a.size(); ++i) sizes[a[i]] = x[0].shape[i];
  for (size_t i = 0; i < b.size(); ++i) sizes[b[i]] = x[1].shape[i];
  Values y{shape, std::vector<double>(generate(shape, [](const Index&) { return 0; }).data)};
  Shape all;
  for (const auto& [letter, size] : sizes) all.push_back(size);
  for_each_index(all, [&](const Index& index) {
    std::map<char, int64_t> value;
    size_t i = 0;
    for (const auto& [letter, size] : sizes) value[letter] = index[i++];
    const auto pick = [&](const std::string& letters) {
      Index own;
      for (char c : letters) own.push_back(value[c]);
      return own;
    };
    y.data[y.offset(pick(out))] += x[0].at(pick(a)) * x[1].at(pick(b));
  });
  return y;
}

inline Values eval(const Matmul& op, const Args& x, const Shape& shape) {
  const size_t r = x[0].shape.size();
  const int64_t k = x[0].shape[op.transpose_a ? r - 2 : r - 1];
  return generate(shape, [&](const Index& index) {
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      Index a = index, b = index;
      const size_t last = index.size() - 1;
      a[last] = b[last - 1] = i;
      if (op.transpose_a) std::swap(a[last], a[last - 1]);
      if (op.transpose_b) std::swap(b[last], b[last - 1]);
      sum += x[0].broadcast_at(a) * x[1].broadcast_at(b);
    }
    return sum;
  });
}

inline Values eval(const Linear&, const Args& x, const Shape& shape) {
  return generate(shape, [&](const Index& index) {
    double sum = x.size() == 3 ? x[2].data[static_cast<size_t>(index.back())] : 0;
    for (int64_t i = 0; i < x[1].shape[1]; ++i) {
      Index a = index;
      a.back() = i;
      sum += x[0].at(a) * x[1].at({index.back(), i});
    }
    return sum;
  });
}

inline Values eval(const Rope& op, const Args& x, const Shape& shape) {
  const int64_t half = (op.rotary_dim > 0 ? op.rotary_dim : shape.back()) / 2;
  return generate(shape, [&](const Index& index) {
    Index other = index, angle = index;
    const int64_t at = index.back();
    if (at >= 2 * half) return x[0].at(index);
    const bool halves = op.pairing == Rope::Pairing::half;
    const bool second = halves ? at >= half : at % 2 == 1;
    angle.back() = halves ? at % half : at / 2;
    other.back() += (second ? -1 : 1) * (halves ? half : 1);
    const double c = x[1].broadcast_at(angle), s = x[2].broadcast_at(angle);
    return x[0].at(index) * c + (second ? 1 : -1) * x[0].at(other) * s;
  });
}

}  // namespace fusesmith::graph::op_tests
