// Versions of libraries, and ranges of them, such as ">=1.20,<2".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/result.h"

namespace fusesmith::fuzz {

// "2.11.0", "2.12.0rc1", "2.11.0+cu130". What follows the numbers makes it a version before that release,
// except for "+..." and ".post...", which do not count.
struct ReleaseVersion {
  std::vector<int64_t> numbers;  // without zeros at the end
  bool before_release = false;
};
// Nothing where the text does not begin with a number.
std::optional<ReleaseVersion> parse_version(std::string_view text);

class VersionRange {
 public:
  // Conditions with commas between them, all of which must hold: >=, >, <=, <, == or != and a version.
  static Result<VersionRange> parse(const std::string& text);

  // False for a text that is no version.
  bool contains(std::string_view version) const;
  const std::string& text() const { return text_; }

 private:
  struct Condition {
    bool less, equal, greater;  // which results of comparing a version with `version` are allowed
    ReleaseVersion version;
  };
  std::string text_;
  std::vector<Condition> conditions_;
};

}  // namespace fusesmith::fuzz
