// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace berth::test {
namespace {

const std::vector<std::string> kCommands = {"schedule", "simulate",     "explain", "config check",
                                            "generate", "import openb", "bench",   "version"};

std::set<std::string> options_in(const std::string& text) {
  static const std::regex kOption("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), kOption), std::sregex_token_iterator()};
}

std::string help_of(const std::string& command) {
  std::vector<std::string> arguments;
  for (std::size_t from = 0; from < command.size();) {
    const std::size_t end = std::min(command.find(' ', from), command.size());
    arguments.push_back(command.substr(from, end - from));
    from = end + 1;
  }
  arguments.push_back("--help");
  const ProgramRun run = run_berth(arguments);
  EXPECT_EQ(run.exit_code, 0) << command << run.err;
  return run.out;
}

/// The names that begin a block of options: lines of two blanks and a dash.
std::set<std::string> defined_options(const std::string& help) {
  std::set<std::string> names;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  -", 0) == 0) names.merge(options_in(line.substr(0, line.find(' ', line.find("--")))));
  }
  return names;
}

/// The rows of the table under "## berth COMMAND" in docs/cli.md.
std::set<std::string> documented_options(const std::string& page, const std::string& command) {
  const std::string title = "## berth " + command + "\n";
  const std::size_t begin = page.find(title);
  if (begin == std::string::npos) return {};
  std::istringstream lines(page.substr(begin, page.find("\n## ", begin) - begin));
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| `-", 0) == 0) names.merge(options_in(line.substr(0, line.find('|', 1))));
  }
  return names;
}

TEST(Help, ListsExactlyTheDocumentedOptions) {
  const std::string page = read_file("docs/cli.md");
  for (const std::string& command : kCommands) {
    std::set<std::string> defined = defined_options(help_of(command));
    defined.erase("--help");
    EXPECT_FALSE(defined.empty()) << command;
    EXPECT_EQ(defined, documented_options(page, command)) << command;
  }
}

TEST(Help, StatesTheLimitsOfTheInput) {
  const std::string help = std::regex_replace(help_of("schedule"), std::regex("\\s+"), " ");
  for (const char* limit : {"16 GiB", "64 MiB", "200 deep", "256 deep"}) {
    EXPECT_NE(help.find(limit), std::string::npos) << limit;
  }
}

TEST(Help, NamesTheExitCodes) {
  EXPECT_NE(run_berth({"--help"}).out.find("Exit codes: 0 done; 1 error; 2"), std::string::npos);
}

TEST(Usage, HasItsOwnExitCode) {
  EXPECT_EQ(run_berth({}).exit_code, 2);
  EXPECT_EQ(run_berth({"fly"}).exit_code, 2);
  EXPECT_EQ(run_berth({"schedule"}).exit_code, 2);
  EXPECT_EQ(run_berth({"schedule", "-f", "-", "--seed", "-1"}).exit_code, 2);
  EXPECT_EQ(run_berth({"schedule", "-f", "-", "--threads", "lots"}).exit_code, 2);
  EXPECT_EQ(run_berth({"schedule", "-f", "-", "-o", "xml"}).exit_code, 2);
  EXPECT_EQ(run_berth({"schedule", "-f", "-", "--emulate-version", "1.99"}).exit_code, 2);
  EXPECT_EQ(run_berth({"schedule", "-f", "-", "--feature-gates", "NoSuchGate=true"}).exit_code, 2);
}

TEST(Usage, ListsTheAcceptedValues) {
  const ProgramRun run = run_berth({"schedule", "-f", "-", "-o", "xml"});
  EXPECT_NE(run.err.find("--output: got \"xml\", expected table, wide, json, yaml, bindings or deletions"),
            std::string::npos)
      << run.err;
}

TEST(Version, PrintsBuildFactsAsTextAndJson) {
  EXPECT_NE(run_berth({"version"}).out.find("compiler"), std::string::npos);
  const nlohmann::json facts = nlohmann::json::parse(run_berth({"version", "-o", "json"}).out);
  EXPECT_FALSE(facts["version"].get<std::string>().empty());
  EXPECT_EQ(run_berth({"--version"}).out, "berth " + facts["version"].get<std::string>() + "\n");
}

TEST(ManPage, IsRoffAndCoversEveryCommand) {
  const std::string page = run_berth({"man"}).out;
  EXPECT_EQ(page.rfind(".TH BERTH 1", 0), 0u);
  for (const std::string& command : kCommands) EXPECT_NE(page.find("berth " + command), std::string::npos) << command;
}

TEST(Completion, SupportsThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const ProgramRun run = run_berth({"completion", shell});
    EXPECT_EQ(run.exit_code, 0) << shell;
    EXPECT_NE(run.out.find("node-sampling"), std::string::npos) << shell;
  }
  EXPECT_EQ(run_berth({"completion", "tcsh"}).exit_code, 2);
}

TEST(Completion, IsValidBash) {
  const std::string script = write_file("berth.bash", run_berth({"completion", "bash"}).out);
  EXPECT_EQ(std::system(("bash -n " + script).c_str()), 0);
  const std::string probe = "bash -c 'source " + script +
                            "; COMP_WORDS=(berth schedule --tie-break f); COMP_CWORD=3; _berth; "
                            "[ \"${COMPREPLY[*]}\" = first ]'";
  EXPECT_EQ(std::system(probe.c_str()), 0);
}

}  // namespace
}  // namespace berth::test
