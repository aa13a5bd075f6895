// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "host/cli/command_model.h"

namespace berth {
namespace {

std::string words_of(const CommandModel& command) {
  std::string words;
  const auto add = [&words](const std::string& word) {
    if (!word.empty()) words += (words.empty() ? "" : " ") + word;
  };
  for (const CommandModel& child : command.commands) add(child.name);
  for (const OptionModel& option : command.options) {
    if (option.positional) continue;
    add(option.long_name);
    add(option.short_name);
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string pattern(const OptionModel& option) {
  if (option.short_name.empty()) return option.long_name;
  return option.long_name.empty() ? option.short_name : option.short_name + "|" + option.long_name;
}

/// A word in single quotes, for all three shells.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// --- bash: one case over the words of the command so far, one inside over the option in front of the cursor.

std::string bash_cases(const CommandModel& command) {
  std::string text = "    " + shell_quoted(command.path) + ")\n      case \"$previous\" in\n";
  for (const OptionModel& option : command.options) {
    if (option.positional || option.value.empty()) continue;
    text += "        " + pattern(option) + ") ";
    const auto choices = option.choices();
    if (!choices.empty()) {
      text += "COMPREPLY=($(compgen -W " + shell_quoted(joined(choices)) + " -- \"$current\")); return";
    } else {
      text += option.takes_file() ? "COMPREPLY=($(compgen -f -- \"$current\")); return" : "return";
    }
    text += " ;;\n";
  }
  text += "      esac\n      COMPREPLY=($(compgen -W " + shell_quoted(words_of(command)) + " -- \"$current\"))\n";
  text += "      [[ $current != -* ]] && COMPREPLY+=($(compgen -f -- \"$current\"))\n      ;;\n";
  for (const CommandModel& child : command.commands) text += bash_cases(child);
  return text;
}

void collect_paths(const CommandModel& command, std::string& paths) {
  for (const CommandModel& child : command.commands) {
    paths += (paths.empty() ? "" : "|") + shell_quoted(child.path);
    collect_paths(child, paths);
  }
}

std::string bash_script(const CommandModel& program) {
  std::string paths;
  collect_paths(program, paths);
  std::string text = "# bash completion of " + program.name + "; written by `" + program.name + " completion bash`\n";
  text += "_" + program.name + "() {\n  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n";
  text += "  local command=" + program.name + " word\n";
  text += "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case \"$command $word\" in\n";
  text += "      " + paths + ") command=\"$command $word\" ;;\n    esac\n  done\n  case \"$command\" in\n";
  text += bash_cases(program);
  return text + "  esac\n}\ncomplete -o filenames -F _" + program.name + " " + program.name + "\n";
}

// --- zsh reads bash's function through its own compatibility layer: one truth for both.

std::string zsh_script(const CommandModel& program) {
  return "#compdef " + program.name + "\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(program);
}

// --- fish: one line per option, guarded by the command it belongs to.

std::string fish_condition(const CommandModel& command, bool top) {
  if (top) return "__fish_use_subcommand";
  return "__fish_seen_subcommand_from " + command.name;
}

std::string fish_option(const CommandModel& command, const OptionModel& option, const std::string& program, bool top) {
  std::string text = "complete -c " + program;
  if (!top) text += " -n " + shell_quoted(fish_condition(command, top));
  if (option.short_name.size() > 1) text += " -s " + option.short_name.substr(1);
  if (option.long_name.size() > 2) text += " -l " + option.long_name.substr(2);
  const auto choices = option.choices();
  if (!choices.empty()) text += " -x -a " + shell_quoted(joined(choices));
  if (choices.empty() && !option.value.empty()) text += option.takes_file() ? " -r -F" : " -x";
  return text + " -d " + shell_quoted(option.description) + "\n";
}

std::string fish_lines(const CommandModel& command, const std::string& program, bool top) {
  std::string text;
  for (const CommandModel& child : command.commands) {
    text += "complete -c " + program + " -n " + shell_quoted(fish_condition(command, top)) + " -f -a " + child.name +
            " -d " + shell_quoted(child.description) + "\n";
  }
  for (const OptionModel& option : command.options) {
    if (!option.positional) text += fish_option(command, option, program, top);
  }
  for (const CommandModel& child : command.commands) text += fish_lines(child, program, false);
  return text;
}

}  // namespace

std::string completion_script(const CommandModel& program, std::string_view shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  return "# fish completion of " + program.name + "\n" + fish_lines(program, program.name, true);
}

}  // namespace berth
