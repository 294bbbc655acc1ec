// The help text of a command, made from its flag table.
#include <algorithm>
#include <string>

#include "fuzz/base/flags.h"
#include "fuzz/base/output_width.h"

namespace fusesmith::fuzz {

namespace {

std::string flag_head(const Flag& flag) {
  std::string head = "--" + std::string(flag.name);
  if (!flag.value.empty()) head += "=" + std::string(flag.value);
  return head;
}

std::string flag_doc(const Flag& flag) {
  std::string doc(flag.doc);
  if (std::holds_alternative<bool*>(flag.target)) return doc;
  const std::string value =
      flag.default_text.empty() ? value_text(flag.target) : std::string(flag.default_text);
  return value.empty() ? doc : doc + " (default: " + value + ")";
}

}  // namespace

std::string help_text(const FlagTable& table, Offer offer) {
  std::vector<Flag> flags = table.flags;
  if (offer == Offer::this_build)
    std::erase_if(flags, [](const Flag& flag) { return !flag.missing.empty(); });
  std::string text =
      in_columns("fusesmith " + std::string(table.command) + ": " + std::string(table.doc), 0) + "\n\n";
  std::string call = "fusesmith " + std::string(table.command) + " [FLAGS]";
  if (table.positional.target) call += " " + std::string(table.positional.name);
  const std::string usage = "Usage: ";
  text += usage + in_columns(call, usage.size()) + "\n";
  if (!table.details.empty()) text += "\n" + in_columns(table.details, 0) + "\n";
  text += "\nFlags (--name=value or --name value):\n";
  size_t width = 0;
  for (const Flag& flag : flags) width = std::max(width, flag_head(flag).size());
  for (const Flag& flag : flags) {
    const std::string head = flag_head(flag);
    text += "  " + head + std::string(width - head.size() + 2, ' ') + in_columns(flag_doc(flag), width + 4) +
            "\n";
  }
  if (!table.examples.empty()) text += "\nExamples:\n";
  for (const Example& example : table.examples) {
    text += "  fusesmith " + std::string(example.command) + "\n      " + in_columns(example.what, 6) + "\n";
  }
  return text;
}

}  // namespace fusesmith::fuzz
