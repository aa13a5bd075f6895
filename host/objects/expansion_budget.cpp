// SPDX-License-Identifier: Apache-2.0
#include "host/objects/expansion_budget.h"

namespace berth {

std::optional<std::string> ExpansionBudget::above(std::int64_t count, std::int64_t pods_max, std::int64_t made_count,
                                                  std::string_view makers) {
  if (count <= pods_max - made_count) return std::nullopt;
  return "asks for " + std::to_string(count) + " more pods, expected at most " + std::to_string(pods_max) +
         " from all " + std::string(makers) + " together, of which " + std::to_string(made_count) + " are made";
}

std::optional<std::string> ExpansionBudget::take(Maker maker, std::int64_t count, std::int64_t bytes_each) {
  std::optional<std::string> refusal;
  if (maker == Maker::kDaemonSet) refusal = above(count, limits_.daemon_pods_max, made_daemon_count_, "DaemonSets");
  if (!refusal) refusal = above(count, limits_.pods_max, made_count_, "workloads");
  if (!refusal && count > 0 && bytes_each > (limits_.bytes_max - made_bytes_) / count) {
    refusal = "asks for " + std::to_string(count) + " more pods of about " + std::to_string(bytes_each) +
              " bytes each with their names, labels and claims, expected at most " + std::to_string(limits_.bytes_max) +
              " bytes from all workloads together, of which " + std::to_string(made_bytes_) + " are used";
  }
  if (refusal) return refusal;
  made_count_ += count;
  if (maker == Maker::kDaemonSet) made_daemon_count_ += count;
  made_bytes_ += count * bytes_each;
  return std::nullopt;
}

}  // namespace berth
