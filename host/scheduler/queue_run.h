// SPDX-License-Identifier: Apache-2.0
#pragma once

// One run of `berth schedule` over a backend: every pod of the queue is tried once, in order. Pods that find no node
// preempt others, and are tried again when their victims are gone.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "batching/backend.h"
#include "host/cluster/cache.h"
#include "host/config/scheduler_config.h"
#include "host/objects/cluster_objects.h"
#include "host/preemption/post_filter.h"

namespace berth {

/// What becomes of pods that find no node.
enum class PreemptionMode : std::uint8_t {
  kEvict,     ///< they evict others, and are tried again when their victims are gone
  kNominate,  ///< the same up to their nomination
  kOff,
};

struct PreemptionOptions {
  PreemptionMode mode = PreemptionMode::kEvict;
  PreemptionLimits limits;
  std::int32_t evictions_per_minute_max = 0;  ///< 0: no limit
};

/// A pod that was evicted. Times are of the run's own clock, which stands at 0 while the queue is tried once.
struct Eviction {
  PodPtr victim;
  PodPtr preemptor;
  NodeIndex node;
  std::int64_t deleted_at_us = 0;
  std::int64_t gone_at_us = 0;  ///< its grace period later
};

/// The outcome of a pod's latest attempt, where it is not the first one.
struct LaterOutcome {
  Outcome outcome;  ///< its message is no index
  Message message;  ///< of a pod without a node
};

struct QueueRunResult {
  std::vector<BatchResult> answers;  ///< of the first attempts: together one outcome per pod, in queue order
  // By position in the queue:
  /// What PostFilter adds to the message of a first attempt: into `post_filter_texts`; -1: nothing. Empty where no pod
  /// fails.
  std::vector<std::int32_t> post_filter;
  std::map<std::size_t, LaterOutcome> later;
  std::map<std::size_t, NodeIndex> nominated;        ///< of pods without a node at the end
  std::map<std::size_t, std::size_t> evicted_again;  ///< pods that were placed and then evicted: into `evictions`
  std::vector<std::string> post_filter_texts;
  std::vector<Eviction> evictions;  ///< in order
};

/// Is told what a run does, in order.
class QueueRunObserver {
 public:
  virtual ~QueueRunObserver() = default;
  /// One attempt. Valid during the call.
  struct Attempt {
    const PodToPlace& pod;
    const Outcome& outcome;
    std::string_view node_name;  ///< empty: none
    const std::string& message;  ///< of a pod without a node, with what PostFilter adds
  };
  virtual void on_attempt(const Attempt& attempt) = 0;
  /// What PostFilter of the attempt that is told next did to the cluster: victims are being deleted, nominations.
  virtual void on_preemption(std::span<const ClusterChange> changes) = 0;
  /// Victims are gone.
  virtual void on_gone(std::span<const ClusterChange> changes) = 0;
};

/// Fills the times of an eviction that is asked for at `now_us`: with a limit, the last `per_minute_max` ones of
/// `before` leave at most so many to a minute. @param per_minute_max  0: no limit
Eviction next_eviction(std::span<const Eviction> before, std::int32_t per_minute_max, std::int64_t now_us,
                       Eviction eviction);

/// A FitError with what PostFilter says, as upstream writes it: docs/behaviour/scheduler-core.md 3.5.
std::string with_post_filter(const std::string& fit_error, const std::string& post_filter);

class QueueRun {
 public:
  struct Parts {
    const ClusterObjects& objects;
    const ClusterCache& loaded;  ///< what the backend was opened with
    const SchedulerConfig& config;
    Backend& backend;
    std::span<PodToPlace> queue;                       ///< compiled, by falling priority
    std::span<const std::size_t> nominated_positions;  ///< Intake::nominated_positions
    std::int32_t lowest_priority;                      ///< Intake::lowest_priority
    QueueRunObserver* observer = nullptr;              ///< null: nobody is told
  };
  /// Everything must outlive the object.
  /// @param batch_pods  handed to the backend at once, at most
  /// @param progress  called between batches with the number of pods that were tried; may be empty
  QueueRun(const Parts& parts, const PreemptionOptions& options, std::size_t batch_pods,
           std::function<void(std::size_t done)> progress);

