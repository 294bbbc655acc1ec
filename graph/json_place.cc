#include "graph/json_place.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "graph/json_strict.h"
#include "graph/nearest.h"

namespace fusesmith::graph {
namespace {

using nlohmann::json;

// What a message shows of a value: short ones whole, long ones by their kind.
std::string shown(const json& value) {
  if (value.is_string()) return '"' + shortened(value.get_ref<const std::string&>()) + '"';
  if (!value.is_structured()) return value.dump();
  const std::string kind = value.is_array() ? "an array" : "an object";
  return kind + " of " + std::to_string(value.size());
}

std::string quoted_list(std::span<const std::string_view> choices) {
  std::string text;
  for (std::string_view choice : choices) text += (text.empty() ? "\"" : ", \"") + std::string(choice) + '"';
  return text;
}

}  // namespace

std::string unknown_text(const std::string& what, std::string_view got,
                         std::span<const std::string_view> choices) {
  const std::string_view meant = nearest(got, choices);
  return "unknown " + what + " \"" + shortened(got) + "\"" +
         (meant.empty() ? "" : " (did you mean \"" + std::string(meant) + "\"?)") +
         (choices.size() <= 100 ? ", expected one of " + quoted_list(choices) : "");
}

void Place::fail(const std::string& what) const {
  if (ok()) *problem_ = Problem{(path_.empty() ? "top level" : path_) + ": " + shortened(what, 2000)};
}

void Place::fail_expected(const std::string& what) const {
  if (ok()) fail("expected " + what + ", got " + shown(*value_));
}

void Place::fail_unknown(const std::string& what, std::string_view got,
                         std::span<const std::string_view> choices) const {
  if (ok()) fail(unknown_text(what, got, choices));
}

bool Place::has_keys(std::span<const JsonKey> keys) const {
  if (!ok()) return false;
  if (!value_->is_object()) {
    fail_expected("an object");
    return false;
  }
  std::vector<std::string_view> names;
  for (const JsonKey& key : keys) names.push_back(key.name);
  for (const auto& item : value_->items()) {
    if (std::find(names.begin(), names.end(), item.key()) != names.end()) continue;
    fail_unknown("key", item.key(), names);
    return false;
  }
  for (const JsonKey& key : keys) {
    if (key.required) (void)member(key.name, true);
  }
  return ok();
}

std::optional<std::string> Place::only_key() const {
  if (!ok()) return std::nullopt;
  if (value_->is_object() && value_->size() == 1) return value_->begin().key();
  fail_expected("an object with exactly one key");
  return std::nullopt;
}

std::optional<Place> Place::member(std::string_view key, bool required) const {
  if (value_->is_object() && value_->contains(key)) return at(key);
  if (required && value_->is_object())
    fail("expected the key \"" + std::string(key) + "\", which is missing");
  else if (required)
    fail_expected("an object");
  return std::nullopt;
}

Place Place::at(std::string_view key) const {
  const auto found = value_->find(key);
  check(found != value_->end(), "Place::at: no such key");
  return {*found, *problem_, path_.empty() ? std::string(key) : path_ + "." + std::string(key)};
}

std::vector<std::pair<std::string, Place>> Place::members() const {
  std::vector<std::pair<std::string, Place>> members;
  if (!ok()) return members;
  if (!value_->is_object()) fail_expected("an object");
  if (!ok()) return members;
  for (const auto& item : value_->items()) members.emplace_back(item.key(), at(item.key()));
  return members;
}

std::vector<Place> Place::elements(size_t limit) const {
  std::vector<Place> places;
  if (!ok()) return places;
  if (!value_->is_array())
    fail_expected("an array");
  else if (value_->size() > limit)
    fail_expected("at most " + std::to_string(limit) + " elements");
  if (!ok()) return places;
  places.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i) {
    places.push_back(Place((*value_)[i], *problem_, path_ + "[" + std::to_string(i) + "]"));
  }
  return places;
}

void Place::read(bool& value) const {
  if (value_->is_boolean())
    value = value_->get<bool>();
  else
    fail_expected("true or false");
}

void Place::read(int64_t& value) const {
  const bool fits = !value_->is_number_unsigned() ||
                    value_->get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  if (value_->is_number_integer() && fits)
    value = value_->get<int64_t>();
  else
    fail_expected("an integer");
}

void Place::read(uint64_t& value) const {
  // "-0" is the integer 0, but not unsigned.
  if (value_->is_number_unsigned() || (value_->is_number_integer() && value_->get<int64_t>() >= 0))
    value = value_->get<uint64_t>();
  else
    fail_expected("an integer between 0 and 2^64 - 1");
}

void Place::read(double& value) const {
  if (value_->is_number())
    value = value_->get<double>();
  else if (*value_ == "inf")
    value = std::numeric_limits<double>::infinity();
  else if (*value_ == "-inf")
    value = -std::numeric_limits<double>::infinity();
  else
    fail_expected("a number, \"inf\" or \"-inf\"");
}

void Place::read_finite(double& value, const std::string& wanted) const {
  if (value_->is_number())
    value = value_->get<double>();
  else
    fail_expected(wanted);
}

void Place::read(std::string& value) const {
  if (value_->is_string())
    value = std::move(value_->get_ref<std::string&>());
  else
    fail_expected("a string");
}

size_t Place::read_choice(const std::string& what, std::span<const std::string_view> choices) const {
  if (!value_->is_string()) {
    fail_expected("one of the strings " + quoted_list(choices));
    return 0;
  }
  const auto& text = value_->get_ref<const std::string&>();
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found != choices.end()) return static_cast<size_t>(found - choices.begin());
  fail_unknown(what, text, choices);
  return 0;
}

}  // namespace fusesmith::graph
