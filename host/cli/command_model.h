// SPDX-License-Identifier: Apache-2.0
#pragma once

// The command line as data, read off the parser itself: --help, the man page and the completions are three views of it.

#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct OptionModel {
  std::string short_name;  ///< "-f"; empty when there is none, and for positionals
  std::string long_name;   ///< "--filename"; a positional's own name: "POD"
  std::string value;       ///< "FILE...", "N", "table|json"; empty for a flag
  std::string description;
  bool positional = false;

  /// The words a value is one of: "table|json" has two. Empty when any text may stand there.
  std::vector<std::string> choices() const;
  bool takes_file() const { return value.find("FILE") != std::string::npos; }
  /// "-f, --filename FILE..."
  std::string usage() const;
};

struct CommandModel {
  std::string name;  ///< "schedule"
  std::string path;  ///< as typed: "berth schedule"
  std::string description;
  std::string details;  ///< paragraphs for the end of the page, divided by line ends
  std::vector<OptionModel> options;
  std::vector<CommandModel> commands;

  /// "berth schedule [OPTIONS]"
  std::string synopsis() const;
};

std::string help_text(const CommandModel& command, int columns);

/// A roff page of section 1 with all subcommands.
std::string man_page(const CommandModel& program, std::string_view version);

/// @param shell  "bash", "zsh" or "fish"
std::string completion_script(const CommandModel& program, std::string_view shell);

}  // namespace berth