  /// Once.
  QueueRunResult run();

 private:
  /// A preemptor that is tried again at a time; at equal times by its place in the queue.
  struct Waiting {
    std::int64_t at_us;
    std::size_t position;
    friend auto operator<=>(const Waiting&, const Waiting&) = default;
  };
  /// A pod that counts as gone at a time.
  struct Leaving {
    std::int64_t gone_at_us;
    std::string uid;
    NodeIndex node;
    friend bool operator<(const Leaving& a, const Leaving& b) {
      return std::tie(a.gone_at_us, a.uid) < std::tie(b.gone_at_us, b.uid);
    }
  };
  struct Nominee {
    PodPtr pod;
    std::string node_name;
  };

  void try_all();
  std::size_t pods_without_candidate(std::size_t position, std::size_t limit) const;
  bool has_no_candidate(const PodToPlace& pod) const;
  void try_again(std::size_t position);
  void note_failures(std::size_t first, const BatchResult& answer);
  void tell(std::size_t position, const BatchResult& answer, std::size_t index, std::int32_t text) const;
  void tell(const PodToPlace& pod, const Outcome& outcome, const std::string& message) const;
  void apply_preemption(std::span<const ClusterChange> changes);
  std::int32_t text_index(const std::string& text);
  std::string text_without_looking(const PodToPlace& pod, const Message& message) const;
  std::string preempt(std::size_t position, PodToPlace& pod, const Message& message);
  void open_post_filter();
  void forget_failures();
  void forget_texts();
  void evict(std::size_t position, const PodToPlace& pod, const PreemptionCandidate& candidate);
  std::int64_t delete_victim(const PodPtr& victim, const PodPtr& preemptor, NodeIndex node,
                             std::vector<ClusterChange>& changes);
  void end_lower_nominations(const Pod& preemptor, const std::string& node, std::vector<ClusterChange>& changes);
  void note_nominee(const PodPtr& pod, const std::string& node);
  void forget_nominated_node(const std::string& uid);
  void keep_nomination(std::size_t position, const PodToPlace& pod);
  void remove_victims();
  void sort_placed_pods();
  void add_placed_pods();
  void add_placed_pods(NodeIndex node);
  void note_placed(std::size_t position, const Pod& pod, NodeIndex node);

  Parts parts_;
  PreemptionOptions options_;
  std::size_t batch_pods_;
  std::function<void(std::size_t)> progress_;
  QueueRunResult result_;
  std::vector<PostFilterPlugins> post_filter_plugins_;  ///< [profile]; empty with PreemptionMode::kOff
  std::vector<std::size_t> nominated_positions_;        ///< in the queue, of pods whose status names a node
  std::unordered_map<std::string, std::int32_t> post_filter_index_;  ///< [text]

  // Once a pod preempts:
  std::unique_ptr<ClusterCache> cache_;  ///< the cluster with what the run changed, but for the pods of placed_on_
  /// [node] positions in the queue of placed pods that cache_ does not have yet, in order. They come to it before a pod
  /// of the node changes, because the order of the pods depends on it, and before one of them may be a victim.
  std::vector<std::vector<std::size_t>> placed_on_;
  std::size_t sorted_answers_ = 0;  ///< of result_.answers, whose placed pods went to placed_on_
  std::size_t sorted_pods_ = 0;     ///< in those
  std::unique_ptr<PostFilter> post_filter_;
  std::unordered_map<std::string, Nominee> nominees_;  ///< [uid]; may hold pods that are nominated no longer
  std::unordered_map<std::string, std::vector<std::string>> nominees_of_node_;  ///< [node] uids, perhaps older ones too
  std::unordered_map<std::string, std::size_t> placed_position_;  ///< [uid] in the queue, of placed pods in cache_
  std::set<Leaving> leaving_;
  std::unordered_map<std::string, std::int64_t> gone_at_us_;  ///< [uid] of those
  std::set<Waiting> waiting_;
  std::map<std::size_t, PodToPlace> nominated_pods_;  ///< by position: as it is tried again, with its nomination
  std::int64_t now_us_ = 0;
};

}  // namespace berth
