// SPDX-License-Identifier: Apache-2.0
#pragma once

// One call of a plugin of include/berth/plugin.h: what it may look at, and what it says beside the code it returns.

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "host/cluster/cache.h"
#include "host/objects/declared_paths.h"
#include "host/objects/pod.h"
#include "include/berth/plugin.h"

namespace berth {

/// Of a plugin's paths, the numbers that they have in its engine: DeclaredPaths.
struct PluginPaths {
  std::vector<std::uint32_t> of_nodes;
  std::vector<std::uint32_t> of_pods;
};

class CycleState;
class HostPlugin;
struct FrameworkHandle;

/// Whether this thread is in a call of the plugin, or in a call that one of its calls led to.
bool is_calling(const HostPlugin* plugin) noexcept;

/// What plugins may call.
const berth_plugin_host& plugin_host() noexcept;

inline const berth_plugin_node* to_abi(const NodeInfo* node) {
  return reinterpret_cast<const berth_plugin_node*>(node);
}
inline const berth_plugin_pod* to_abi(const Pod* pod) { return reinterpret_cast<const berth_plugin_pod*>(pod); }
inline berth_plugin_text to_abi(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace berth

/// The functions of plugin_host() throw nothing: where memory runs out they note it, and check() throws.
struct berth_plugin_call {
  /// @param caller   whose functions are called by this thread as long as the object lives; null: none that runs
  /// @param cluster  null: none is to be seen
  berth_plugin_call(const berth::HostPlugin* caller, const berth::PluginPaths& paths_of,
                    const berth::ClusterCache* cluster) noexcept;
  ~berth_plugin_call();
  berth_plugin_call(const berth_plugin_call&) = delete;
  berth_plugin_call& operator=(const berth_plugin_call&) = delete;

  /// @throws std::bad_alloc when memory ran out in a function that the plugin called
  void check() const;
  /// @throws std::bad_alloc
  const std::vector<const berth::NodeInfo*>& nodes() const;

  const berth::HostPlugin* const plugin;
  const berth::PluginPaths& paths;
  const berth::ClusterCache* const cluster;
  std::vector<std::string> reasons;
  std::vector<std::vector<std::string>> reason_lists;
  std::string signature;
  std::optional<std::set<std::string>> only;
  mutable bool out_of_memory = false;
  const berth::FrameworkHandle* loop = nullptr;  ///< the scheduling loop that calls; null: none
  berth::CycleState* cycle = nullptr;            ///< of the pod; null: no cycle of one
  mutable std::list<std::string> texts;  ///< made for the plugin; unlike a deque it allocates nothing while empty
  const berth_plugin_call* const outer;

 private:
  mutable std::optional<std::vector<const berth::NodeInfo*>> nodes_;
};
