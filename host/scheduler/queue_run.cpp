// SPDX-License-Identifier: Apache-2.0
#include "host/scheduler/queue_run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "host/objects/pod_copy.h"
#include "host/objects/pod_state.h"

namespace berth {
namespace {

constexpr std::int32_t kNoText = -1;
/// Pods that are handed to the backend at once where it stops at the first that fails, at least.
constexpr std::size_t kPodsMin = 32;
constexpr std::int64_t kMicrosPerSecond = 1'000'000;
constexpr std::int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
/// Longer grace periods, which no cluster has, count as this one, so that times stay in range.
constexpr std::int64_t kGraceMaxS = std::int64_t{1} << 40;

PodPtr terminating_copy(const Pod& pod) {
  auto copy = copy_of(pod);
  PodRare rare = pod.rare();
  rare.preempted = true;
  copy->rare_fields = std::make_unique<const PodRare>(std::move(rare));
  copy->terminating = true;
  return copy;
}

PodPtr nominated_copy(const Pod& pod, const std::string& node_name) {
  auto copy = copy_of(pod);
  PodRare rare = pod.rare();
  rare.nominated_node_name = node_name;
  copy->rare_fields = std::make_unique<const PodRare>(std::move(rare));
  return copy;
}

PodPtr bound_copy(const Pod& pod, std::string_view node_name) {
  auto copy = copy_of(pod);
  copy->node_name = node_name;
  return copy;
}

std::int64_t grace_us(const Pod& pod) {
  return std::clamp<std::int64_t>(pod.spec->termination_grace_s, 0, kGraceMaxS) * kMicrosPerSecond;
}

}  // namespace

std::string with_post_filter(const std::string& fit_error, const std::string& post_filter) {
  return post_filter.empty() ? fit_error : fit_error + " " + post_filter;
}

Eviction next_eviction(std::span<const Eviction> before, std::int32_t per_minute_max, std::int64_t now_us,
                       Eviction eviction) {
  const auto rate = static_cast<std::size_t>(per_minute_max);
  eviction.deleted_at_us = now_us;
  if (rate > 0 && before.size() >= rate)
    eviction.deleted_at_us = std::max(now_us, before[before.size() - rate].deleted_at_us + kMicrosPerMinute);
  eviction.gone_at_us = eviction.deleted_at_us + grace_us(*eviction.victim);
  return eviction;
}

QueueRun::QueueRun(const Parts& parts, const PreemptionOptions& options, std::size_t batch_pods,
                   std::function<void(std::size_t)> progress)
    : parts_(parts),
      options_(options),
      batch_pods_(batch_pods),
      progress_(std::move(progress)),
      nominated_positions_(parts.nominated_positions.begin(), parts.nominated_positions.end()) {
  if (options.mode != PreemptionMode::kOff)
    for (const Profile& profile : parts.config.profiles) post_filter_plugins_.emplace_back(profile);
}

QueueRunResult QueueRun::run() {
  try_all();
  if (options_.mode == PreemptionMode::kEvict && !waiting_.empty()) {
    add_placed_pods();
    while (!waiting_.empty()) {
      const Waiting next = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      now_us_ = next.at_us;
      remove_victims();
      try_again(next.position);
    }
  }
  return std::move(result_);
}

void QueueRun::try_all() {
  const bool some_preempt = std::any_of(post_filter_plugins_.begin(), post_filter_plugins_.end(),
                                        [](const PostFilterPlugins& plugins) { return plugins.preempts(); });
  std::size_t handed_over = batch_pods_;
  for (std::size_t next = 0; next < parts_.queue.size();) {
    std::size_t count = std::min(batch_pods_, parts_.queue.size() - next);
    BatchLimits limits;
    if (const std::size_t known = pods_without_candidate(next, count); known > 0) {
      count = known;
    } else if (some_preempt && parts_.queue[next].pod->priority > parts_.lowest_priority) {
      limits.stop_at_failure = true;
      count = std::min(count, handed_over);
    } else if (some_preempt) {
      // Nobody to evict; but PostFilter decides whether a pod that fails keeps its nomination.
      const auto nominated = std::lower_bound(nominated_positions_.begin(), nominated_positions_.end(), next);
      if (nominated != nominated_positions_.end()) count = std::min(count, std::max<std::size_t>(*nominated - next, 1));
      limits.stop_at_failure = nominated != nominated_positions_.end() && *nominated == next;
    }
    result_.answers.push_back(commit_with_refills(parts_.queue.subspan(next, count), limits, parts_.backend));
    const BatchResult& answer = result_.answers.back();
    // Each call looks at all pods that it is given, so that it is given few more than it answers.
    if (limits.stop_at_failure) handed_over = std::max(kPodsMin, 2 * answer.outcomes.size());
    note_failures(next, answer);
    next += answer.outcomes.size();
    if (progress_) progress_(next);
  }
}

/// Pods from `position` on that are known to fail, and to preempt nobody: what comes between them changes nothing.
std::size_t QueueRun::pods_without_candidate(std::size_t position, std::size_t limit) const {
  if (post_filter_ == nullptr) return 0;
  const std::span<const PodToPlace> pods = parts_.queue.subspan(position, limit);
  const auto end =
      std::find_if(pods.begin(), pods.end(), [&](const PodToPlace& pod) { return !has_no_candidate(pod); });
  return static_cast<std::size_t>(end - pods.begin());
}

bool QueueRun::has_no_candidate(const PodToPlace& pod) const {
  return post_filter_ != nullptr && post_filter_->has_no_candidate(pod);
}

/// PostFilter of the pods of an answer that found no node. With BatchLimits::stop_at_failure that is the last one.
void QueueRun::note_failures(std::size_t first, const BatchResult& answer) {
  // The end of a nomination makes room, also where its pod is placed on another node.
  const auto nominated = std::lower_bound(nominated_positions_.begin(), nominated_positions_.end(), first);
  if (nominated != nominated_positions_.end() && *nominated < first + answer.outcomes.size()) forget_failures();
  if (post_filter_plugins_.empty()) {
    for (std::size_t i = 0; i < answer.outcomes.size(); ++i) tell(first + i, answer, i, kNoText);
    return;
  }
  // By message and profile, where no node is looked at.
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> text_of_message;
  for (std::size_t i = 0; i < answer.outcomes.size(); ++i) {
    const Outcome& outcome = answer.outcomes[i];
    PodToPlace& pod = parts_.queue[first + i];
    if (outcome.kind != OutcomeKind::kUnschedulable) {
      if (outcome.kind == OutcomeKind::kPlaced) forget_texts();
      tell(first + i, answer, i, kNoText);
      continue;
    }
    const auto m = static_cast<std::size_t>(outcome.message);
    // Among pods without a candidate nothing else is answered, so that the engine is still as it was for each of them.
    const bool looks =
        has_no_candidate(pod) || (answer.stop == StopReason::kPodWithoutNode && i + 1 == answer.outcomes.size());
    std::int32_t text = kNoText;
    if (looks || pod.pod->preemption_policy == PreemptionPolicy::kNever) {
      text = text_index(preempt(first + i, pod, answer.messages[m]));
    } else {
      const auto [known, is_new] = text_of_message.try_emplace({outcome.message, pod.profile}, kNoText);
      if (is_new) known->second = text_index(text_without_looking(pod, answer.messages[m]));
      text = known->second;
    }
    tell(first + i, answer, i, text);
    if (text == kNoText) continue;
    result_.post_filter.resize(parts_.queue.size(), kNoText);
    result_.post_filter[first + i] = text;
  }
}

/// Of a first attempt. @param text  of PostFilter; kNoText: none
void QueueRun::tell(std::size_t position, const BatchResult& answer, std::size_t index, std::int32_t text) const {
  if (parts_.observer == nullptr) return;
  const Outcome& outcome = answer.outcomes[index];
  std::string message;
  if (outcome.kind != OutcomeKind::kPlaced) message = answer.messages[static_cast<std::size_t>(outcome.message)].text;
  if (text != kNoText) message = with_post_filter(message, result_.post_filter_texts[static_cast<std::size_t>(text)]);
  tell(parts_.queue[position], outcome, message);
}

void QueueRun::tell(const PodToPlace& pod, const Outcome& outcome, const std::string& message) const {
  if (parts_.observer == nullptr) return;
  const bool is_placed = outcome.kind == OutcomeKind::kPlaced;
  parts_.observer->on_attempt(
      {pod, outcome, is_placed ? parts_.backend.node_name(outcome.node) : std::string_view(), message});
}

void QueueRun::apply_preemption(std::span<const ClusterChange> changes) {
  parts_.backend.apply(changes);
  if (parts_.observer != nullptr) parts_.observer->on_preemption(changes);
}

/// Into QueueRunResult::post_filter_texts; kNoText for an empty text.
std::int32_t QueueRun::text_index(const std::string& text) {
  if (text.empty()) return kNoText;
  const auto [at, is_new] =
      post_filter_index_.try_emplace(text, static_cast<std::int32_t>(result_.post_filter_texts.size()));
  if (is_new) result_.post_filter_texts.push_back(text);
  return at->second;
}

/// What PostFilter says where no pod on any node has a lower priority.
std::string QueueRun::text_without_looking(const PodToPlace& pod, const Message& message) const {
  if (parts_.backend.slot_count() == 0) return {};
  return post_filter_plugins_[static_cast<std::size_t>(pod.profile)].text_without_victims(
      static_cast<std::int64_t>(parts_.loaded.nodes_in_order().size()), message);
}

/// @return what PostFilter says
std::string QueueRun::preempt(std::size_t position, PodToPlace& pod, const Message& message) {
  if (parts_.backend.slot_count() == 0) return {};
  open_post_filter();
  PostFilterResult result = post_filter_->run(pod, message);
  if (result.candidate) evict(position, pod, *result.candidate);
  if (result.keeps_nomination && !pod.pod->rare().nominated_node_name.empty()) keep_nomination(position, pod);
  return std::move(result.text);
}

void QueueRun::open_post_filter() {
  if (post_filter_ != nullptr) return;
  cache_ = std::make_unique<ClusterCache>(parts_.loaded);
  post_filter_ = std::make_unique<PostFilter>(parts_.backend, *cache_, parts_.config,
                                              parts_.objects.pod_disruption_budgets, options_.limits);
  for (const PodPtr& pod : parts_.objects.pods)
    if (const std::string& node = pod->rare().nominated_node_name; is_pending(*pod) && !node.empty())
      note_nominee(pod, node);
}

void QueueRun::forget_failures() {
  if (post_filter_ != nullptr) post_filter_->forget_failures();
}

/// A pod was placed, whether the cache knows it yet or not.
void QueueRun::forget_texts() {
  if (post_filter_ != nullptr) post_filter_->forget_texts();
}

void QueueRun::evict(std::size_t position, const PodToPlace& pod, const PreemptionCandidate& candidate) {
  const std::string node(parts_.backend.node_name(candidate.node));
  std::vector<PodPtr> victims;
  victims.reserve(candidate.victims.size());
  for (const Pod* const victim : candidate.victims) victims.push_back(cache_->get_pod(victim->uid()));
  sort_placed_pods();
  add_placed_pods(candidate.node);
  std::vector<ClusterChange> changes;
  std::int64_t free_at_us = now_us_;
  for (const PodPtr& victim : victims)
    free_at_us = std::max(free_at_us, delete_victim(victim, pod.pod, candidate.node, changes));
  end_lower_nominations(*pod.pod, node, changes);
  const PodPtr nominated = nominated_copy(*pod.pod, node);
  note_nominee(nominated, node);
  changes.emplace_back(NominationUpsert{nominated, node});
  apply_preemption(changes);
  nominated_pods_[position] = {nominated, pod.profile};
  result_.nominated[position] = candidate.node;
  waiting_.insert({free_at_us, position});
  forget_failures();
}

/// @return when the victim counts as gone
std::int64_t QueueRun::delete_victim(const PodPtr& victim, const PodPtr& preemptor, NodeIndex node,
                                     std::vector<ClusterChange>& changes) {
  const std::string uid = victim->uid();
  if (const auto known = gone_at_us_.find(uid); known != gone_at_us_.end()) return known->second;
  std::int64_t deleted_at_us = now_us_;
  if (!victim->terminating) {
    Eviction eviction =
        next_eviction(result_.evictions, options_.evictions_per_minute_max, now_us_, {victim, preemptor, node});
    deleted_at_us = eviction.deleted_at_us;
    const PodPtr terminating = terminating_copy(*victim);
    cache_->update_pod(terminating);
    changes.emplace_back(PodUpsert{terminating});
    post_filter_->note_eviction(*victim);
    if (const auto placed = placed_position_.find(uid); placed != placed_position_.end())
      result_.evicted_again[placed->second] = result_.evictions.size();
    result_.evictions.push_back(std::move(eviction));
  }
  const std::int64_t gone_at_us = deleted_at_us + grace_us(*victim);
  leaving_.insert({gone_at_us, uid, node});
  gone_at_us_.emplace(uid, gone_at_us);
  return gone_at_us;
}

/// 4.8: pods of lower priority lose their nomination to the node.
void QueueRun::end_lower_nominations(const Pod& preemptor, const std::string& node,
                                     std::vector<ClusterChange>& changes) {
  const auto of_node = nominees_of_node_.find(node);
  if (of_node == nominees_of_node_.end()) return;
  std::erase_if(of_node->second, [&](const std::string& uid) {
    const auto known = nominees_.find(uid);
    if (known == nominees_.end() || known->second.node_name != node) return true;  // an older one
    if (known->second.pod->priority >= preemptor.priority) return false;
    changes.emplace_back(NominationUpsert{known->second.pod, ""});
    forget_nominated_node(uid);
    nominees_.erase(known);
    return true;
  });
}

void QueueRun::note_nominee(const PodPtr& pod, const std::string& node) {
  const std::string uid = pod->uid();
  nominees_[uid] = {pod, node};
  std::vector<std::string>& of_node = nominees_of_node_[node];
  if (std::find(of_node.begin(), of_node.end(), uid) == of_node.end()) of_node.push_back(uid);
}

/// A preemptor that waits is tried again all the same, as one that was never nominated. So is a pod that is still to be
/// tried, whose status named the node.
void QueueRun::forget_nominated_node(const std::string& uid) {
  std::erase_if(nominated_positions_, [&](std::size_t position) {
    PodToPlace& pod = parts_.queue[position];
    if (pod.pod->uid() != uid) return false;
    pod = {nominated_copy(*pod.pod, ""), pod.profile};
    parts_.backend.compile({&pod, 1});
    result_.nominated.erase(position);
    return true;
  });
  for (auto& [position, waiting] : nominated_pods_) {
    if (waiting.pod->uid() != uid) continue;
    waiting.pod = nominated_copy(*waiting.pod, "");
    result_.nominated.erase(position);
  }
}

/// The pod keeps the nomination that its status names: 4.10, "PostFilter returned no result". Where pods that were
/// preempted are still leaving the node, it is tried again when the next of them is gone.
void QueueRun::keep_nomination(std::size_t position, const PodToPlace& pod) {
  const std::string& name = pod.pod->rare().nominated_node_name;
  const NodeInfo* const node = cache_->find_node(name);
  const std::vector<ClusterChange> change{NominationUpsert{pod.pod, name}};
  if (node == nullptr || node->node == nullptr) {  // reserves nothing
    if (parts_.observer != nullptr) parts_.observer->on_preemption(change);
    return;
  }
  apply_preemption(change);
  note_nominee(pod.pod, name);
  result_.nominated[position] = parts_.backend.find_node(name);
  std::int64_t next_gone_us = std::numeric_limits<std::int64_t>::max();
  for (const PodPtr& other : node->pods)
    if (const auto at = gone_at_us_.find(other->uid()); at != gone_at_us_.end())
      next_gone_us = std::min(next_gone_us, at->second);
  if (next_gone_us == std::numeric_limits<std::int64_t>::max()) return;
  nominated_pods_[position] = {pod.pod, pod.profile};
  waiting_.insert({next_gone_us, position});
}

void QueueRun::remove_victims() {
  std::vector<ClusterChange> changes;
  while (!leaving_.empty() && leaving_.begin()->gone_at_us <= now_us_) {
    const std::string uid = leaving_.begin()->uid;
    add_placed_pods(leaving_.begin()->node);
    leaving_.erase(leaving_.begin());
    gone_at_us_.erase(uid);
    placed_position_.erase(uid);
    cache_->remove_pod(uid);
    changes.emplace_back(PodRemoval{uid});
  }
  if (changes.empty()) return;
  parts_.backend.apply(changes);
  if (parts_.observer != nullptr) parts_.observer->on_gone(changes);
  forget_failures();
}

/// The placed pods of answers that came since the last call, by their node.
void QueueRun::sort_placed_pods() {
  placed_on_.resize(static_cast<std::size_t>(parts_.backend.slot_count()));
  for (; sorted_answers_ < result_.answers.size(); ++sorted_answers_) {
    for (const Outcome& outcome : result_.answers[sorted_answers_].outcomes) {
      if (outcome.kind == OutcomeKind::kPlaced)
        placed_on_[static_cast<std::size_t>(outcome.node.value)].push_back(sorted_pods_);
      ++sorted_pods_;
    }
  }
}

/// On nodes where one of them has a lower priority than a preemptor that waits: in the order of the queue there is
/// none.
void QueueRun::add_placed_pods() {
  sort_placed_pods();
  std::int32_t highest = std::numeric_limits<std::int32_t>::min();
  for (const Waiting& waiting : waiting_) highest = std::max(highest, parts_.queue[waiting.position].pod->priority);
  for (std::size_t slot = 0; slot < placed_on_.size(); ++slot) {
    const bool has_lower = std::any_of(placed_on_[slot].begin(), placed_on_[slot].end(), [&](std::size_t position) {
      return parts_.queue[position].pod->priority < highest;
    });
    if (has_lower) add_placed_pods(NodeIndex{static_cast<std::int32_t>(slot)});
  }
}

void QueueRun::add_placed_pods(NodeIndex node) {
  std::vector<std::size_t>& placed = placed_on_[static_cast<std::size_t>(node.value)];
  for (const std::size_t position : placed) note_placed(position, *parts_.queue[position].pod, node);
  placed = {};
}

void QueueRun::note_placed(std::size_t position, const Pod& pod, NodeIndex node) {
  cache_->add_pod(bound_copy(pod, parts_.backend.node_name(node)));
  placed_position_.emplace(pod.uid(), position);
}

void QueueRun::try_again(std::size_t position) {
  PodToPlace pod = nominated_pods_.at(position);
  parts_.backend.compile({&pod, 1});
  BatchResult answer = commit_with_refills({&pod, 1}, {}, parts_.backend);
  const Outcome& outcome = answer.outcomes.front();
  result_.nominated.erase(position);
  LaterOutcome& later = result_.later[position];
  later = {outcome, {}};
  if (outcome.kind == OutcomeKind::kPlaced) {
    nominees_.erase(pod.pod->uid());
    forget_texts();
    tell(pod, outcome, {});
    add_placed_pods(outcome.node);
    return note_placed(position, *pod.pod, outcome.node);
  }
  later.message = std::move(answer.messages[static_cast<std::size_t>(outcome.message)]);
  if (outcome.kind == OutcomeKind::kUnschedulable)
    later.message.text = with_post_filter(later.message.text, preempt(position, pod, later.message));
  tell(pod, outcome, result_.later.at(position).message.text);
}

}  // namespace berth
