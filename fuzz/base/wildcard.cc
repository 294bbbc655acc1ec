#include "fuzz/base/wildcard.h"

#include <vector>

namespace fusesmith::fuzz {

namespace {

// `b_is_text`: the characters of b stand for themselves.
bool meet(std::string_view a, std::string_view b, bool b_is_text) {
  // here[j]: whether what is left of a from i on, and of b from j on, meet; after[j]: the same from i + 1 on.
  std::vector<char> here(b.size() + 1), after(b.size() + 1);
  for (size_t i = a.size() + 1; i-- > 0;) {
    for (size_t j = b.size() + 1; j-- > 0;) {
      const bool more_a = i < a.size(), more_b = j < b.size();
      const bool star_a = more_a && a[i] == '*', star_b = more_b && b[j] == '*' && !b_is_text;
      if (star_a || star_b) {
        here[j] = (more_a && (star_a || more_b) && after[j]) || (more_b && here[j + 1]);
      } else if (more_a && more_b) {
        const bool same = a[i] == b[j] || a[i] == '?' || (b[j] == '?' && !b_is_text);
        here[j] = same && after[j + 1];
      } else {
        here[j] = !more_a && !more_b;
      }
    }
    after = here;
  }
  return after[0] != 0;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) { return meet(pattern, text, true); }

bool overlap(std::string_view a, std::string_view b) { return meet(a, b, false); }

}  // namespace fusesmith::fuzz
