// SPDX-License-Identifier: Apache-2.0
#pragma once

// A plugin that decides on the host: PreFilter, Filter, PreScore, Score and NormalizeScore of one plugin, behind the
// seam of the engines. It is not called once per node: an engine asks it about all nodes of a class at once and keeps
// the answers, a host column. docs/architecture.md "Host columns".

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cluster/cache.h"
#include "host/framework/status.h"
#include "host/objects/node.h"
#include "host/objects/pod.h"

namespace berth {

/// What a pod that comes to a node, or leaves it, can change of a plugin's answers, for any pod that it does not skip.
struct HostReach {
  enum class Kind : std::uint8_t {
    kNothing,
    kNode,     ///< the answers of that node
    kVolumes,  ///< those about pods that wait for volumes, by what Reserve says of the pod: HostMemory::take()
    kDomain,   ///< those of the nodes with the same value of the label `topology_key`; without the label, of that node
    kEverything,  ///< every answer, that of PreFilter and PreScore included
  };
  Kind kind = Kind::kEverything;
  std::string topology_key = {};
};

/// A claim of a pod that no other pod uses: one that can be known by what it says.
struct OwnClaim {
  const VolumeClaim* claim;
  const PersistentVolume* volume;  ///< null: the claim waits for its first consumer
  bool is_ephemeral;               ///< it was made for an ephemeral volume
  bool shares_handle;              ///< another volume has its handle: on a node with that one it does not count
};
/// Copies of such claims without names: they stand for those of all pods that a plugin signs alike by sign_claims().
struct ClaimCopy {
  VolumeClaim claim;
  std::optional<PersistentVolume> volume;
  bool is_ephemeral;
};
using ClaimCopies = std::vector<ClaimCopy>;

class ClaimUsers;  // plugins/claim_users.h

/// What a plugin remembers for an engine from one call to the next, of a cluster whose storage objects stay.
class HostMemory {
 public:
  HostMemory() = default;
  virtual ~HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  /// The claims of the node's pods, or their volumes, changed.
  virtual void forget(const NodeInfo& node) = 0;
  /// Some node's object changed, came or went.
  virtual void note_nodes() {}
  /// A placement took these volumes, which the cluster assumes already. Each is told once.
  /// @param with_others  pods with several waiting claims are known by what their claims say
  /// @return the nodes about which Filter may answer otherwise now, where the pod is known by what its claims say; some
  /// may come twice
  virtual std::vector<std::string> take(const VolumeDecisions& /*decisions*/, const ClusterCache& /*cluster*/,
                                        bool /*with_others*/) {
    return {};
  }
};

/// What a plugin is asked about.
struct HostQuery {
  const Pod& pod;               ///< stands for all pods that the plugin signs alike
  const ClusterCache& cluster;  ///< nodes with their pods, placements of the engine included
  /// Not null: these stand for the claims of the pod, which was signed by sign_claims() and has no other volumes.
  const ClaimCopies* claims = nullptr;
  HostMemory* memory = nullptr;       ///< of the plugin; null where calls run in parallel
  const ClaimUsers* users = nullptr;  ///< of the claims of the engine's pods; null: unknown
};

/// The answer of PreFilter.
struct HostPreFilter {
  /// kSuccess, kSkip (the plugin's Filter does not run), kUnschedulable (preemption may help),
  /// kUnschedulableAndUnresolvable or kError
  StatusCode code = StatusCode::kSuccess;
  std::vector<std::string> reasons = {};                 ///< of a refusal: at least one
  std::optional<std::set<std::string>> node_names = {};  ///< of kSuccess: the only candidates; nullopt: all nodes
};

/// The answers on a list of nodes. Each node is accepted with score 0 until the plugin says otherwise.
class HostAnswers {
 public:
  explicit HostAnswers(std::size_t node_count) : refusal_of_(node_count), raw_of_(node_count) {}

  /// @param node  position in the list
  /// @param code  kUnschedulable, kUnschedulableAndUnresolvable, kPending (eviction does not help; what the plugin's
  ///     hints tell of brings the pod back without backoff) or kError; any other becomes an error, as does a refusal
  ///     without a reason
  void refuse(std::size_t node, StatusCode code, std::vector<std::string> reasons);
  void score(std::size_t node, std::int64_t raw) { raw_of_[node] = raw; }

  const std::optional<Status>& refusal(std::size_t node) const { return refusal_of_[node]; }
  std::int64_t raw(std::size_t node) const { return raw_of_[node]; }

 private:
  std::vector<std::optional<Status>> refusal_of_;
  std::vector<std::int64_t> raw_of_;
};

/// Built in (plugins/host_plugins.h), or registered with an engine when it is opened (EngineConfig::host_plugins); it
/// runs in the profiles that enable its name, at the points where they do. One object serves all profiles and all
/// forks, and outlives the engine. Calls may come from several threads at once. A plugin that throws answers Error with
/// the text of the exception.
class HostPlugin {
 public:
  virtual ~HostPlugin() = default;
  virtual std::string_view name() const = 0;

