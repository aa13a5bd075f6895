// SPDX-License-Identifier: Apache-2.0
#pragma once

// Health paths as k8s.io/apiserver/pkg/server/healthz answers them.

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "host/serving/route.h"

namespace berth {

/// Called on threads of the server, several at once. It holds a thread and the prober's patience (a second by default):
/// it reads what is known and waits for nothing.
struct HealthCheck {
  std::string name;
  std::function<std::string()> problem;  ///< empty: well. Shown at the check's own path, else in the log alone
};

/// Always well: "ping".
HealthCheck ping_check();

/// Results of all checks, for /metrics/slis.
class HealthResults {
 public:
  struct Key {
    std::string name, type;  ///< of the check; "healthz", "livez", "readyz"
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Counts {
    std::uint64_t successes = 0, errors = 0;
    bool was_well = false;  ///< the last one
  };

  void add(std::string_view name, std::string_view type, bool is_well);
  std::map<Key, Counts> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<Key, Counts> counts_;
};

/// The path and one below it per check. Parameters: verbose, exclude (several).
/// @param path  "/readyz"
/// @param checks  none: ping_check()
/// @param results  outlives the routes
/// @param log  is told what a failing check says
std::vector<Route> health_routes(const std::string& path, std::vector<HealthCheck> checks, HealthResults& results,
                                 ServingLog log);

}  // namespace berth
