// The `man` command: the manual page, from the flag tables.
#include <ostream>
#include <string>

#include "fuzz/cli/command.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kManName = "man";

struct ManFlags {
  FlagTable table();
};

FlagTable ManFlags::table() {
  FlagTable table;
  table.command = kManName;
  table.doc = "print the manual page, for man.";
  table.details =
      "Prints all commands and flags of this build in the language of manual pages.\n"
      "\n"
      "Exit codes: 0 the page is printed, 1 wrong usage.";
  table.examples = {{"man > fusesmith.1", "Save it where `man` finds it, or read it: man ./fusesmith.1"}};
  table.shows = true;
  return table;
}

// Text as it is: no line is a request, no hyphen a hyphenation.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

// Paragraphs, which details separate by empty lines.
std::string paragraphs(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    out += ".PP\n" + plain(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return out;
}

std::string flag_text(const Flag& flag) {
  std::string text = ".TP\n.B \\-\\-" + plain(flag.name);
  if (!flag.value.empty()) text += "=" + plain(flag.value);
  text += "\n" + plain(flag.doc);
  const std::string value =
      flag.default_text.empty() ? value_text(flag.target) : std::string(flag.default_text);
  if (!std::holds_alternative<bool*>(flag.target) && !value.empty())
    text += " (default: " + plain(value) + ")";
  return text + "\n";
}

std::string command_text(const FlagTable& table) {
  std::string text = ".SH FUSESMITH " + plain(table.command) + "\n.B fusesmith " + plain(table.command) +
                     "\n[FLAGS] " + plain(table.positional.name) + "\n.PP\n" + plain(table.doc) + "\n" +
                     paragraphs(table.details);
  for (const Flag& flag : table.flags) {
    if (flag.missing.empty()) text += flag_text(flag);
  }
  for (const Example& example : table.examples)
    text += ".TP\n.I fusesmith " + plain(example.command) + "\n" + plain(example.what) + "\n";
  return text;
}

// Exit code: 0, 1.
int run(ManFlags&, Console& console) {
  console.out << ".TH FUSESMITH 1 \"\" \"fusesmith " FUSESMITH_VERSION
                 "\" \"User Commands\"\n"
                 ".SH NAME\nfusesmith \\- fuzzes fused kernels and judges what they compute\n"
                 ".SH SYNOPSIS\n.B fusesmith\nCOMMAND [FLAGS] [ARGUMENTS]\n"
                 ".SH DESCRIPTION\n.nf\n"
              << plain(introduction()) << ".fi\n";
  for (const Command& command : all_commands()) {
    if (command.missing.empty())
      command.with_table([&](const FlagTable& table) { console.out << command_text(table); });
  }
  return kClean;
}

}  // namespace

Command man_command() { return command_of<ManFlags>(); }

}  // namespace fusesmith::fuzz
