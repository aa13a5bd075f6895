// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/framework/framework.h"
#include "host/framework/queueing_hints.h"
#include "host/queue/pod_records.h"

namespace berth {

/// What the queue asks of one profile.
struct QueueProfile {
  const Framework* framework = nullptr;  ///< PreEnqueue and QueueSort; outlives the queue
  std::vector<std::unique_ptr<QueueingHints>> hints;
};

/// The registrations of all profiles: docs/behaviour/scheduler-core.md 1.8. Plugins are numbered across profiles.
class HintTable {
 public:
  static constexpr std::uint16_t kUnknownProfile = UINT16_MAX;

  /// A function that may have to be asked about an event.
  struct Match {
    std::uint8_t plugin = 0;
    bool has_function = true;  ///< false: queues
  };

  /// @throws std::length_error when the profiles have more than 64 plugins between them
  explicit HintTable(std::vector<QueueProfile> profiles);

  std::size_t profile_count() const { return profiles_.size(); }
  std::uint16_t profile_of(std::string_view scheduler_name) const;
  const Framework& framework(std::uint16_t profile) const { return *profiles_[profile].framework; }

  /// Numbers names that are new. @throws std::length_error beyond 64 names
  PluginSet set_of(const PluginNames& names);
  std::uint8_t number_of(std::string_view plugin);
  const std::string& name_of(std::uint8_t plugin) const { return names_[plugin]; }

  /// Some plugin of some profile registered it; wildcards always are.
  bool is_of_interest(ClusterEvent event) const;
  /// The plugin registered it in some profile.
  bool is_registered_by(std::uint8_t plugin, ClusterEvent event) const;
  std::vector<Match> matches(std::uint16_t profile, ClusterEvent event) const;

  /// What the functions of these plugins read of the pod, as bytes.
  std::string key_of(const Pod& pod, std::uint16_t profile, PluginSet plugins) const;
  std::unique_ptr<const PreparedHints> prepare(const Pod& pod, std::uint16_t profile, std::uint8_t plugin) const;

 private:
  struct Registration {
    std::uint8_t plugin;
    EventRegistration event;
  };
  struct ProfileTable {
    std::vector<Registration> registrations;
    std::vector<const QueueingHints*> hints;  ///< by plugin number; null: none
  };
  void add_registrations(const QueueingHints& hints, ProfileTable& table);

  std::vector<QueueProfile> profiles_;
  std::vector<ProfileTable> tables_;  ///< one per profile
  std::vector<std::string> names_;    ///< by plugin number
};

}  // namespace berth
