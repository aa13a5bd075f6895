// SPDX-License-Identifier: Apache-2.0
#include "host/cli/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "batching/device/device_errors.h"
#include "host/cli/add_commands.h"
#include "host/cli/config_options.h"
#include "host/cli/help_notes.h"
#include "host/cli/messages.h"
#include "host/cli/parser_model.h"
#include "host/cli/scheduler_options.h"
#include "host/cli/version_command.h"
#include "host/config/config_reader.h"
#include "host/objects/errors.h"
#include "host/report/output.h"
#include "host/report/terminal.h"

namespace berth {
namespace {

void build(CommandLine& line) {
  line.app.name("berth");
  line.app.require_subcommand(1);
  line.app.set_help_flag("-h,--help", "Print this and exit");
  line.app.set_version_flag("--version", fmt::format("berth {}", program_version()), "Print the version and exit");
  line.app.formatter_fn([](const CLI::App* app, const std::string&, CLI::AppFormatMode) {
    return help_text(parser_model(*app), Terminal::of(STDOUT_FILENO).columns);
  });
  line.app.footer(program_notes());
  add_commands(line);
}

template <class Visit>
void for_each_command(CLI::App& app, const Visit& visit) {
  visit(app);
  for (CLI::App* child : app.get_subcommands([](CLI::App*) { return true; })) for_each_command(*child, visit);
}

/// The parser would take "--strict=banana" for a truth value.
/// @throws UsageError
void refuse_values_of_flags(CLI::App& app, const std::vector<std::string>& arguments) {
  std::set<std::string, std::less<>> flags;
  std::set<std::string, std::less<>> others;
  for_each_command(app, [&](CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
      const bool is_flag = option->get_items_expected_max() == 0;
      for (const std::string& name : option->get_lnames()) (is_flag ? flags : others).insert("--" + name);
    }
  });
  for (const std::string_view argument : arguments) {
    if (argument == "--") return;
    const std::size_t equals = argument.find('=');
    if (equals == argument.npos) continue;
    const std::string_view name = argument.substr(0, equals);
    if (!flags.contains(name) || others.contains(name)) continue;
    throw UsageError(fmt::format("{}: got the value {}, expected none: the option is given or not", name,
                                 quoted_for_message(argument.substr(equals + 1))));
  }
}

/// Where results go: "-" is standard output there.
bool is_output(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOutputs = {"output", "config-out", "feature-gates-out", "metrics-out",
                                                        "plot"};
  return std::find(kOutputs.begin(), kOutputs.end(), name) != kOutputs.end();
}

/// @throws UsageError when several options read standard input
void refuse_several_readers_of_standard_input(CLI::App& app) {
  std::string readers;
  int reader_count = 0;
  for_each_command(app, [&](CLI::App& command) {
    if (!command.parsed()) return;
    for (const CLI::Option* option : command.get_options()) {
      const std::string long_name = option->get_lnames().empty() ? "" : option->get_lnames().front();
      const std::vector<std::string>& values = option->results();
      if (is_output(long_name) || std::find(values.begin(), values.end(), "-") == values.end()) continue;
      readers += (reader_count++ == 0 ? "" : " and ") + (long_name.empty() ? "" : "--" + long_name + " ") + "-";
    }
  });
  if (reader_count > 1) throw UsageError(fmt::format("standard input can be read once: got {}", readers));
}

/// The command that the parser was in when it stopped: "berth config check".
std::string command_path(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app.get_name() : app.get_name() + " " + command_path(*chosen.front());
}

/// The message about arguments that the command does not take.
std::string describe_extras(const CLI::App& app) {
  std::string text;
  for (const std::string& extra : app.remaining(true)) {
    const bool is_option = extra.size() > 1 && extra.front() == '-';
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ",
                        is_option ? "there is no option" : "did not expect the argument", quoted_for_message(extra));
  }
  return text;
}

/// "--seed: 1 required  missing" of the parser, in words.
std::string describe(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::size_t colon = text.find(": ");
  const bool lacks_value = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.ends_with(" missing");
  return lacks_value && colon != std::string::npos ? text.substr(0, colon) + ": expected a value behind it" : text;
}

/// @throws OutputError when --help or --version could not be written
ExitCode end_parsing(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
    print_output(app.help());
    return ExitCode::kDone;
  }
  if (dynamic_cast<const CLI::CallForVersion*>(&error) != nullptr) {
    print_output(std::string(error.what()) + "\n");
    return ExitCode::kDone;
  }
  // A misspelt command is reported by the parser as a missing one.
  const bool may_be_extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                             dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::string extras = may_be_extras ? describe_extras(app) : "";
  print_message(extras.empty() ? describe(error) : extras);
  print_message(fmt::format("run {} --help for the commands and options", command_path(app)));
  return ExitCode::kUsage;
}

/// The arguments behind the program's name, last one first as the parser takes them. "--name=" becomes "--name" and an
/// empty text: the parser alone would take the next argument for the value.
std::vector<std::string> parser_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> list;
  bool options_end = false;
  for (std::string argument : arguments) {
    options_end = options_end || argument == "--";
    const bool is_empty_value = !options_end && argument.starts_with("--") && argument.find('=') == argument.size() - 1;
    if (is_empty_value) argument.pop_back();
    list.push_back(std::move(argument));
    if (is_empty_value) list.emplace_back();
  }
  std::reverse(list.begin(), list.end());
  return list;
}

void print_problems(const InputError& error) {
  for (const InputProblem& problem : error.problems()) print_message(problem.to_string());
}

/// Turns every failure into messages on standard error and an exit code.
ExitCode guarded(const std::function<ExitCode()>& action) {
  try {
    return action();
  } catch (const UsageError& error) {
    print_problems(error);
    return ExitCode::kUsage;
  } catch (const InputError& error) {
    print_problems(error);
  } catch (const DeviceError& error) {
    print_message(error.what());
    return ExitCode::kDevice;
  } catch (const std::bad_alloc&) {
    print_message("out of memory");
  } catch (const std::exception& error) {
    print_message(error.what());
  } catch (...) {
    print_message("internal error of an unknown type");
  }
  return ExitCode::kError;
}

}  // namespace

CommandModel program_model() {
  CommandLine line;
  build(line);
  return parser_model(line.app);
}

ExitCode run_program(int argument_count, const char* const* arguments) {
  CommandLine line;
  return guarded([&] {
    build(line);
    const std::vector<std::string> given =
        scheduler_arguments(argument_count > 0 ? arguments[0] : "berth",
                            {arguments + std::min(argument_count, 1), arguments + argument_count});
    refuse_values_of_flags(line.app, given);
    try {
      line.app.parse(parser_arguments(given));
    } catch (const CLI::ParseError& error) {
      return end_parsing(line.app, error);
    }
    refuse_several_readers_of_standard_input(line.app);
    return guarded(line.action);
  });
}

}  // namespace berth
