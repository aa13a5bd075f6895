// SPDX-License-Identifier: Apache-2.0
#include "host/cli/command_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "host/cli/command_line.h"

namespace berth {
namespace {

void visit_options(const CommandModel& command,
                   const std::function<void(const CommandModel&, const OptionModel&)>& visit) {
  for (const OptionModel& option : command.options) visit(command, option);
  for (const CommandModel& child : command.commands) visit_options(child, visit);
}

TEST(OptionModel, DistinguishesChoicesFromOtherValues) {
  EXPECT_EQ((OptionModel{"-o", "--output", "table|json", "", false}.choices()),
            (std::vector<std::string>{"table", "json"}));
  EXPECT_TRUE((OptionModel{"", "--seed", "N", "", false}.choices().empty()));
}

TEST(ProgramModel, HasAllCommandsAndHidesThoseForPackagers) {
  std::vector<std::string> names;
  for (const CommandModel& command : program_model().commands) names.push_back(command.name);
  EXPECT_EQ(names, (std::vector<std::string>{"schedule", "scheduler", "simulate", "record", "replay", "diff", "explain",
                                             "config", "generate", "import", "bench", "perf", "version"}));
}

TEST(ProgramModel, DescribesEveryOption) {
  visit_options(program_model(), [](const CommandModel& command, const OptionModel& option) {
    EXPECT_FALSE(option.description.empty()) << command.path << " " << option.usage();
  });
}

TEST(HelpText, NamesEveryOptionOfTheCommand) {
  for (const CommandModel& command : program_model().commands) {
    const std::string help = help_text(command, 96);
    for (const OptionModel& option : command.options) EXPECT_NE(help.find(option.usage()), std::string::npos) << help;
  }
}

TEST(HelpText, StaysWithinTheColumnsExceptForCommandsToCopy) {
  const CommandModel program = program_model();
  for (const CommandModel& command : program.commands) {
    const std::string help = help_text(command, 96);
    for (std::size_t from = 0; from < help.size();) {
      const std::size_t end = help.find('\n', from);
      const std::string line = help.substr(from, end - from);
      EXPECT_TRUE(line.size() <= 96 || line.find("kubectl get ") != line.npos) << line;
      from = end + 1;
    }
  }
}

TEST(ManPage, NamesEveryOptionOfEveryCommand) {
  std::string page = man_page(program_model(), "1.2.3");
  page.erase(std::remove(page.begin(), page.end(), '\\'), page.end());
  visit_options(program_model(), [&](const CommandModel& command, const OptionModel& option) {
    EXPECT_NE(page.find(".B " + option.usage() + "\n"), std::string::npos) << command.path << " " << option.usage();
  });
  EXPECT_EQ(page.rfind(".TH BERTH 1", 0), 0u);
}

TEST(CompletionScript, OffersEveryOptionInEveryShell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(program_model(), shell);
    visit_options(program_model(), [&](const CommandModel& command, const OptionModel& option) {
      if (option.positional) return;
      EXPECT_NE(script.find(option.long_name.substr(2)), std::string::npos) << shell << " " << command.path;
    });
  }
}

}  // namespace
}  // namespace berth
