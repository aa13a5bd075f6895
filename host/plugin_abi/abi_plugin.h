// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plugin of include/berth/plugin.h behind the seam of the engines.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/framework/host_plugin.h"
#include "host/framework/plugin.h"
#include "host/framework/plugin_registry.h"
#include "host/framework/queueing_hints.h"
#include "host/objects/declared_paths.h"
#include "host/plugin_abi/plugin_call.h"
#include "host/plugin_abi/plugin_table.h"

namespace berth {

/// Calls come from several threads; those of the plugin from one at a time, unless it takes more. HostPlugin says what
/// becomes of an exception, an unknown code and a refusal without a reason.
class AbiPlugin : public HostPlugin {
 public:
  /// JSON text, by the scheduler names of the profiles that run the plugin.
  using Arguments = std::vector<std::pair<std::string, std::string>>;
  /// Calls create() for each of the arguments that are not equal.
  /// @param paths  the numbers of the table's paths in the engine
  /// @throws InputError with the plugin's reasons, when it does not take the arguments
  AbiPlugin(PluginTable table, PluginPaths paths, const Arguments& arguments);
  ~AbiPlugin() override;
  AbiPlugin(const AbiPlugin&) = delete;
  AbiPlugin& operator=(const AbiPlugin&) = delete;

  std::string_view name() const override { return table_.outside.name; }
  bool concerns(const Pod& pod) const override;
  std::optional<std::string> sign(const Pod& pod) const override;
  /// That of the latest take_new_data().
  std::uint64_t version() const noexcept override { return latched_.load(std::memory_order_relaxed); }
  HostReach reach(const HostQuery& query, const Node& node) const override;
  HostPreFilter pre_filter(const HostQuery& query) const override;
  void evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const override;
  Status filter_changed(const HostQuery& query, const NodeInfo& node, std::span<const Pod* const> added,
                        std::span<const Pod* const> removed) const override;
  Status pre_score(const HostQuery& query) const override;
  void normalize(const Pod& pod, std::span<std::int64_t> scores) const override;

  // Points of a scheduling loop, with what it lets plugins use.
  bool joins_loop() const;
  bool tells_of_events() const;
  Status pre_enqueue(const Pod& pod) const;
  PostFilterAnswer post_filter(const RefusedPod& refused, const FrameworkHandle& loop) const;
  Status reserve_on(const PodOnNode& pod, const FrameworkHandle& loop) const;
  void unreserve_on(const PodOnNode& pod, const FrameworkHandle& loop) const noexcept;
  PermitAnswer permit(const PodOnNode& pod, const FrameworkHandle& loop) const;
  Status pre_bind_pre_flight(const PodOnNode& pod, const FrameworkHandle& loop) const;
  Status pre_bind(const PodOnNode& pod, const FrameworkHandle& loop) const;
  Status bind(const PodOnNode& pod, const FrameworkHandle& loop) const;
  void post_bind(const PodOnNode& pod, const FrameworkHandle& loop) const noexcept;
  /// What may help a pod that the plugin refused.
  std::vector<EventRegistration> events() const;
  /// Whether a registered event that has a function may.
  QueueingHint hint(const Pod& pod, const berth_plugin_change& change) const;

  /// Whether the plugin has published new data since the latest take_new_data().
  bool has_new_data() const noexcept { return live_version() != version(); }
  bool take_new_data() const noexcept override {
    const std::uint64_t now = live_version();
    return latched_.exchange(now, std::memory_order_relaxed) != now;
  }

 private:
  void create(const std::string& arguments);
  /// The instance of the pod's profile; of a pod of another scheduler the first one.
  std::size_t instance_of(const Pod& pod) const;
  void* self_of(const Pod& pod) const { return selves_[instance_of(pod)]; }
  bool concerns(void* self, const Pod& pod) const;
  HostReach reach(void* self, const HostQuery& query, const NodeInfo& node) const;
  bool joins_engine() const;
  template <class Function>
  auto call_on_node(berth_plugin_call& call, const PodOnNode& pod, const FrameworkHandle& loop,
                    Function function) const;
  template <class Function>
  Status ask_on_node(const PodOnNode& pod, const FrameworkHandle& loop, const char* name, Function function) const;
  /// The same of a function without an answer: what it cannot do, it can tell nobody.
  template <class Function>
  void tell_on_node(const PodOnNode& pod, const FrameworkHandle& loop, Function function) const noexcept;
  void destroy() noexcept;
  /// Held by calls of a plugin that takes one at a time.
  std::unique_lock<std::mutex> turn() const;
  std::uint64_t live_version() const noexcept;

  PluginTable table_;
  PluginPaths paths_;
  std::vector<void*> selves_;  ///< an instance for each of the arguments that are not equal
  std::map<std::string, std::size_t, std::less<>> instance_of_profile_;  ///< [scheduler name]
  mutable std::mutex mutex_;
  mutable std::atomic<std::uint64_t> latched_ = 0;
};

using AbiPlugins = std::vector<std::shared_ptr<const AbiPlugin>>;

/// What configurations may name.
/// @throws InputError for a name that two of them have
std::vector<OutsidePlugin> outside_plugins(const std::vector<PluginTable>& tables);
/// The paths of all tables. null: there are none. @throws InputError for one that cannot be kept
DeclaredPathsPtr declared_paths(const std::vector<PluginTable>& tables);
/// Creates the plugins with the arguments that the configuration has for them.
/// @throws InputError for a plugin that no profile enables, and for arguments that it does not take
AbiPlugins open_plugins(std::vector<PluginTable> tables, const SchedulerConfig& config);

}  // namespace berth
