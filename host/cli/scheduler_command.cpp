// SPDX-License-Identifier: Apache-2.0
#include "host/cli/scheduler_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/cli/config_options.h"
#include "host/cli/messages.h"
#include "host/cli/version_command.h"
#include "host/config/config_out.h"
#include "host/generate/generate.h"
#include "host/live/live_process.h"
#include "host/plugin_abi/loop_plugins.h"
#include "host/report/document_formats.h"
#include "host/report/output.h"

namespace berth {
namespace {

ConfigOptions config_options(const SchedulerCommand& command) {
  ConfigOptions options;
  options.config_path = command.flags.config_path;
  options.engine_config_path = command.engine_config_path;
  options.plugin_files = command.plugin_files;
  options.plugin_use = PluginUse::kLoop;
  options.offers_allow_unsupported = false;
  options.release = command.flags.release;
  options.feature_gates = command.flags.feature_gates;
  return options;
}

std::int64_t bind_timeout_us(const SchedulerConfig& config) {
  std::int64_t seconds = 0;
  for (const Profile& profile : config.profiles)
    seconds = std::max(seconds, profile.args.volume_binding.bind_timeout_seconds);
  return seconds * 1'000'000;
}

void write_configuration(const SchedulerConfig& config, const std::string& path) {
  std::string text;
  {
    Output output(text);
    write_config(config, ConfigSecrets::kWritten, *yaml_writer(output));
    output.flush();
  }
  write_text(text, path);
}

LiveProcessOptions process_options(SchedulerFlags&& flags, ScheduleOptions&& schedule) {
  LiveProcessOptions options;
  options.bind_timeout_us = bind_timeout_us(schedule.config);
  options.access.kubeconfig = schedule.config.client_connection.kubeconfig;
  options.access.master = flags.master;
  options.loop.config = std::move(schedule.config);
  options.loop.engine = std::move(schedule.engine);
  register_loop_plugins(options.loop.engine.host_plugins, options.loop.plugins);
  options.loop.has_api_server = true;
  options.serves = flags.server.port != 0;
  options.server = std::move(flags.server);
  options.authentication_kubeconfig = std::move(flags.authentication_kubeconfig);
  options.authentication = std::move(flags.authentication);
  options.authorization_kubeconfig = std::move(flags.authorization_kubeconfig);
  options.authorization = std::move(flags.authorization);
  options.loop.max_unschedulable_us = flags.pod_max_in_unschedulable_us;
  MetricFilter::AllowedLabels labels = std::move(flags.allowed_metric_labels);
  if (labels.empty() && !flags.allowed_metric_labels_path.empty())
    labels = load_allowed_labels(flags.allowed_metric_labels_path);
  options.metric_filter = MetricFilter(flags.disabled_metrics, labels);
  options.log_format = flags.log_format == "json" ? LogFormat::kJson : LogFormat::kText;
  options.verbosity = static_cast<int>(std::min<std::int64_t>(flags.verbosity, 100));
  options.build = {options.loop.config.gates.release(), std::string(program_version()), std::string(program_commit())};
  return options;
}

}  // namespace

ExitCode run(const SchedulerCommand& command) {
  SchedulerFlags flags = command.flags;
  if (flags.version) {
    const BuildInfo build{parse_release(flags.release.value_or(kReleaseDefault)), std::string(program_version()), {}};
    print_output(fmt::format("Kubernetes {}\n", git_version(build)));
    return ExitCode::kDone;
  }
  const ConfigOptions options = config_options(command);
  ScheduleOptions schedule = schedule_options(options, false);
  apply(flags, !flags.config_path.empty(), schedule.config);
  for (const std::string& sentence : flags.without_effect) print_warning(sentence);
  if (!flags.write_config_path.empty()) {
    write_configuration(schedule.config, flags.write_config_path);
    return ExitCode::kDone;
  }
  LiveProcessOptions process = process_options(std::move(flags), std::move(schedule));
  process.declared = declared_by_plugins(options);
  return static_cast<ExitCode>(run_live_process(std::move(process)));
}

}  // namespace berth
