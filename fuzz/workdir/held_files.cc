#include "fuzz/workdir/held_files.h"

namespace fusesmith::fuzz {

std::optional<Problem> HeldFiles::write_now(const Held& held) const {
  const WorkPath folder = held.file.folder();
  if (kind_of(folder) == FileKind::none && is_there(root_)) {
    if (auto problem = make_folder(folder)) return problem;
  }
  return write_file(held.file, held.text);
}

Result<bool> HeldFiles::write(const WorkPath& file, std::string text) {
  const std::lock_guard guard(mutex_);
  Held held{file, std::move(text)};
  std::optional<Problem> problem = Problem{"files before it are not written yet"};
  if (held_.empty() && !(problem = write_now(held))) return true;
  if (bytes_ + held.text.size() > most_bytes_) {
    return Problem{problem->what + "; " + std::to_string(held_.size()) +
                   " files wait in memory, which is as much as is held"};
  }
  bytes_ += held.text.size();
  held_.push_back(std::move(held));
  return false;
}

std::optional<Problem> HeldFiles::retry() {
  const std::lock_guard guard(mutex_);
  while (!held_.empty()) {
    if (auto problem = write_now(held_.front())) return problem;
    bytes_ -= held_.front().text.size();
    held_.pop_front();
  }
  return {};
}

size_t HeldFiles::count() const {
  const std::lock_guard guard(mutex_);
  return held_.size();
}

}  // namespace fusesmith::fuzz
