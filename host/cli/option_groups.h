// SPDX-License-Identifier: Apache-2.0
#pragma once

// Options that several commands have, each written once.

#include <CLI/CLI.hpp>

#include "host/cli/config_options.h"
#include "host/cli/input_options.h"
#include "host/cli/preemption_limit_options.h"

namespace berth {

/// What may follow a file of -f: more files in a command without arguments (a shell's -f *.yaml), else its arguments.
enum class BehindFile : std::uint8_t { kFiles, kArguments };

/// -f and add_input_flags(). @return -f
CLI::Option* add_input(CLI::App& app, InputOptions& options, BehindFile behind);
/// --skip-invalid, --no-expand, --strict, --quiet
void add_input_flags(CLI::App& app, InputOptions& options);

/// --emulate-version, --feature-gates, --allow-unsupported
void add_release(CLI::App& app, ConfigOptions& options);
/// --config, --engine-config and add_release()
void add_config(CLI::App& app, ConfigOptions& options);
/// --plugin
void add_plugins(CLI::App& app, std::vector<std::string>& files);
void add_threads(CLI::App& app, ConfigOptions& options);
/// --seed, --node-sampling, --tie-break, --threads, --device, --on-device-failure
void add_engine(CLI::App& app, ConfigOptions& options);
/// --batching, for commands that run the scheduling loop
void add_batching(CLI::App& app, ConfigOptions& options);
void add_backend(CLI::App& app, ConfigOptions& options);
/// --keep-budgets, --replaceable-first, --preemption-nodes, --evictions-per-minute
void add_preemption_limits(CLI::App& app, PreemptionLimitOptions& options);

}  // namespace berth
