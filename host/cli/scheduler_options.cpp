// SPDX-License-Identifier: Apache-2.0
#include "host/cli/scheduler_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "host/cli/scheduler_flags.h"
#include "host/config/config_reader.h"
#include "host/objects/errors.h"

namespace berth {
namespace {

constexpr std::string_view kCommand = "scheduler";

const SchedulerFlag* find_flag(std::string_view name) {
  const std::vector<SchedulerFlag>& flags = scheduler_flags();
  const auto found =
      std::find_if(flags.begin(), flags.end(), [name](const SchedulerFlag& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

/// @throws CLI::ValidationError
void take(const SchedulerFlag& flag, const std::vector<std::string>& values, SchedulerFlags& flags) {
  const std::string expected = flag.read(flags, values);
  if (!expected.empty())
    throw CLI::ValidationError("--" + flag.name,
                               fmt::format("got {}, expected {}", quoted_for_message(values.back()), expected));
  if (!flag.no_effect.empty())
    flags.without_effect.push_back(fmt::format("--{} has no effect: {}", flag.name, flag.no_effect));
}

/// The results are taken from the option itself: what the parser hands to a callback has gone through its vector
/// syntax.
void add_flag(CLI::App& app, const SchedulerFlag& flag, SchedulerFlags& flags) {
  const auto self = std::make_shared<CLI::Option*>(nullptr);
  CLI::Option* const option = app.add_option(
      flag.name == "v" ? "-v,--v" : "--" + flag.name,
      [self, &flag, &flags](const CLI::results_t&) {
        take(flag, (*self)->results(), flags);
        return true;
      },
      flag.help);
  *self = option;
  option->option_text(flag.value)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
}

/// "--leader_elect" -> "--leader-elect"
std::string with_dashes(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

/// The flag of an argument "--name", "--name=value", "-v" or "-v=2". null: none of the table.
struct NamedFlag {
  const SchedulerFlag* flag = nullptr;
  std::optional<std::string> value;
};

NamedFlag named_flag(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  std::string name = argument.substr(0, equals);
  NamedFlag found;
  if (equals != argument.npos) found.value = argument.substr(equals + 1);
  if (name == "-v") {
    found.flag = find_flag("v");
  } else if (name.starts_with("--")) {
    found.flag = find_flag(with_dashes(name.substr(2)));
  } else if (name.starts_with("-v") && name.size() > 2 && equals == argument.npos) {
    found.flag = find_flag("v");
    found.value = argument.substr(2);
  }
  return found;
}

void append_flags(const std::vector<std::string>& arguments, std::size_t from, std::vector<std::string>& out) {
  for (std::size_t i = from; i < arguments.size(); ++i) {
    if (arguments[i] == "--") {
      out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      return;
    }
    NamedFlag named = named_flag(arguments[i]);
    if (named.flag == nullptr) {
      out.push_back(arguments[i]);
      continue;
    }
    // As pflag: a truth value stands without one; any other flag takes the next argument, whatever it is.
    if (!named.value && named.flag->is_boolean) named.value = "true";
    if (!named.value && i + 1 < arguments.size()) named.value = arguments[++i];
    // The parser would take the argument behind "--name=" for the value.
    const bool has_text = named.value && !named.value->empty();
    out.push_back("--" + named.flag->name + (has_text ? "=" + *named.value : ""));
    if (named.value && !has_text) out.emplace_back();
  }
}

std::vector<std::string> deprecated_given(const SchedulerFlags& flags) {
  std::vector<std::string> names;
  const auto add = [&](bool is_given, const char* name) {
    if (is_given) names.emplace_back(name);
  };
  add(flags.profiling.has_value(), "--profiling");
  add(flags.contention_profiling.has_value(), "--contention-profiling");
  add(flags.kubeconfig.has_value(), "--kubeconfig");
  add(flags.content_type.has_value(), "--kube-api-content-type");
  add(flags.qps.has_value(), "--kube-api-qps");
  add(flags.burst.has_value(), "--kube-api-burst");
  return names;
}

void apply_deprecated(const SchedulerFlags& flags, SchedulerConfig& config) {
  ClientConnection& connection = config.client_connection;
  if (flags.profiling) config.enable_profiling = *flags.profiling;
  if (flags.contention_profiling) config.enable_contention_profiling = *flags.contention_profiling;
  if (flags.kubeconfig) connection.kubeconfig = *flags.kubeconfig;
  if (flags.content_type) connection.content_type = *flags.content_type;
  if (flags.qps && *flags.qps != 0) connection.qps = static_cast<float>(*flags.qps);
  if (flags.burst && *flags.burst != 0) connection.burst = static_cast<std::int32_t>(*flags.burst);
}

void apply_leader_election(const SchedulerFlags& flags, LeaderElection& election) {
  if (flags.leader_elect) election.leader_elect = *flags.leader_elect;
  if (flags.lease_duration_us) election.lease_duration_us = *flags.lease_duration_us;
  if (flags.renew_deadline_us) election.renew_deadline_us = *flags.renew_deadline_us;
  if (flags.retry_period_us) election.retry_period_us = *flags.retry_period_us;
  if (flags.resource_lock) election.resource_lock = *flags.resource_lock;
  if (flags.resource_name) election.resource_name = *flags.resource_name;
  if (flags.resource_namespace) election.resource_namespace = *flags.resource_namespace;
}

}  // namespace

const std::vector<SchedulerFlag>& scheduler_flags() {
  static const std::vector<SchedulerFlag> kFlags = [] {
    std::vector<SchedulerFlag> all = config_flags();
    for (auto part : {serving_flags(), access_flags(), log_and_metric_flags()})
      std::move(part.begin(), part.end(), std::back_inserter(all));
    return all;
  }();
  return kFlags;
}

std::vector<std::string> scheduler_flag_names() {
  std::vector<std::string> names;
  for (const SchedulerFlag& flag : scheduler_flags()) names.push_back(flag.name);
  return names;
}

void add_scheduler_options(CLI::App& app, SchedulerFlags& flags) {
  for (const SchedulerFlag& flag : scheduler_flags()) add_flag(app, flag, flags);
}

void apply(SchedulerFlags& flags, bool has_file, SchedulerConfig& config) {
  if (has_file) {
    for (const std::string& name : deprecated_given(flags))
      flags.without_effect.push_back(name + " has no effect: it is deprecated, and a configuration file was given");
  } else {
    apply_deprecated(flags, config);
  }
  apply_leader_election(flags, config.leader_election);
  std::vector<InputProblem> problems;
  for (const LeaderElectionProblem& problem : leader_election_problems(config.leader_election))
    problems.push_back(
        {"", "leaderElection." + std::string(problem.field), "expected " + std::string(problem.expected)});
  if (!problems.empty()) throw InputError(std::move(problems));
}

std::vector<std::string> scheduler_arguments(std::string_view program, const std::vector<std::string>& arguments) {
  const bool is_alias = program.substr(program.rfind('/') + 1) == "kube-scheduler";  // npos + 1 is 0
  if (!is_alias && (arguments.empty() || arguments.front() != kCommand)) return arguments;
  std::vector<std::string> out = {std::string(kCommand)};
  append_flags(arguments, is_alias ? 0 : 1, out);
  return out;
}

}  // namespace berth
