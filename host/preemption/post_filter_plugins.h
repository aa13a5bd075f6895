// SPDX-License-Identifier: Apache-2.0
#pragma once

// The PostFilter plugins of a profile, in order: docs/behaviour/scheduler-core.md 3.6.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batching/backend.h"
#include "host/config/scheduler_config.h"
#include "host/framework/framework.h"
#include "host/preemption/default_preemption.h"

namespace berth {

struct PostFilterResult {
  std::string text;  ///< what PostFilter adds to the message of the attempt; empty: nothing
  std::optional<PreemptionCandidate> candidate;
  /// There is no result, so that the pod keeps the nomination that its status names (4.10). Otherwise, without a
  /// candidate and `nominated_node`, it loses it.
  bool keeps_nomination = false;
  bool is_error = false;            ///< PostFilter ends with an error: no further plugin runs
  std::string nominated_node = {};  ///< not empty: a plugin from outside nominates the pod, and evicts nobody
  bool is_success = false;          ///< a plugin from outside says so
};

/// DynamicResources, for pods without claims, DefaultPreemption, and plugins from outside. Others are refused with the
/// configuration.
class PostFilterPlugins {
 public:
  /// @param outside  has the plugins from outside, and outlives this; null: there are none
  explicit PostFilterPlugins(const Profile& profile, const Framework* outside = nullptr);

  /// DefaultPreemption is one of them.
  bool preempts() const;
  bool empty() const { return plugins_.empty(); }
  /// Some plugin is from outside, so that it has to be asked for each pod.
  bool has_outside() const;
  /// DefaultPreemption is run for an attempt that failed with `message`.
  bool preempts_after(const Message& message) const;
  /// Runs them for an attempt that failed with `message`.
  /// @param default_preemption  that plugin; called once at most
  /// @param outside  calls a plugin from outside; needed where there is one
  PostFilterResult run(const Message& message, const std::function<PostFilterResult()>& default_preemption,
                       const std::function<PostFilterAnswer(PostFilterPlugin&)>& outside = {}) const;
  /// The text where no pod on any of the nodes has a lower priority. @param nodes  at least one
  std::string text_without_victims(std::int64_t nodes, const Message& message) const;

 private:
  enum class Kind : std::uint8_t { kDynamicResources, kDefaultPreemption, kOutside };
  struct Plugin {
    Kind kind;
    PostFilterPlugin* outside = nullptr;
  };
  bool has(Kind kind) const;
  bool dynamic_resources_knows(const Message& message) const;

  std::vector<Plugin> plugins_;
  std::vector<std::string> pre_filter_before_dynamic_resources_;
  bool dynamic_resources_pre_filters_ = false;
};

/// "preemption: TEXT"
std::string as_preemption_text(std::string_view text);

}  // namespace berth
