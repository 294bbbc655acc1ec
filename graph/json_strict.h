// JSON text to a nlohmann::json value, strictly and within known bounds of time and memory, whatever the text
// is.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "graph/result.h"

namespace fusesmith::graph {

inline constexpr size_t kMaxJsonBytes = size_t{32} << 20;
inline constexpr int kMaxJsonDepth = 32;
inline constexpr int kMaxJsonValues = 1 << 18;

// Refuses, besides what is not JSON: more than the limits above, NaN and Infinity, a byte order mark, a key
// given twice in one object. Problems start with "line:column: ".
Result<nlohmann::json> parse_strict_json(std::string_view text);

// Of a file that fusesmith wrote and others may have changed: the object that the text is, or null where it
// is anything else or exceeds the limits above, with kMaxRecordValues values. An object has at most
// kMaxRecordKeys keys, because the time to look one up is proportional to their number.
inline constexpr int kMaxRecordValues = 1 << 21;
inline constexpr int kMaxRecordKeys = 1 << 9;
nlohmann::ordered_json parse_record(std::string_view text);

// A string as JSON, with its quotes; bytes that are not UTF-8 are replaced.
std::string json_quoted(std::string_view text);

// For messages: at most this many characters of the text, with anything unprintable replaced by '?'.
std::string shortened(std::string_view text, size_t max = 100);

}  // namespace fusesmith::graph
