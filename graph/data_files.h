// Data of inputs that is too large for a case file: files with the elements of one tensor each, row-major and
// little-endian without a header, named by their SHA-256, in a folder `data` beside the case or above it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/result.h"

namespace fusesmith::graph {

inline constexpr std::string_view kDataFolder = "data";
// Folders above that of the case where its data may be: findings/NAME/min.json uses the data of the case that
// it was minimized from.
inline constexpr int kFoldersAbove = 3;

// The bytes of one file, shared by all cases that use them.
struct DataBytes {
  std::shared_ptr<const std::byte> first = {};
  size_t size = 0;

  bool known() const { return first != nullptr; }
  std::span<const std::byte> span() const { return {first.get(), size}; }
};

// Where the data of a case is looked for: among what cases of this process use already, and in files.
class DataFiles {
 public:
  DataFiles() = default;  // no files
  // Beside the file of a case.
  static DataFiles beside(const std::filesystem::path& case_file);

  // Where the file is, or would be if it were beside the case.
  std::filesystem::path path(const std::string& sha256) const;
  // The problem is one line: there is no such file, it has another size, or other content than its name says.
  Result<DataBytes> find(const std::string& sha256, size_t size) const;

 private:
  static DataBytes in_use(const std::string& sha256);

  std::filesystem::path folder_;  // of the case; empty: no files
};

// Makes bytes that are in memory already known to the cases of this process, as long as the result lives. The
// caller says their SHA-256.
void share_data(const std::string& sha256, const DataBytes& bytes);

// 64 digits of lower-case hexadecimal.
bool is_sha256(std::string_view text);

}  // namespace fusesmith::graph
