// SPDX-License-Identifier: Apache-2.0
#pragma once

// The lines that `oracle walk` reads: tests/oracle/walk.go.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/feature_gates.h"
#include "host/config/scheduler_config.h"
#include "host/objects/json_out.h"
#include "host/objects/loader.h"

namespace berth::test {

template <class Object>
nlohmann::json upsert_line(const Object& object) {
  std::string text;
  append_json(text, object);
  return {{"upsert", nlohmann::json::parse(text)}};
}

inline nlohmann::json removal_line(std::string_view kind, std::string_view name_space, std::string_view name,
                                   std::string_view uid = "") {
  return {{"remove", {{"kind", kind}, {"namespace", name_space}, {"name", name}, {"uid", uid}}}};
}

inline nlohmann::json nomination_line(std::string_view uid, std::string_view node) {
  return {{"nominate", uid}, {"node", node}};
}

inline void write_line(const nlohmann::json& line) { std::puts(line.dump().c_str()); }

/// What a history begins with.
struct HistoryInput {
  ClusterObjects objects;
  SchedulerConfig config;
  std::string backend;
  std::uint64_t seed = 0;
  bool batches = false;  ///< FEATURE_GATES names OpportunisticBatching as on, which `oracle walk` has off otherwise

  /// @param arguments  CLUSTER SEED BACKEND RELEASE [CONFIG [FEATURE_GATES]]
  explicit HistoryInput(const std::vector<std::string>& arguments)
      : backend(arguments[2]), seed(std::stoull(arguments[1])) {
    LoadResult loaded = load_cluster({arguments[0]});
    loaded.throw_if_problems();
    objects = std::move(loaded.objects);
    FeatureGates gates(parse_release(arguments[3]));
    if (arguments.size() > 5) {
      gates.apply(arguments[5]);
      batches = arguments[5].find("OpportunisticBatching=true") != std::string::npos;
    }
    const bool has_config = arguments.size() > 4 && !arguments[4].empty();
    config = has_config ? load_scheduler_config(arguments[4], gates) : default_scheduler_config(gates);
  }
};

/// The main function of a program that writes a history. @return its exit status
template <class Write>
int write_history(int argc, char** argv, std::string_view program, Write write) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 4 || arguments.size() > 6) {
    std::fputs(fmt::format("{} CLUSTER SEED BACKEND RELEASE [CONFIG [FEATURE_GATES]]\n", program).c_str(), stderr);
    return 2;
  }
  try {
    write(HistoryInput(arguments));
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}: {}\n", program, error.what()).c_str(), stderr);
    return 1;
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace berth::test
