// Caches as decoding updates them, and the ones that must not be updated where they stand.
#include "backends/rewrite/cache_update/cache_update.h"
#include "backends/rewrite/matching/example_graph.h"

namespace fusesmith::backends {
namespace {

constexpr int64_t kAxis = 2;  // of caches [batch, heads, window, depth]

int64_t window(const ExampleDims& d) { return d.cols + 2; }

Shape cache_shape(const ExampleDims& d) { return {d.batch, d.heads, window(d), d.depth}; }

ValueId new_rows(ExampleGraph& g, const ExampleDims& d, int64_t count = 1) {
  return g.tensor("rows", {d.batch, d.heads, count, d.depth});
}

Graph done(ExampleGraph& g, ValueId cache, ValueId next) {
  g.next(cache, next);
  return g.outputs(next);
}

// The oldest rows go, new ones come behind the rest.
ValueId appended(ExampleGraph& g, ValueId cache, ValueId rows) {
  const int64_t size = g.shape(cache)[kAxis], count = g.shape(rows)[kAxis];
  return g.node(Concat{kAxis}, g.node(Slice{kAxis, count, size}, cache), rows);
}

ValueId rolled_and_overwritten(ExampleGraph& g, ValueId cache, ValueId rows, int64_t axis = kAxis) {
  const int64_t size = g.shape(cache)[kAxis], count = g.shape(rows)[kAxis];
  const ValueId last = g.node(Arange{count, size - count, 1});
  return g.node(IndexCopy{kAxis}, g.node(Roll{axis, -count}, cache), last, rows);
}

// Rows of a cache [window, depth], gathered by `order` of their numbers.
Graph gathered(Dtype t, const ExampleDims& d, const Op& order) {
  ExampleGraph g(t);
  const ValueId row = g.tensor("row", {1, d.depth}), cache = g.state("cache", {window(d), d.depth});
  const ValueId numbers = g.node(order, g.node(Arange{window(d)}));
  const ValueId last = g.node(Arange{1, window(d) - 1, 1});
  return done(g, cache, g.node(IndexCopy{0}, g.node(Gather{}, cache, numbers), last, row));
}

constexpr GraphRecipe kCacheUpdateExamples[] = {
    {"index_copy",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d, 2), cache = g.state("cache", cache_shape(d));
       return done(g, cache, g.node(IndexCopy{kAxis}, cache, g.node(Arange{2, d.cols / 2, 1}), rows));
     }},
    {"index_copy_at_token",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), at = g.tokens("at", {1}, window(d));
       const ValueId cache = g.state("cache", cache_shape(d));
       return done(g, cache, g.node(IndexCopy{kAxis}, cache, at, rows));
     }},
    {"cat",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), cache = g.state("cache", cache_shape(d));
       return done(g, cache, appended(g, cache, rows));
     }},
    {"cat_of_many",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d, (window(d) + 1) / 2), cache = g.state("cache", cache_shape(d));
       return done(g, cache, appended(g, cache, rows));
     }},
    {"cat_in_front",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), cache = g.state("cache", cache_shape(d));
       return done(g, cache, g.node(Concat{kAxis}, rows, g.node(Slice{kAxis, 0, window(d) - 1}, cache)));
     }},
    {"roll_and_overwrite",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), cache = g.state("cache", cache_shape(d));
       return done(g, cache, rolled_and_overwritten(g, cache, rows));
     }},
    {"roll_and_overwrite_at_token",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), at = g.tokens("at", {1}, window(d));
       const ValueId cache = g.state("cache", cache_shape(d));
       return done(g, cache, g.node(IndexCopy{kAxis}, g.node(Roll{kAxis, 1}, cache), at, rows));
     }},
    {"roll",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId cache = g.state("cache", cache_shape(d));
       return done(g, cache, g.node(Roll{-1, 1}, cache));
     }},
    {"gather_and_overwrite",
     [](Dtype t, const ExampleDims& d) {
       return gathered(t, d, Roll{0, -1});
     }},
    {"permuted_gather_and_overwrite",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), cache = g.state("cache", cache_shape(d));
       const ValueId shifted = g.node(Roll{0, -1}, g.node(Arange{window(d)}));
       const ValueId front = g.node(Gather{}, g.node(Permute{{2, 0, 1, 3}}, cache), shifted);
       const ValueId kept = g.node(Permute{{1, 2, 0, 3}}, front);
       const ValueId last = g.node(Arange{1, window(d) - 1, 1});
       return done(g, cache, g.node(IndexCopy{kAxis}, kept, last, rows));
     }},
};