  /// False: the plugin neither filters nor scores the pod, nor does the pod change an answer. Depends on the pod alone.
  virtual bool concerns(const Pod& /*pod*/) const { return true; }
  /// All that the plugin reads of a pod: pods that it signs alike share its answers, and a class. nullopt: nothing can
  /// be said, or signing throws, and the pod is a class of its own.
  virtual std::optional<std::string> sign(const Pod& pod) const = 0;
  /// Of a pod whose volumes are these claims and such as no plugin reads: all that the plugin reads of it, without
  /// names, so that pods with other claims share its answers. Asked again when a storage object changes. Filter then
  /// reads nothing but the cluster's storage, the pods of the node and HostQuery::claims. Where a handle is shared the
  /// answer holds while no node is refused. Empty: the plugin says nothing of the pod, and the pod changes no
  /// answer. nullopt: sign() says what it reads.
  virtual std::optional<std::string> sign_claims(std::span<const OwnClaim> /*claims*/,
                                                 const ClusterStorage& /*storage*/) const {
    return std::nullopt;
  }
  /// Filter reads which of the volumes are on a node already: OwnClaim::shares_handle matters.
  virtual bool reads_handles() const { return false; }
  /// Some pod's reach() is kVolumes, of pods that are known by what their claims say.
  virtual bool takes_volumes() const { return false; }
  /// null: the plugin remembers nothing.
  virtual std::unique_ptr<HostMemory> make_memory() const { return nullptr; }
  /// Changes when answers may change for a reason outside the cluster of the engine. Does not change during a call of
  /// the engine. Forks read that of now, not of their opening.
  virtual std::uint64_t version() const noexcept { return 0; }
  /// Between calls of the engine: version() becomes that of the plugin's newest data. @return whether it changed
  virtual bool take_new_data() const noexcept { return false; }
  /// Of any pod that concerns the plugin, not only of those that it filters. What Reserve assumes counts too. Answers
  /// follow node objects, too: a node that changes is asked again, and after a change of namespaces, Services,
  /// workloads or storage objects all are. Throws nothing but std::bad_alloc.
  /// @param query  may be without the pod, and without placements since the last refill. With HostQuery::claims, where
  ///     they are known, that is without a look at the claims by name
  virtual HostReach reach(const HostQuery& query, const Node& node) const = 0;

  /// PreFilter. That it skips may depend on the pod, on version() and on what makes all answers stale, not on reach().
  virtual HostPreFilter pre_filter(const HostQuery& /*query*/) const { return {}; }
  /// Filter and Score. @param nodes  of the query's cluster, all or some
  virtual void evaluate(const HostQuery& query, std::span<const NodeInfo* const> nodes, HostAnswers& answers) const = 0;
  /// Filter of a node with these pods added and those removed, by AddPod and RemovePod: for nominations and dry runs.
  /// @param node  of the query's cluster, without the changes  @return code and reasons
  virtual Status filter_changed(const HostQuery& query, const NodeInfo& node, std::span<const Pod* const> added,
                                std::span<const Pod* const> removed) const = 0;
  /// PreScore: kSuccess, kSkip (the plugin does not score) or kError with its reasons.
  virtual Status pre_score(const HostQuery& /*query*/) const { return {}; }
  /// Reserve: what the placement of the pod on the node decides about its claims. The cluster is without the pod.
  /// HostQuery::claims, where they are known, say which kind of claims these are.
  virtual VolumeDecisionsPtr reserve(const HostQuery& /*query*/, const NodeInfo& /*node*/) const { return nullptr; }
  /// NormalizeScore: brings the raw scores of the feasible nodes into [0, kMaxNodeScore].
  virtual void normalize(const Pod& /*pod*/, std::span<std::int64_t> /*scores*/) const {}
};

using HostPlugins = std::vector<std::shared_ptr<const HostPlugin>>;

/// @throws std::invalid_argument naming a plugin that is registered twice
void check_host_plugins(const HostPlugins& plugins);

// The calls, with exceptions as errors and the texts of kube-scheduler (v1.35, framework/runtime/framework.go).

std::optional<std::string> ask_signature(const HostPlugin& plugin, const Pod& pod);
/// Status::plugin is the name; an Error has the text that ends the cycle.
struct HostPreFilterAnswer {
  Status status;
  std::optional<std::set<std::string>> node_names;
};
HostPreFilterAnswer ask_pre_filter(const HostPlugin& plugin, const HostQuery& query);
struct HostNodeAnswers {
  std::vector<Status> statuses;    ///< [node of the list] success, or what Filter reports
  std::vector<std::int64_t> raws;  ///< [node of the list]
};
/// When the plugin throws, every node is an Error.
HostNodeAnswers ask_nodes(const HostPlugin& plugin, const HostQuery& query, std::span<const NodeInfo* const> nodes);
Status ask_changed_node(const HostPlugin& plugin, const HostQuery& query, const NodeInfo& node,
                        std::span<const Pod* const> added, std::span<const Pod* const> removed);
Status ask_pre_score(const HostPlugin& plugin, const HostQuery& query);
/// Null where the plugin throws, too.
VolumeDecisionsPtr ask_reserve(const HostPlugin& plugin, const HostQuery& query, const NodeInfo& node);
/// @return empty, or the text of the error
std::string ask_normalize(const HostPlugin& plugin, const Pod& pod, std::span<std::int64_t> scores);

}  // namespace berth
