// SPDX-License-Identifier: Apache-2.0
#include "host/cli/command_model.h"

#include <algorithm>

#include "host/report/paragraph.h"

namespace berth {
namespace {

constexpr int kOptionIndent = 2;
constexpr int kDescriptionIndent = 8;

std::string section(std::string_view title) { return std::string("\n").append(title).append(":\n"); }

std::string named_block(const std::string& name, const std::string& description, int columns) {
  return std::string(kOptionIndent, ' ') + name + "\n" + wrap(description, columns, kDescriptionIndent);
}

std::string commands_text(const CommandModel& command, int columns) {
  std::size_t longest = 0;
  for (const CommandModel& child : command.commands) longest = std::max(longest, child.name.size());
  std::string text;
  for (const CommandModel& child : command.commands) {
    const std::string padding(longest - child.name.size() + 2, ' ');
    text += wrap(child.name + padding + child.description, columns, kOptionIndent);
  }
  return text;
}

std::string options_text(const CommandModel& command, bool positional, int columns) {
  std::string text;
  for (const OptionModel& option : command.options) {
    if (option.positional == positional) text += named_block(option.usage(), option.description, columns);
  }
  return text;
}

}  // namespace

std::vector<std::string> OptionModel::choices() const {
  std::vector<std::string> words;
  if (value.find('|') == std::string::npos) return words;
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t bar = std::min(value.find('|', from), value.size());
    words.push_back(value.substr(from, bar - from));
    from = bar + 1;
  }
  return words;
}

std::string OptionModel::usage() const {
  if (positional) return long_name;
  std::string text = short_name;
  if (!long_name.empty()) text += (text.empty() ? "" : ", ") + long_name;
  return value.empty() ? text : text + " " + value;
}

std::string CommandModel::synopsis() const {
  std::string text = path;
  if (!commands.empty()) return text + " COMMAND [OPTIONS]";
  for (const OptionModel& option : options) {
    if (option.positional) text += " " + option.long_name;
  }
  return text + " [OPTIONS]";
}

std::string help_text(const CommandModel& command, int columns) {
  std::string text = wrap(command.description, columns, 0);
  text += "\nUsage: " + command.synopsis() + "\n";
  const std::string positionals = options_text(command, true, columns);
  if (!positionals.empty()) text += section("Arguments") + positionals;
  if (!command.commands.empty()) text += section("Commands") + commands_text(command, columns);
  text += section("Options") + options_text(command, false, columns);
  for (std::size_t from = 0; from < command.details.size();) {
    const std::size_t end = std::min(command.details.find('\n', from), command.details.size());
    text += "\n" + wrap(std::string_view(command.details).substr(from, end - from), columns, 0);
    from = end + 1;
  }
  return text;
}

}  // namespace berth
