// Result<T>: a value, or one line that says what is wrong and how to correct it. Expected outcomes are
// values; a broken invariant aborts through check().
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

#include "graph/namespaces.h"

namespace fusesmith::graph {

struct Problem {
  std::string what;  // one line
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Result(Problem problem) : state_(std::move(problem)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  T& operator*() { return std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  const std::string& problem() const { return std::get<Problem>(state_).what; }

 private:
  std::variant<T, Problem> state_;
};

// Aborts with the source location if an invariant of the program itself is broken (never for user input).
inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fusesmith: internal error: %s\n", what);
  std::abort();
}

}  // namespace fusesmith::graph
