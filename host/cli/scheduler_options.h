// SPDX-License-Identifier: Apache-2.0
#pragma once

// The command line of kube-scheduler v1.35, for `berth scheduler`: docs/scheduler/serving.md has the table of flags.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/serving/authentication.h"
#include "host/serving/authorization.h"
#include "host/serving/https_server.h"

namespace berth {

/// What stands on the command line. Absent: the flag was not given.
struct SchedulerFlags {
  std::string config_path;
  std::string write_config_path;  ///< write the completed configuration there and exit
  std::string master;             ///< URL of the API server, before that of the kubeconfig

  ServerOptions server;  ///< port 0: nothing is served
  bool shares_address = false;

  std::string authentication_kubeconfig;
  AuthenticationOptions authentication;  ///< its client is whose kubeconfig that is
  std::string authorization_kubeconfig;
  AuthorizationOptions authorization;

  // Deprecated: only without a configuration file.
  std::optional<bool> profiling;
  std::optional<bool> contention_profiling;
  std::optional<std::string> kubeconfig;
  std::optional<std::string> content_type;
  std::optional<double> qps;
  std::optional<std::int64_t> burst;
  /// Deprecated too, and honoured beside a file.
  std::int64_t pod_max_in_unschedulable_us = 300'000'000;

  // Before what the file says.
  std::optional<bool> leader_elect;
  std::optional<std::int64_t> lease_duration_us;
  std::optional<std::int64_t> renew_deadline_us;
  std::optional<std::int64_t> retry_period_us;
  std::optional<std::string> resource_lock;
  std::optional<std::string> resource_name;
  std::optional<std::string> resource_namespace;

  std::string feature_gates;           ///< "A=true,B=false", without "kube:"
  std::optional<std::string> release;  ///< "1.35", from --emulated-version
  std::string min_compatibility_version;

  std::string shown_hidden_metrics;
  std::vector<std::string> disabled_metrics;
  std::map<std::string, std::vector<std::string>> allowed_metric_labels;  ///< ["metric,label"]
  std::string allowed_metric_labels_path;

  std::int64_t verbosity = 0;
  std::string log_format = "text";  ///< text, json
  std::int64_t log_flush_us = 5'000'000;

  std::optional<std::string> version;  ///< "true", "raw": print it and exit

  /// A sentence for each flag that was given and has no effect, with the reason.
  std::vector<std::string> without_effect;
};

/// Adds every flag of kube-scheduler. `app` takes no arguments. @param flags  outlives the parsing
void add_scheduler_options(CLI::App& app, SchedulerFlags& flags);

/// The configuration with what the flags say of it.
/// @param has_file  deprecated flags are left alone then, and flags.without_effect says so
/// @throws InputError for a leader election that does not hold
void apply(SchedulerFlags& flags, bool has_file, SchedulerConfig& config);

/// The flags that upstream has.
std::vector<std::string> scheduler_flag_names();

/// The arguments of a program that may have been called as kube-scheduler, in the parser's syntax: then, and behind the
/// word "scheduler", flags are read as Kubernetes reads them: "--flag=value", "--flag value", truth values without a
/// value, "_" for "-" in names, "-v=2". Others are returned as they are.
/// @param program  argv[0]; a last part "kube-scheduler" stands for "berth scheduler"
std::vector<std::string> scheduler_arguments(std::string_view program, const std::vector<std::string>& arguments);

}  // namespace berth
