// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes a configuration as kube-scheduler writes its completed one (--write-config-to): what reading it back gives is
// the same configuration.

#include <cstdint>
#include <string>

#include "host/config/scheduler_config.h"
#include "host/objects/document_writer.h"

namespace berth {

enum class ConfigSecrets : std::uint8_t {
  kWritten,  ///< as they are: reading back needs them
  kWithheld  ///< keys of extenders as "--- REDACTED ---": for others to look at
};

/// A KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1, fields by name. It differs from upstream's text
/// where reading has settled something: extenders that are ignorable stand last, and urlPrefix has no slash at its end.
/// Arguments are written of plugins that a list enables; feature gates stand in no configuration.
void write_config(const SchedulerConfig& config, ConfigSecrets secrets, DocumentWriter& out);

/// The configuration as kube-scheduler's /configz has it, on one line: fields as Go's types name them ("QPS",
/// "LeaderElection"), secrets withheld.
std::string configz_json(const SchedulerConfig& config);

}  // namespace berth
