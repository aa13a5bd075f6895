// SPDX-License-Identifier: Apache-2.0
#pragma once

// The table behind add_scheduler_options(): one row a flag.

#include <functional>
#include <string>
#include <vector>

#include "host/cli/scheduler_options.h"

namespace berth {

struct SchedulerFlag {
  using Values = std::vector<std::string>;  ///< as given, in order; one at least

  std::string name;   ///< without dashes
  std::string value;  ///< how --help shows it: "FILE"
  std::string help;
  /// Takes the values over. @return "" or what was expected
  std::function<std::string(SchedulerFlags&, const Values&)> read;
  bool is_boolean = false;  ///< stands without a value for "true"
  /// Why it has no effect; empty: it has one.
  std::string no_effect = {};
};

std::vector<SchedulerFlag> serving_flags();
std::vector<SchedulerFlag> access_flags();
std::vector<SchedulerFlag> config_flags();
std::vector<SchedulerFlag> log_and_metric_flags();
/// All of them, in the order of upstream's --help.
const std::vector<SchedulerFlag>& scheduler_flags();

// ---- readers; a flag that is given several times has its last value, as in Kubernetes

template <class Target>
using Place = Target& (*)(SchedulerFlags&);

std::string read_boolean(const std::string& text, bool& out);
std::string read_go_duration(const std::string& text, std::int64_t& out_us);
std::string read_integer(const std::string& text, std::int64_t lowest, std::int64_t highest, std::int64_t& out);
/// A comma list; entries in quotes may hold commas.
std::vector<std::string> split_list(const std::string& text);

/// The readers of the table: each keeps where its value goes.
namespace flag_reader {

using Read = std::function<std::string(SchedulerFlags&, const SchedulerFlag::Values&)>;

Read text(Place<std::string> place);
Read text(Place<std::optional<std::string>> place);
Read boolean(Place<bool> place);
Read boolean(Place<std::optional<bool>> place);
Read duration(Place<std::int64_t> place);
Read duration(Place<std::optional<std::int64_t>> place);
/// All values together, instead of the default.
Read list(Place<std::vector<std::string>> place);

}  // namespace flag_reader

}  // namespace berth