// A product that reads the old cache [window, depth] and adds what the new one starts with.
Graph old_times_x_plus_new(Dtype t, const ExampleDims& d) {
  ExampleGraph g(t);
  const ValueId x = g.tensor("x", {d.rows, window(d)}), row = g.tensor("row", {1, d.depth});
  const ValueId cache = g.state("cache", {window(d), d.depth});
  const ValueId product = g.node(Matmul{}, x, cache);
  const ValueId next = g.node(Concat{0}, g.node(Slice{0, 1, window(d)}, cache), row);
  g.next(cache, next);
  return g.outputs(g.node(Add{}, product, g.node(Slice{0, 0, 1}, next)));
}

constexpr GraphRecipe kCacheUpdateNearMisses[] = {
    {"gathered_backwards", [](Dtype t, const ExampleDims& d) { return gathered(t, d, Flip{{0}}); }},
    {"rolled_along_another_axis",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), cache = g.state("cache", cache_shape(d));
       return done(g, cache, rolled_and_overwritten(g, cache, rows, 1));
     }},
    {"next_value_made_further_on",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), cache = g.state("cache", cache_shape(d));
       return done(g, cache, g.node(Relu{}, appended(g, cache, rows)));
     }},
    {"next_value_of_another_state",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d);
       const ValueId from = g.state("from", cache_shape(d)), cache = g.state("cache", cache_shape(d));
       g.next(from, cache);
       return done(g, cache, appended(g, from, rows));
     }},
    {"next_value_of_two_states",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d);
       const ValueId cache = g.state("cache", cache_shape(d)), twin = g.state("twin", cache_shape(d));
       const ValueId next = rolled_and_overwritten(g, cache, rows);
       g.next(twin, next);
       return done(g, cache, next);
     }},
    {"kept_rows_are_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), cache = g.state("cache", cache_shape(d));
       const ValueId kept = g.node(Slice{kAxis, 1, window(d)}, cache);
       const ValueId next = g.node(Concat{kAxis}, kept, rows);
       g.next(cache, next);
       return g.outputs(next, kept);
     }},
    {"old_value_goes_to_another_state",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d);
       const ValueId cache = g.state("cache", cache_shape(d)), before = g.state("before", cache_shape(d));
       g.next(before, cache);
       return done(g, cache, appended(g, cache, rows));
     }},
    {"rows_are_the_cache_itself",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId cache = g.state("cache", cache_shape(d));
       const ValueId backwards = g.node(Flip{{0}}, g.node(Arange{window(d)}));
       return done(g, cache, g.node(IndexCopy{kAxis}, cache, backwards, cache));
     }},
    {"old_and_new_added",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId rows = new_rows(g, d), cache = g.state("cache", cache_shape(d));
       const ValueId next = rolled_and_overwritten(g, cache, rows);
       g.next(cache, next);
       return g.outputs(g.node(Add{}, next, cache));
     }},
    {"old_in_a_product_that_adds_the_new", old_times_x_plus_new},
};

}  // namespace

std::span<const GraphRecipe> cache_update_examples() { return kCacheUpdateExamples; }
std::span<const GraphRecipe> cache_update_near_misses() { return kCacheUpdateNearMisses; }

}  // namespace fusesmith::backends
