// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace berth {

/// Nodes that a row leaves out, because they refuse the pods of a launch for nominations.
struct LeftOutNodes {
  std::uint64_t version = 0;  ///< NominationAnswers::Refused::version
  std::vector<std::int32_t> nodes;
};

/// A batch for one launch: the rows of its classes, the row of each pod, and the last pod that needs each row.
struct LaunchPlan {
  std::vector<std::int32_t> classes;     ///< [row]
  std::vector<LeftOutNodes> left_out;    ///< [row]
  std::vector<std::int32_t> row_of_pod;  ///< [pod]
  std::vector<std::int32_t> last_pod;    ///< [row]
  bool fits_window = true;               ///< all rows have so few cells that the batch can be committed as a window

  /// Adds a row that no pod of the plan needs yet. @return the row of the class
  std::int32_t add_class(std::int32_t pod_class) {
    const auto [at, is_new] = row_of_class_.try_emplace(pod_class, static_cast<std::int32_t>(classes.size()));
    if (is_new) {
      classes.push_back(pod_class);
      left_out.emplace_back();
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
  /// The plan of the pods of the first `row_count` rows, up to the first pod of another row.
  LaunchPlan first_rows(std::size_t row_count) const {
    LaunchPlan plan;
    for (const std::int32_t row : row_of_pod) {
      if (static_cast<std::size_t>(row) >= row_count) break;
      plan.add_pod(classes[static_cast<std::size_t>(row)]);
    }
    for (std::size_t r = 0; r < plan.classes.size(); ++r) plan.left_out[r] = left_out[r];
    plan.stops_at = stops_at;
    plan.fits_window = fits_window;
    return plan;
  }
  std::vector<std::uint32_t> stops_at;  ///< DeviceBatch::stops_at; empty: no nodes

 private:
  std::unordered_map<std::int32_t, std::int32_t> row_of_class_;
};

}  // namespace berth
