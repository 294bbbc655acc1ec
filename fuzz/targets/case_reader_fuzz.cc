// libFuzzer target: any bytes as a case file. The reader gives a problem or a case; what it accepts must read
// back the same.
#include <cstdint>
#include <string_view>

#include "graph/case.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fusesmith::fuzz;
  const auto read = parse_case({reinterpret_cast<const char*>(data), size});
  if (!read) {
    check(!read.problem().empty() && read.problem().find('\n') == std::string::npos, "a problem is one line");
    return 0;
  }
  const std::string text = to_json(*read);
  const auto again = parse_case(text);
  check(again.ok(), "a written case reads back");
  check(*again == *read && to_json(*again) == text, "a written case reads back the same");
  return 0;
}
