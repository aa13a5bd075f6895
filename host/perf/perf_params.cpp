// SPDX-License-Identifier: Apache-2.0
#include "host/perf/perf_params.h"

#include "host/config/config_reader.h"
#include "host/objects/errors.h"
#include "host/objects/go_duration.h"

namespace berth {

template <class T>
const T& PerfParams::get(const std::string& param, const char* expectation) {
  used_.insert(param);
  const auto at = workload_.params.find(param);
  if (at == workload_.params.end()) refuse("the parameter " + quoted_for_message(param) + " is not defined");
  const T* value = std::get_if<T>(&at->second);
  if (value == nullptr)
    refuse("the parameter " + quoted_for_message(param) + " has another kind, expected " + expectation);
  return *value;
}

void PerfParams::fill(PerfCount& count) {
  if (count.param.empty()) return;
  const auto value = get<double>(count.param, "a number");
  if (!(value >= 0 && value <= static_cast<double>(kPerfCountMax)))
    refuse("the parameter " + quoted_for_message(count.param) + " is out of range, expected a number from 0 to " +
           std::to_string(kPerfCountMax));
  count.value = static_cast<std::int64_t>(value);
}

void PerfParams::fill(bool& value, const std::string& param) {
  if (!param.empty()) value = get<bool>(param, "true or false");
}

void PerfParams::fill(std::int64_t& duration_us, const std::string& param) {
  if (param.empty()) return;
  const auto& text = get<std::string>(param, "a duration such as \"10s\"");
  const auto ns = parse_go_duration_ns(text);
  if (!ns)
    refuse("the parameter " + quoted_for_message(param) + " is " + quoted_for_message(text) +
           ", expected a duration such as \"10s\"");
  duration_us = berth::duration_us(*ns);
}

void PerfParams::check_all_used() const {
  std::string names;
  for (const auto& [name, value] : workload_.params)
    if (!used_.contains(name)) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) refuse("parameters that no operation uses: " + names);
}

void PerfParams::refuse(const std::string& message) const { throw InputError(InputProblem{path_, name_, message}); }

}  // namespace berth
