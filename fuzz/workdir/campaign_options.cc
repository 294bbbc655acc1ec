#include "fuzz/workdir/campaign_options.h"

#include <algorithm>
#include <charconv>

namespace fusesmith::fuzz {

Result<uint64_t> parse_shard(const std::string& text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const auto number = [&](size_t begin, size_t end, uint64_t& value) {
    const auto [at, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    return error == std::errc() && at == text.data() + end && begin < end;
  };
  uint64_t index = 0, count = 0;
  if (slash == text.size() || !number(0, slash, index) || !number(slash + 1, text.size(), count) ||
      index >= count) {
    return Problem{"--shard: expected I/N with 0 <= I < N, as in 0/4; got '" + text + "'"};
  }
  return index;
}

}  // namespace fusesmith::fuzz
