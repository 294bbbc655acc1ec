#include "fuzz/page/template.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "fuzz/base/escape.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

class Filling {
 public:
  Filling(std::string_view text, const Json& values) : rest_(text), context_{&values} {}

  std::string run() {
    std::string out;
    fill("", true, out);
    return out;
  }

 private:
  // Up to the end of the section, or of the text where `section` is empty. Not `shown`: only looks for it.
  void fill(std::string_view section, bool shown, std::string& out) {
    for (;;) {
      const size_t at = rest_.find("{{");
      check((at == std::string_view::npos) == section.empty() || at != std::string_view::npos,
            "template: a section is not closed");
      if (shown) out += rest_.substr(0, at);
      if (at == std::string_view::npos) return;
      const size_t end = rest_.find("}}", at);
      check(end != std::string_view::npos, "template: a tag is not closed");
      const std::string_view tag = rest_.substr(at + 2, end - at - 2);
      rest_.remove_prefix(end + 2);
      if (tag.starts_with('/')) {
        check(tag.substr(1) == section, "template: another section is closed");
        return;
      }
      if (tag.starts_with('#') || tag.starts_with('^'))
        repeat(tag.substr(1), tag[0] == '^', shown, out);
      else if (shown)
        out += text_of(value(tag));
    }
  }

  void repeat(std::string_view key, bool inverted, bool shown, std::string& out) {
    const std::string_view body = rest_;
    const Json* found = shown ? find(key) : nullptr;
    const bool any = found && !is_empty(*found);
    if (!shown || any == inverted) return fill(key, false, out);
    if (inverted || !found->is_array()) {
      context_.push_back(inverted ? context_.back() : found);
      fill(key, true, out);
      context_.pop_back();
      return;
    }
    for (const Json& element : *found) {
      rest_ = body;
      context_.push_back(&element);
      fill(key, true, out);
      context_.pop_back();
    }
  }

  static bool is_empty(const Json& value) {
    if (value.is_null() || value == false || value == 0) return true;
    if (value.is_string()) return value.get_ref<const std::string&>().empty();
    return (value.is_array() || value.is_object()) && value.empty();
  }

  static std::string text_of(const Json& value) {
    return html_escaped(value.is_string() ? value.get<std::string>() : value.dump());
  }

  const Json& value(std::string_view key) const {
    const Json* found = find(key);
    check(found != nullptr, "template: no value for a key");
    return *found;
  }

  // From the innermost element outwards.
  const Json* find(std::string_view key) const {
    if (key == ".") return context_.back();
    for (size_t i = context_.size(); i-- > 0;) {
      if (const Json* found = member(*context_[i], key)) return found;
    }
    return nullptr;
  }

  static const Json* member(const Json& object, std::string_view key) {
    const Json* found = &object;
    while (!key.empty()) {
      const size_t dot = std::min(key.find('.'), key.size());
      if (!found->is_object()) return nullptr;
      const auto next = found->find(std::string(key.substr(0, dot)));
      if (next == found->end()) return nullptr;
      found = &*next;
      key.remove_prefix(std::min(dot + 1, key.size()));
    }
    return found;
  }

  std::string_view rest_;
  std::vector<const Json*> context_;
};

}  // namespace

std::string filled(std::string_view text, const Json& values) { return Filling(text, values).run(); }

}  // namespace fusesmith::fuzz
