// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "batching/engine_fork.h"
#include "host/objects/pod.h"

namespace berth {

/// The pods of the nodes where a fork changed something, in the order in which an engine's cache has them: a pod that
/// comes is the last one, and the last one takes the place of one that leaves. Where two victims are equally important
/// this order decides who is reprieved first: docs/behaviour/scheduler-core.md 4.5.
class PodsInOrder {
 public:
  /// Whom the fork was opened with, those left out for whom stand() was called.
  struct AsOpened {
    std::function<std::vector<PodPtr>(const std::string& node_name)> pods_on;
    std::function<std::string(const std::string& uid)> node_of_pod;  ///< empty: none
  };

  /// The pod comes to the node.
  void stand(const PodPtr& pod, const std::string& node_name, const AsOpened& as_opened);
  /// Does what was done since the last call. When it throws, the object must not be used any more.
  /// @param steps  of the fork, those that were followed before among them
  void follow(std::span<const ForkStep> steps, const AsOpened& as_opened);
  /// null: the node has the pods that the fork was opened with.
  const std::vector<PodPtr>* find(const std::string& node_name) const {
    const auto known = pods_.find(node_name);
    return known == pods_.end() ? nullptr : &known->second;
  }
  std::uint64_t bytes() const;

 private:
  std::vector<PodPtr>& pods_of(const std::string& node_name, const AsOpened& as_opened);
  void leave(const std::string& uid, const AsOpened& as_opened);

  std::size_t followed_ = 0;  ///< steps
  std::unordered_map<std::string, std::vector<PodPtr>> pods_;
  std::unordered_map<std::string, std::string> node_of_;  ///< by uid, of pods that came or left; empty: on none
};

}  // namespace berth
