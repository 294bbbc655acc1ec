// The fixed parts of the page, fuzz/page/parts/page.*, which cmake/embed.cmake makes part of the program.
#pragma once

#include <string_view>

namespace fusesmith::fuzz {

extern const std::string_view kPageHtml;  // a template (fuzz/page/template.h)
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace fusesmith::fuzz
