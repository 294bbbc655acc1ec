#include "graph/json_strict.h"

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace fusesmith::graph {
namespace {

using nlohmann::json;

std::string line_and_column(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return std::to_string(line) + ":" + std::to_string(column);
}

bool is_separator(char c) { return std::string_view(" \t\r\n,:[]{}\"").find(c) != std::string_view::npos; }

bool is_binary(char c) { return (c < ' ' || c > '~') && c != '\t' && c != '\r' && c != '\n'; }

// One pass before parsing. It bounds what the parser builds (it keeps every value, and copies each token it
// reads more than once), and says where a truncated file stops making sense.
class Limits {
 public:
  Limits(std::string_view text, int max_values, int max_keys = INT_MAX)
      : text_(text), max_values_(max_values), max_keys_(max_keys) {}

  std::optional<Problem> check() {
    if (text_.size() > kMaxJsonBytes) {
      return expected("at most " + std::to_string(kMaxJsonBytes >> 20) + " MiB of JSON", kMaxJsonBytes);
    }
    if (text_.substr(0, 3) == "\xef\xbb\xbf") return expected("JSON without a byte order mark", 0);
    if (text_.find_first_not_of(" \t\r\n") == std::string_view::npos)
      return expected("JSON, got nothing", text_.size());
    int values = 1;
    for (size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"') {
        const size_t start = i;
        i = end_of_string(i);
        if (i == text_.size()) return expected("a closing '\"' for the string that starts here", start);
      } else if (c == '[' || c == '{') {
        open_.push_back(i);
        keys_.push_back(1);
        if (open_.size() > kMaxJsonDepth)
          return expected("at most " + std::to_string(kMaxJsonDepth) + " levels of nesting", i);
      } else if ((c == ']' || c == '}') && !open_.empty()) {
        open_.pop_back();
        keys_.pop_back();
      } else if (c == ',' && !open_.empty() && text_[open_.back()] == '{' && ++keys_.back() > max_keys_) {
        return expected("at most " + std::to_string(max_keys_) + " keys in an object", i);
      }
      values += c == ',' || c == '[' || c == '{';
      if (values > max_values_) return expected("at most " + std::to_string(max_values_) + " values", i);
      if (is_binary(c)) return expected("JSON text, got a binary byte", i);
      if (word_too_long(i)) return expected("a number or word of at most 64 characters", i);
    }
    if (open_.empty()) return std::nullopt;
    return expected("a closing '" + std::string(text_[open_.back()] == '[' ? "]" : "}") +
                        "', got the end of the text; the one at " + line_and_column(text_, open_.back()) +
                        " is still open",
                    text_.size());
  }

 private:
  Problem expected(const std::string& what, size_t at) const {
    return Problem{line_and_column(text_, at) + ": expected " + what};
  }

  size_t end_of_string(size_t i) const {
    for (++i; i < text_.size() && text_[i] != '"'; ++i) {
      if (text_[i] == '\\') ++i;
    }
    return std::min(i, text_.size());
  }

  bool word_too_long(size_t i) {
    if (is_separator(text_[i]))
      word_ = 0;
    else
      ++word_;
    return word_ > 64;
  }

  std::string_view text_;
  int max_values_, max_keys_;
  std::vector<size_t> open_;  // where each object or array begins that is open
  std::vector<int> keys_;     // in each of these that is an object
  int word_ = 0;
};

// Builds the value from the parser's events; refuses a key that its object has already.
class TreeBuilder : public nlohmann::json_sax<json> {
 public:
  json take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }
  std::optional<size_t> error_position() const { return error_position_; }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string&) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(json::binary_t&) override { return false; }
  bool start_object(size_t) override { return open(json::object()); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (open_.back()->contains(name)) {
      problem_ = path() + ": expected every key once, got \"" + shortened(name) + "\" twice";
      return false;
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    error_position_ = position;
    problem_ = error.what();
    return false;
  }

 private:
  json* add(json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[key_] = std::move(value));
  }
  bool put(json value) { return add(std::move(value)) != nullptr; }
  bool open(json value) {
    open_.push_back(add(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  // Where the innermost open value stands: every open value is the last one added to its parent.
  std::string path() const {
    std::string text;
    for (size_t i = 1; i < open_.size(); ++i) {
      const json& parent = *open_[i - 1];
      if (parent.is_array()) {
        text += "[" + std::to_string(parent.size() - 1) + "]";
        continue;
      }
      const auto items = parent.items();
      const auto at = std::find_if(items.begin(), items.end(),
                                   [&](const auto& item) { return &item.value() == open_[i]; });
      text += (text.empty() ? "" : ".") + shortened(at.key());
    }
    if (text.size() > 2 * kPathEnd)
      text = text.substr(0, kPathEnd) + "..." + text.substr(text.size() - kPathEnd);
    return text.empty() ? "top level" : text;
  }

  static constexpr size_t kPathEnd = 200;  // characters of a path at either end, if it is long
  json root_;
  std::vector<json*> open_;
  std::string key_;
  std::string problem_;
  std::optional<size_t> error_position_;
};

// The parser says "[json.exception...] parse error at line 1, column 6: syntax error while parsing value -
// invalid literal; last read: '...'; expected ...": this is what it says without its head and without the
// token.
std::string reason(const std::string& what) {
  const size_t dash = what.find(" - ");
  if (dash == std::string::npos) return "a number that f64 can hold";  // the only other problem it reports
  std::string words = what.substr(dash + 3, what.find("; last read:", dash) - dash - 3);
  if (const size_t wanted = what.rfind("; expected ");
      wanted != std::string::npos && words.find("; ") == std::string::npos) {
    words += what.substr(wanted);
  }
  return "JSON: " + shortened(words);
}

Problem syntax_problem(std::string_view text, size_t at, const std::string& what) {
  size_t last = at == 0 ? 0 : std::min(at, text.size()) - 1;
  for (int i = 0; i < 64 && last > 0 && !is_separator(text[last]) && !is_separator(text[last - 1]); ++i)
    --last;
  const std::string near = shortened(text.substr(last, 24));
  const bool not_finite = near.find("NaN") == 0 || near.find('I') <= 1;
  return Problem{
      line_and_column(text, last) + ": expected " + reason(what) + ", near '" + near + "'" +
      (not_finite ? "; JSON has no NaN or infinity: write \"inf\" or \"-inf\" where they are allowed" : "")};
}

}  // namespace

Result<nlohmann::json> parse_strict_json(std::string_view text) {
  if (const auto problem = Limits(text, kMaxJsonValues).check()) return *problem;
  TreeBuilder builder;
  if (json::sax_parse(text.begin(), text.end(), &builder)) return builder.take();
  if (!builder.error_position()) return Problem{builder.problem()};
  return syntax_problem(text, *builder.error_position(), builder.problem());
}

nlohmann::ordered_json parse_record(std::string_view text) {
  if (Limits(text, kMaxRecordValues, kMaxRecordKeys).check()) return nullptr;
  auto record = nlohmann::ordered_json::parse(text, nullptr, false);
  return record.is_object() ? record : nlohmann::ordered_json(nullptr);
}

std::string json_quoted(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string shortened(std::string_view text, size_t max) {
  std::string result(text.substr(0, max));
  for (char& c : result) c = c < ' ' || c > '~' ? '?' : c;
  return text.size() > max ? result + "... (" + std::to_string(text.size()) + " characters)" : result;
}

}  // namespace fusesmith::graph
