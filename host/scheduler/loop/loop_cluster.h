// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/preemption/post_filter.h"
#include "host/scheduler/explain_document.h"
#include "host/scheduler/loop/loop_options.h"
#include "host/store/object_store.h"
#include "plugins/pod_topology_spread/compile.h"

namespace berth {

enum class ExplainDepth : std::uint8_t {
  kRecord,  ///< what write_explain_record() writes
  kReport,  ///< what explain_report() reads too
};
using TakeExplanation = std::function<void(const Explanation&, const NodeNames&)>;

/// The cluster as a scheduler knows it: what watches told, and the placements that are not bound yet. Keeps cache and
/// engine in the same state.
class LoopCluster {
 public:
  /// @param options  outlives this
  LoopCluster(const StoreContents& start, const LoopOptions& options);

  /// Events of one moment, in order. Cache and engine are in the same state afterwards, whatever the events say.
  void take(std::span<const WatchEvent> events);
  /// What plugins on the host have published since is read from now on.
  void take_new_plugin_data();
  /// Pods that the cache had elsewhere than the events of the last take() say: a text each. Empty afterwards.
  std::vector<std::string> take_mismatches() { return std::exchange(mismatches_, {}); }
  /// Appends the events that lead from what this knows to what there is; pods left out.
  void append_changes_to(const StoreContents& now, std::vector<WatchEvent>& events) const;
  /// The pod with the node on which it stands, or is assumed; null when it is on none.
  PodPtr pod_with_node(std::string_view uid) const;
  /// A pod that stands on a node, or is assumed there, as pod_with_node() gives it; null when there is none of the
  /// name.
  PodPtr find_on_node(std::string_view name_space, std::string_view name) const;
  /// What a pod that is on no node means to every node now, and whom it would evict; nothing is placed. A pod that is
  /// on one is taken off it first, in a fork, and preemption is not looked at. The pod is compiled as for an attempt.
  /// @param explanation  evaluation and preemption, claims and topology for a report, are filled in
  /// @param take  called once; what it gets is valid during the call
  void evaluate(Explanation& explanation, ExplainDepth depth, const TakeExplanation& take) const;
  /// The engine gives up a placement that is not bound; the cache has forgotten it, or never had it.
  void undo(const Pod& pod);
  /// The same, and the cache forgets it.
  void forget(const Pod& pod);
  /// The engine's reservation for a pending pod. @param node  empty: none
  void set_nomination(const PodPtr& pod, const std::string& node);
  /// The engine has answered the pod, which ends its reservation: there is more room for others.
  void note_answered(const Pod& pod) {
    if (!told_nominations_.empty() && told_nominations_.erase(pod.uid()) > 0) forget_failures();
  }
  bool has_nominations() const { return !told_nominations_.empty(); }
  bool is_nominated(const Pod& pod) const { return told_nominations_.contains(pod.uid()); }
  /// The engine has placed the pod.
  void note_placed(const Pod& pod) { note_on_node(pod); }

  Backend& backend() { return *backend_; }
  const Backend& backend() const { return *backend_; }
  const std::string& why_backend() const { return why_backend_; }
  ClusterCache& cache() { return cache_; }
  const ClusterCache& cache() const { return cache_; }
  PostFilter& post_filter();
  /// PostFilter::has_no_candidate().
  bool has_no_candidate(const PodToPlace& pod) const {
    return post_filter_ != nullptr && !budgets_changed_ && post_filter_->has_no_candidate(pod);
  }
  std::uint64_t fork_count() const { return post_filter_ == nullptr ? 0 : post_filter_->fork_count(); }
  /// The selector that default spreading gives the pod.
  PodLabelSelector default_selector_of(const Pod& pod) const { return selectors_->of(pod); }

  std::int64_t node_count() const { return node_count_; }
  /// No pod on a node has a priority below this one.
  std::int32_t lowest_priority() const { return lowest_priority_; }

 private:
  void take(const ObjectChange<Pod>& change);
  void take(const ObjectChange<Node>& change);
  void take(const ObjectChange<Namespace>& change);
  void take(const ObjectChange<Service>& change);
  void take(const ObjectChange<Workload>& change);
  void take(const ObjectChange<PodDisruptionBudget>& change);
  void take(const ObjectChange<PriorityClass>& change) { static_cast<void>(change); }
  template <class T>
    requires(is_storage(kKindOf<T>))
  void take(const ObjectChange<T>& change);
  void put_on_node(const PodPtr& pod);
  void update_on_node(const PodPtr& pod);
  void replace(const PodPtr& pod);
  void note_on_node(const Pod& pod);
  void forget_failures();

  std::vector<PodDisruptionBudget> budgets() const;

  const LoopOptions& options_;
  SchedulerConfig engine_config_;  ///< with_topology_profiles(), for explain()
  ClusterCache cache_;
  ObjectsByNamespace objects_;  ///< for default spreading
  std::set<std::string> namespaces_;
  std::vector<std::string> mismatches_;
  std::unique_ptr<DefaultSelectors> selectors_;
  std::unique_ptr<Backend> backend_;
  std::string why_backend_;
  std::map<std::pair<std::string, std::string>, PodDisruptionBudget> budgets_;  ///< by namespace and name
  std::unique_ptr<PostFilter> post_filter_;
  bool budgets_changed_ = false;
  std::set<std::string> changed_selectors_;                        ///< namespaces; of the call that is under way
  std::vector<ClusterChange> changes_;                             ///< of the call that is under way
  std::unordered_map<std::string, std::string> told_nominations_;  ///< [uid] what the engine knows
  std::int64_t node_count_ = 0;
  std::int32_t lowest_priority_;
};

}  // namespace berth
