// SPDX-License-Identifier: Apache-2.0
#pragma once

// The verdicts of a profile's Filter plugins on a list of nodes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/framework/status.h"

namespace berth {

/// One verdict per node. Every node passes until it is rejected; the first rejection counts, and equal rejections are
/// stored once.
class Verdicts {
 public:
  explicit Verdicts(std::size_t node_count) : refusal_of_(node_count, kPasses) {}

  std::size_t node_count() const { return refusal_of_.size(); }
  /// Whether no plugin has rejected the node yet. A plugin may skip other nodes; its verdicts on them are ignored.
  bool passes(std::size_t node) const { return refusal_of_[node] == kPasses; }

  /// @param code Unschedulable, UnschedulableAndUnresolvable or Pending; any other becomes an Error of the plugin,
  ///     Success excepted, which changes nothing
  void refuse(std::size_t node, StatusCode code, std::vector<std::string> reasons);

  /// Success for a node that passes.
  Status status(std::size_t node) const;
  /// The first Error by position; an attempt that has one fails.
  std::optional<Status> first_error() const;
  std::size_t passing_count() const;

  /// Sets the plugin of the following verdicts. Called by the framework only.
  void set_speaker(std::string_view plugin) { speaker_ = plugin; }

 private:
  static constexpr std::int32_t kPasses = -1;
  std::int32_t intern(Status refusal);

  std::vector<std::int32_t> refusal_of_;  ///< index into refusals_
  std::vector<Status> refusals_;
  std::string speaker_;
};

}  // namespace berth
