// The trait `grid`: on which data an op is exact. A value is on a grid when its elements are multiples of
// 2^step of at most `largest` in magnitude, all of them numbers that its dtype holds exactly. An op is exact
// where its result is on a grid again, whatever the order of its roundings. Sufficient, not necessary: the
// generator makes exact cases from it (--data=lattice), and the judge proves exactness by itself. An op names
// a rule, or has a member function of the same signature; nothing means that it may round.
#pragma once

#include <optional>
#include <span>

#include "graph/tensor.h"

namespace fusesmith::graph {

struct Grid {
  int step = 0;
  double largest = 0;
  bool constant = false;  // every element is `largest`, or every one -largest
  bool operator==(const Grid&) const = default;
};

struct GridOperands {
  std::span<const Grid> in;
  double terms = 1;          // operations (graph/traits/work.h) for each element of the output
  Dtype dtype = Dtype::f32;  // of the output
};

namespace grid_rules {

using Found = std::optional<Grid>;

// Parts of rules.
int lowest_bit(double x);  // the exponent of the lowest bit of x, which is not 0
Grid around(double x);     // of the constant x
bool is_power_of_two(double x);
Grid joined(const Grid& a, const Grid& b);  // of elements of either
Grid sum_of(const Grid& a, const Grid& b);
Grid product_of(const Grid& a, const Grid& b);
Found total(const Grid& term, double terms);         // a sum of so many terms, in any order
bool saturates(const Grid& grid, double scale = 1);  // |scale x| is 0 or at least 128 for every element
Found scaled(const Grid& grid, double factor);

Found never(const GridOperands& x);  // or on rows of a certain kind alone, which their maker knows (softmax)
Found of_all_inputs(const GridOperands& x);
Found of_first_input(const GridOperands& x);
Found added(const GridOperands& x);
Found multiplied(const GridOperands& x);
Found sum_of_products(const GridOperands& x);  // plus input 2, if there is one
Found sum_of_terms(const GridOperands& x);
Found ramp(const GridOperands& x);  // x or 0, where the function has saturated

}  // namespace grid_rules

}  // namespace fusesmith::graph
