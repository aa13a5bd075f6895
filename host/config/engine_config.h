// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

class HostPlugin;  // host/framework/host_plugin.h
class WorkArena;   // host/objects/work_arena.h

/// Which of the nodes with the highest total is selected. docs/architecture.md "Ties".
enum class TieBreak : std::uint8_t {
  kLoad,    ///< the emptiest one, the fullest one where the profile packs; among equally full ones by a hash
  kRandom,  ///< each with the same chance
  kFirst,   ///< the first in node order
  kKube,    ///< the root of kube-scheduler 1.35's heap
};
enum class NodeSampling : std::uint8_t { kAll, kKube };
enum class Batching : std::uint8_t {
  kEngine,  ///< the engine places as many pods at once as it gains from
  kKube,    ///< opportunistic batching of kube-scheduler 1.35, pod by pod: docs/behaviour/scheduler-core.md 6
};

/// What becomes of a run whose device is lost or fails.
enum class DeviceFailure : std::uint8_t {
  kStop,        ///< the run ends with an error
  kRerunOnCpu,  ///< the cpu backend does the run again, with the same answer
};

/// Defects of kube-scheduler that Berth repeats, so that verdicts agree; false gives the behaviour that was meant.
/// docs/fidelity.md names each with its upstream issue.
struct UpstreamBugs {
  /// PodTopologySpread counts no pod for a selector without requirements, which matches every pod.
  bool empty_spread_selector_counts_nothing = true;
  /// For the incoming pod's own InterPodAffinity terms, a namespaceSelector of nothing but NotIn and DoesNotExist
  /// means every namespace.
  bool negative_namespace_selector_matches_all = true;
};

/// Settings of the engine itself. They are never part of KubeSchedulerConfiguration: a file of their own
/// (--engine-config, kind BerthEngineConfiguration, apiVersion berth.dev/v1alpha1) or flags.
struct EngineConfig {
  std::string backend = "auto";  ///< auto, reference, cpu, cuda
  std::uint64_t seed = 0;
  TieBreak tie_break = TieBreak::kLoad;
  NodeSampling node_sampling = NodeSampling::kAll;
  Batching batching = Batching::kEngine;     ///< of the scheduling loop
  std::int32_t threads = 0;                  ///< 0: one per core; of a backend without `arena`
  std::uint64_t row_bytes_max = 1ull << 30;  ///< memory that rows may take; dropping a row never changes a result
  std::int32_t batch_pods_max = 1 << 20;     ///< pods handed to a backend at once
  UpstreamBugs upstream_bugs;
  std::int32_t device_ordinal = 0;            ///< which device the cuda backend opens
  std::uint64_t device_memory_bytes_max = 0;  ///< memory of the device that rows may take; 0: most of what is free
  DeviceFailure on_device_failure = DeviceFailure::kStop;
  /// Plugins that decide on the host. No file and no flag names them: who opens the engine registers them.
  std::vector<std::shared_ptr<const HostPlugin>> host_plugins;
  /// In which all backends that are opened with this work; null: each makes one of its own. Not of a file either.
  std::shared_ptr<WorkArena> arena;
};

/// @throws InputError with the path of each problem; unknown fields are errors
EngineConfig parse_engine_config(std::string_view text, const std::string& source);
EngineConfig load_engine_config(const std::string& path);

/// @throws InputError naming the accepted values
TieBreak parse_tie_break(std::string_view text);
NodeSampling parse_node_sampling(std::string_view text);
Batching parse_batching(std::string_view text);
DeviceFailure parse_device_failure(std::string_view text);  ///< as the flag is spelled: "stop", "rerun-on-cpu"
std::string_view to_string(TieBreak value);
std::string_view to_string(NodeSampling value);
std::string_view to_string(Batching value);

}  // namespace berth
