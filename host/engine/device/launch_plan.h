// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace berth {

/// A batch for one launch: the rows of its classes, the row of each pod, and the last pod that needs each row.
struct LaunchPlan {
  std::vector<std::int32_t> classes;     ///< [row]
  std::vector<std::int32_t> row_of_pod;  ///< [pod]
  std::vector<std::int32_t> last_pod;    ///< [row]

  /// Adds a row that no pod of the plan needs yet. @return the row of the class
  std::int32_t add_class(std::int32_t pod_class) {
    const auto [at, is_new] = row_of_class_.try_emplace(pod_class, static_cast<std::int32_t>(classes.size()));
    if (is_new) {
      classes.push_back(pod_class);
      last_pod.push_back(-1);
    }
    return at->second;
  }
  void add_pod(std::int32_t pod_class) {
    const std::int32_t row = add_class(pod_class);
    last_pod[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(row_of_pod.size());
    row_of_pod.push_back(row);
  }
  bool contains(std::int32_t pod_class) const { return row_of_class_.count(pod_class) != 0; }

 private:
  std::unordered_map<std::int32_t, std::int32_t> row_of_class_;
};

}  // namespace berth
