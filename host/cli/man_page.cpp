// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "host/cli/command_model.h"

namespace berth {
namespace {

/// Text as roff prints it unchanged: no escapes, no requests at the start of a line.
std::string roff(std::string_view text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped.push_back(c);
    }
    line_start = c == '\n';
  }
  return escaped;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::string options(const CommandModel& command) {
  std::string text;
  for (const OptionModel& option : command.options) {
    text += ".TP\n.B " + roff(option.usage()) + "\n" + roff(option.description) + "\n";
  }
  return text;
}

std::string details(const CommandModel& command) {
  std::string text;
  for (std::size_t from = 0; from < command.details.size();) {
    const std::size_t end = std::min(command.details.find('\n', from), command.details.size());
    text += ".PP\n" + roff(std::string_view(command.details).substr(from, end - from)) + "\n";
    from = end + 1;
  }
  return text;
}

std::string subcommand(const CommandModel& command) {
  std::string text = ".SS \"" + roff(command.synopsis()) + "\"\n" + roff(command.description) + "\n";
  text += options(command) + details(command);
  for (const CommandModel& child : command.commands) text += subcommand(child);
  return text;
}

}  // namespace

std::string man_page(const CommandModel& program, std::string_view version) {
  std::string text = ".TH " + upper(program.name) + " 1 \"\" \"" + roff(program.name) + " " + roff(version) + "\"\n";
  text += ".SH NAME\n" + roff(program.name) + " \\- " + roff(program.description) + "\n";
  text += ".SH SYNOPSIS\n.B " + roff(program.synopsis()) + "\n";
  text += ".SH OPTIONS\n" + options(program);
  text += ".SH COMMANDS\n";
  for (const CommandModel& command : program.commands) text += subcommand(command);
  return text + ".SH NOTES\n" + details(program);
}

}  // namespace berth
