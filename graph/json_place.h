// Place: one value in a JSON document with its path ("graph.nodes[3].axis"), read strictly. The first problem
// met anywhere in the document is kept and starts with the path; after it, reading goes on harmlessly, so
// callers check once at the end.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/namespaces.h"
#include "graph/result.h"

namespace fusesmith::graph {

struct JsonKey {
  std::string_view name;
  bool required;
};

// "unknown op "sofmax" (did you mean "softmax"?), expected one of "softmax", ..."
std::string unknown_text(const std::string& what, std::string_view got,
                         std::span<const std::string_view> choices);

class Place {
 public:
  Place(nlohmann::json& value, std::optional<Problem>& problem) : value_(&value), problem_(&problem) {}

  bool ok() const { return !problem_->has_value(); }
  const std::string& path() const { return path_; }
  void fail(const std::string& what) const;           // "path: what"
  void fail_expected(const std::string& what) const;  // "path: expected what, got <the value, shortened>"
  // "path: " and unknown_text.
  void fail_unknown(const std::string& what, std::string_view got,
                    std::span<const std::string_view> choices) const;

  // Whether the value is an object with no other keys than these and all required ones.
  bool has_keys(std::span<const JsonKey> keys) const;
  // Whether the value is an object with exactly one key; which.
  std::optional<std::string> only_key() const;
  // The member, or nothing where the value is no object or has no such key; `required` makes that a problem.
  std::optional<Place> member(std::string_view key, bool required = false) const;
  // The member that has_keys has found.
  Place at(std::string_view key) const;
  // The members of an object, in order of their keys; none, with a problem, where it is none.
  std::vector<std::pair<std::string, Place>> members() const;
  // The elements of an array; none, with a problem, where it is not one or has more than `limit` elements.
  std::vector<Place> elements(size_t limit) const;

  void read(bool& value) const;
  void read(int64_t& value) const;
  void read(uint64_t& value) const;
  void read(double& value) const;                                    // also "inf" and "-inf"
  void read_finite(double& value, const std::string& wanted) const;  // `wanted` is what a problem asks for
  void read(std::string& value) const;
  // The index of the string among the choices; 0, with a problem that lists them, where it is none.
  size_t read_choice(const std::string& what, std::span<const std::string_view> choices) const;

 private:
  Place(nlohmann::json& value, std::optional<Problem>& problem, std::string path)
      : value_(&value), problem_(&problem), path_(std::move(path)) {}

  nlohmann::json* value_;
  std::optional<Problem>* problem_;
  std::string path_;
};

}  // namespace fusesmith::graph
