// The `completion` command: what a shell needs to complete commands, flags and their choices, from the flag
// tables.
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/cli/command.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kCompletionName = "completion";

struct CompletionFlags {
  std::vector<std::string> shells;

  FlagTable table();
};

FlagTable CompletionFlags::table() {
  FlagTable table;
  table.command = kCompletionName;
  table.doc = "print the completion of a shell.";
  table.details =
      "Prints a script that completes commands, flags, choices and file names. bash: evaluate it, or save it "
      "as ~/.local/share/bash-completion/completions/fusesmith. zsh: save it as _fusesmith in a folder of "
      "$fpath.\n"
      "\n"
      "Exit codes: 0 the script is printed, 1 wrong usage.";
  table.positional = {"bash|zsh", &shells, 1, 1};
  table.examples = {{"completion bash", "For bash: eval \"$(fusesmith completion bash)\""}};
  table.shows = true;
  return table;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// "--seed=" and "--json", of what this build offers.
std::vector<std::string> flag_words(const FlagTable& table) {
  std::vector<std::string> words = {"--help", "--color="};
  for (const Flag& flag : table.flags) {
    if (!flag.missing.empty()) continue;
    const bool is_switch = std::holds_alternative<bool*>(flag.target);
    words.push_back("--" + std::string(flag.name) + (is_switch ? "" : "="));
  }
  return words;
}

std::vector<std::string> choice_words(const Flag& flag) {
  std::vector<std::string> words = flag.choices;
  words.insert(words.end(), flag.prefixes.begin(), flag.prefixes.end());
  return words;
}

// "ops" and "faults" of "ops|faults [WORKDIR...]": what the first argument without a flag may be; empty where
// it is a file or a name.
std::string first_words(std::string_view positional) {
  std::string words(positional.substr(0, positional.find(' ')));
  const bool are_words =
      std::all_of(words.begin(), words.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '|'; });
  std::replace(words.begin(), words.end(), '|', ' ');
  return are_words ? words : "";
}

// The names of commands; for each its flags, and for each flag with choices these.
std::string tables() {
  std::vector<std::string> names = {"help", "version"};
  std::string flags, firsts, choices;
  for (const Command& command : all_commands()) {
    if (!command.missing.empty()) continue;
    const std::string name(command.name);
    names.push_back(name);
    command.with_table([&](const FlagTable& table) {
      flags += "    " + name + ") found='" + joined(flag_words(table)) + "' ;;\n";
      if (const std::string words = first_words(table.positional.name); !words.empty())
        firsts += "    " + name + ") found='" + words + "' ;;\n";
      for (const Flag& flag : table.flags) {
        const std::string words = joined(choice_words(flag));
        if (words.empty() || !flag.missing.empty()) continue;
        choices += "    " + name + ":--" + std::string(flag.name) + ") found='" + words + "' ;;\n";
      }
    });
  }
  return "_fusesmith_commands='" + joined(names) +
         "'\n\n"
         "# Sets `found` to the flags of the command $1.\n"
         "_fusesmith_flags() {\n"
         "  found=\n"
         "  case $1 in\n" +
         flags +
         "  esac\n"
         "}\n\n"
         "# Sets `found` to what the first argument of the command $1 may be; to nothing if it is a file.\n"
         "_fusesmith_first() {\n"
         "  found=\n"
         "  case $1 in\n"
         "    help) found=$_fusesmith_commands ;;\n" +
         firsts +
         "  esac\n"
         "}\n\n"
         "# Sets `found` to the choices of the flag $2 of the command $1; to nothing if it has none.\n"
         "_fusesmith_choices() {\n"
         "  found=\n"
         "  case $1:$2 in\n"
         "    *:--color) found='auto always never' ;;\n" +
         choices +
         "  esac\n"
         "}\n\n";
}

// bash splits "--flag=value" at the "=".
constexpr std::string_view kBash = R"(_fusesmith() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} found flag=
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$_fusesmith_commands" -- "$word")
    return
  fi
  if [[ $word == = ]]; then
    flag=$before word=
  elif [[ $before == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ -n $flag ]]; then
    _fusesmith_choices "$command" "$flag"
    if [[ -n $found ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$found" -- "${word##*,}")
      return
    fi
  elif [[ $word == -* ]]; then
    _fusesmith_flags "$command"
    mapfile -t COMPREPLY < <(compgen -W "$found" -- "$word")
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
    return
  elif [[ $COMP_CWORD -eq 2 ]]; then
    _fusesmith_first "$command"
    if [[ -n $found ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$found" -- "$word")
      return
    fi
  fi
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
  compopt -o filenames
}
complete -F _fusesmith fusesmith
)";

constexpr std::string_view kZsh = R"(_fusesmith() {
  local found command=${words[2]} current=${words[CURRENT]} flag
  local -a names
  if (( CURRENT == 2 )); then
    names=(${=_fusesmith_commands})
    compadd -a names
    return
  fi
  if [[ $current == --*=* ]]; then
    flag=${current%%=*}
    _fusesmith_choices "$command" "$flag"
    if [[ -n $found ]]; then
      names=(${=found})
      compset -P '*[=,]'
      compadd -a names
      return
    fi
    compset -P '*='
    _files
  elif [[ $current == -* ]]; then
    _fusesmith_flags "$command"
    names=(${=found})
    compadd -S '' -a names
  else
    found=
    (( CURRENT == 3 )) && _fusesmith_first "$command"
    names=(${=found})
    if (( ${#names} )); then compadd -a names; else _files; fi
  fi
}
# The first call, by zsh's autoloading, runs this file; `source` only registers the function.
if [[ ${funcstack[1]} == _fusesmith ]]; then
  _fusesmith "$@"
else
  compdef _fusesmith fusesmith
fi
)";

// Exit code: 0, 1.
int run(CompletionFlags& flags, Console& console) {
  const std::string& shell = flags.shells[0];
  if (shell != "bash" && shell != "zsh")
    return fail(console, kCompletionName, "no completion for '" + shell + "'; expected bash or zsh");
  console.out << (shell == "zsh" ? "#compdef fusesmith\n" : "") << tables()
              << (shell == "zsh" ? kZsh : kBash);
  return kClean;
}

}  // namespace

Command completion_command() { return command_of<CompletionFlags>(); }

}  // namespace fusesmith::fuzz
