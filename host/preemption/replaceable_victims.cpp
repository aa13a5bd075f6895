// SPDX-License-Identifier: Apache-2.0
#include "host/preemption/replaceable_victims.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/objects/pod_copy.h"

namespace berth {
namespace {

/// The victims as their owners would make them again; nullopt: one is of another scheduler.
std::optional<std::vector<PodToPlace>> as_pending(const std::vector<const Pod*>& victims,
                                                  const SchedulerConfig& config) {
  std::vector<PodToPlace> pending;
  pending.reserve(victims.size());
  for (const Pod* const victim : victims) {
    const Profile* const profile = config.find_profile(victim->spec->scheduler_name);
    if (profile == nullptr) return std::nullopt;
    pending.push_back({pending_copy_of(*victim), static_cast<std::int32_t>(profile - config.profiles.data())});
  }
  return pending;
}

/// Pods that are prepared while this exists.
class PreparedPods {
 public:
  PreparedPods(Backend& backend, std::vector<PodToPlace>& pods) : backend_(backend), pods_(pods) {
    backend_.prepare(pods_);
  }
  PreparedPods(const PreparedPods&) = delete;
  PreparedPods& operator=(const PreparedPods&) = delete;
  ~PreparedPods() { backend_.release(pods_); }

 private:
  Backend& backend_;
  std::vector<PodToPlace>& pods_;
};

}  // namespace

bool ReplaceableVictims::fit_elsewhere(const PodToPlace& preemptor, const PreemptionCandidate& candidate) {
  std::optional<std::vector<PodToPlace>> victims = as_pending(candidate.victims, config_);
  if (!victims) return false;
  const PreparedPods prepared(backend_, *victims);
  std::vector<ClusterChange> evictions;
  for (const PodToPlace& victim : *victims) evictions.emplace_back(PodRemoval{victim.pod->uid()});
  const std::unique_ptr<Fork> fork = backend_.fork();
  ++fork_count_;
  fork->apply(evictions);
  fork->place(preemptor, backend_.node_name(candidate.node));
  const BatchResult result = fork->commit_batch(*victims, {.stop_at_failure = true});
  return result.outcomes.size() == victims->size() &&
         std::all_of(result.outcomes.begin(), result.outcomes.end(),
                     [](const Outcome& outcome) { return outcome.kind == OutcomeKind::kPlaced; });
}

}  // namespace berth
