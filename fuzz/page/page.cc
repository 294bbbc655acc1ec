#include "fuzz/page/page.h"

#include <nlohmann/json.hpp>

#include "fuzz/page/page_view.h"
#include "fuzz/page/parts.h"
#include "fuzz/page/template.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

namespace {

// Style and script stand in the template as they are: only what is filled in is escaped.
std::string with_part(std::string text, std::string_view mark, std::string_view part) {
  const size_t at = text.find(mark);
  check(at != std::string::npos, "page: the template lacks a mark");
  return text.replace(at, mark.size(), part);
}

}  // namespace

std::string page_html(const nlohmann::ordered_json& facts) {
  const std::string page = with_part(
      with_part(filled(kPageHtml, page_view(facts)), "/* page.css */", kPageCss), "/* page.js */", kPageJs);
  return page;
}

}  // namespace fusesmith::fuzz
