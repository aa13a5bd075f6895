// SPDX-License-Identifier: Apache-2.0
#pragma once

// All of a live scheduler: clients, lease, loop, and what it serves.

#include <cstdint>
#include <string>

#include "host/kube/access/open_access.h"
#include "host/live/live_log.h"
#include "host/objects/declared_paths.h"
#include "host/scheduler/loop/loop_options.h"
#include "host/serving/authentication.h"
#include "host/serving/authorization.h"
#include "host/serving/component_metrics.h"
#include "host/serving/https_server.h"
#include "host/serving/metric_filter.h"

namespace berth {

struct LiveProcessOptions {
  LoopOptions loop;
  AccessOptions access;
  DeclaredPathsPtr declared = nullptr;         ///< that plugins read; null: none
  std::int64_t bind_timeout_us = 600'000'000;  ///< KubeClientOptions::bind_timeout_us

  bool serves = true;  ///< false: --secure-port=0
  ServerOptions server;
  /// Empty, as the next one: in a pod its service account, as upstream; else tokens are not looked at.
  std::string authentication_kubeconfig;
  AuthenticationOptions authentication;  ///< but for its client
  std::string authorization_kubeconfig;  ///< empty: what is not always allowed is refused
  AuthorizationOptions authorization;    ///< but for its client

  LogFormat log_format = LogFormat::kText;
  int verbosity = 0;
  BuildInfo build;
  MetricFilter metric_filter;
};

/// Runs until SIGTERM or SIGINT, or until the lease is lost. Signals are taken on a thread of its own: call it before
/// other threads are there.
/// @return the exit status of the process: 0 when it was asked to end, 1 when the lease was lost
/// @throws InputError, std::runtime_error for what cannot be used: nothing was started then
int run_live_process(LiveProcessOptions options);

}  // namespace berth
