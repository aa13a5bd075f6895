// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/cli/config_options.h"
#include "host/cli/exit_code.h"
#include "host/report/document_formats.h"
#include "host/report/terminal.h"

namespace berth {

/// `berth config check FILE`: what a configuration amounts to, and what of it Berth does.
struct ConfigCommand {
  ConfigOptions config;          ///< config_path is the FILE
  std::string format = "table";  ///< table, json
};

/// What the check found, ready to be shown.
struct ConfigCheck {
  SchedulerConfig config;
  std::vector<std::string> notes;
  std::vector<std::string> refusals;  ///< why a run with this file would not start
};

ConfigCheck check_config(const std::string& path, const RequestedGates& requested, NodeSampling sampling);
/// @param allows_unsupported  the run goes on without what refusals name
std::string config_check_report(const ConfigCheck& check, bool allows_unsupported, const Terminal& terminal);
void write_config_check(const ConfigCheck& check, DocumentWriter& writer);

/// @return kError when a run with this file would not start and allow_unsupported is not set
/// @throws InputError, UsageError, OutputError
ExitCode run(const ConfigCommand& command);

}  // namespace berth
