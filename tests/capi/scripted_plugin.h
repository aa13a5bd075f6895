// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plugin of include/berth/plugin.h whose functions are those of a test, and engines that have it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "include/berth/plugin.h"
#include "tests/capi/world.h"

namespace berth::test {

/// What the functions of the table call; one that is empty is not in the table, except evaluate and filter_changed,
/// which accept everything.
struct ScriptedPlugin {
  using Pod = const berth_plugin_pod*;
  using Node = const berth_plugin_node*;
  using PodList = std::vector<Pod>;

  std::uint32_t flags = BERTH_PLUGIN_FILTERS;
  std::vector<const char*> node_paths = {};
  std::vector<const char*> pod_paths = {};
  std::function<std::int32_t(berth_plugin_call*, const std::string& arguments)> create = {};
  std::function<std::int32_t(berth_plugin_call*, Pod)> sign = {};
  std::function<std::uint64_t()> version = {};
  std::function<void(berth_plugin_call*, Pod, Node, berth_plugin_reach*)> reach = {};
  std::function<std::int32_t(berth_plugin_call*, Pod)> pre_filter = {};
  std::function<std::int32_t(berth_plugin_call*, Pod, const berth_plugin_nodes*, berth_plugin_columns*)> evaluate = {};
  std::function<std::int32_t(berth_plugin_call*, Pod, Node, const PodList& added, const PodList& removed)>
      filter_changed = {};
  std::function<std::int32_t(berth_plugin_call*, Pod)> pre_score = {};
  std::function<std::int32_t(berth_plugin_call*, Pod, std::int64_t* scores, std::size_t count)> normalize = {};
  std::function<std::int32_t(berth_plugin_call*, Pod)> pre_enqueue = {};
  std::function<std::int32_t(berth_plugin_call*, Pod, const berth_plugin_change*)> queueing_hint = {};

  const berth_plugin_host* host = nullptr;  ///< after create
  int destroyed = 0;

  /// Valid as long as this object; of the functions that are there now.
  const berth_plugin* table();

  std::string label(berth_plugin_call* call, Node node, const char* key) const;
  std::string value(berth_plugin_call* call, Pod pod, std::uint32_t path) const;
  std::string name(berth_plugin_call* call, Node node) const;

 private:
  berth_plugin table_{};
};

using Script = ScriptedPlugin;
inline constexpr std::int32_t kOk = BERTH_CODE_SUCCESS;

/// A configuration that enables plugin "Scripted" at every point that it joins. @param args  JSON
std::string config_with_scripted(const std::string& args = "");

struct Refused {
  berth_status status = BERTH_OK;
  std::string object = {};
  std::string text = {};
};
/// An engine with the plugin; null, with `refused` filled, when there is none.
OwnedEngine engine_with(const std::vector<const berth_plugin*>& plugins, const std::string& config,
                        Refused* refused = nullptr, const std::vector<const char*>& files = {});
OwnedCluster cluster_with(ScriptedPlugin& plugin);

/// A plugin that shares its answers between pods of equal annotations example.com/pool, which it declares of nodes and
/// pods, as it does spec.providerID of nodes; and that no placement reaches.
ScriptedPlugin by_pool();
/// Refuses node `i` with one reason.
void refuse(const ScriptedPlugin& script, berth_plugin_call* call, berth_plugin_columns* columns, std::size_t i,
            std::int32_t code, const char* reason);

/// @param annotation  example.com/pool
std::string node_with(const std::string& name, const std::string& annotation, const std::string& labels = "");
/// @param rest  of the spec, ending with a comma
std::string pod_with(const std::string& name, const std::string& annotation, const std::string& rest = "",
                     const std::string& status = "{}");

/// "n0=3 reason; n1=0": code and reasons by node, of the cluster as it is.
std::string checked(berth_cluster* cluster, const berth_pod* pod);
/// The node that the pod gets in the fork, or the message.
std::string placed(berth_cluster* cluster, berth_fork* fork, const berth_pod* pod);
/// The same in the cluster as it is, which stays so.
std::string placed(berth_cluster* cluster, const berth_pod* pod);

}  // namespace berth::test
