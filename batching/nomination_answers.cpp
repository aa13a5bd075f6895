// SPDX-License-Identifier: Apache-2.0
#include "batching/nomination_answers.h"

#include "batching/node_filter.h"

namespace berth {

/// Null: there are no nominations, and there were none when pods of the class were placed before.
NominationAnswers::ClassAnswers* NominationAnswers::find(const PodToPlace& pod) {
  const auto c = static_cast<std::size_t>(pod.class_index);
  if (c < of_class_.size() && of_class_[c] != nullptr) return of_class_[c].get();
  if (nominations_.empty()) return nullptr;
  if (c >= of_class_.size()) of_class_.resize(static_cast<std::size_t>(table_.size()));
  of_class_[c] = std::make_unique<ClassAnswers>();
  return of_class_[c].get();
}

NominationAnswers::Refused NominationAnswers::of(const PodToPlace& pod) {
  ClassAnswers* answers = find(pod);
  if (answers == nullptr) return {none_, 0, {}, false};
  const PodClass& pod_class = table_[pod.class_index];
  overlay_.read_for(pod_class);
  affinity_skips_ = affinity_pre_filter_skips(pod_class, snapshot_);
  asked_at_.resize(static_cast<std::size_t>(snapshot_.slot_count()));
  ++call_;
  answers->changed.clear();
  if (answers->generation == nominations_.generation() && log_.reaches(answers->log_seen) &&
      !nominations_.tell_apart(answers->priority, pod.pod->priority) && pod_class.host.is_idle()) {
    ask_changed(pod, *answers);
  } else {
    ask_all(pod, *answers);
  }
  // The answer of the node that the pod is nominated to, or that the last one was, is for that pod alone.
  const std::int32_t own_node = nominations_.node_of(*pod.pod);
  if (own_node >= 0) ask_once(pod, own_node, *answers);
  answers->own_node = own_node;
  answers->priority = pod.pod->priority;
  answers->generation = nominations_.generation();
  answers->nominations_seen = nominations_.changed_nodes().size();
  answers->log_seen = log_.position();
  if (!answers->changed.empty()) answers->version = answers->refused.empty() ? 0 : ++last_version_;
  return {answers->refused, answers->version, answers->changed, !answers->reads_counts.empty()};
}

std::vector<std::int32_t> NominationAnswers::forget(std::int32_t pod_class) {
  if (!knows(pod_class)) return {};
  const std::unique_ptr<ClassAnswers> answers = std::move(of_class_[static_cast<std::size_t>(pod_class)]);
  return {answers->refused.members().begin(), answers->refused.members().end()};
}

void NominationAnswers::ask_all(const PodToPlace& pod, ClassAnswers& answers) {
  answers.reads_counts.clear();
  for (const std::int32_t node : nominations_.nominated_nodes()) {
    note_counts(pod, node, answers);
    ask_once(pod, node, answers);
  }
  const std::vector<std::int32_t> refused(answers.refused.members().begin(), answers.refused.members().end());
  for (const std::int32_t node : refused) ask_once(pod, node, answers);
}

void NominationAnswers::ask_changed(const PodToPlace& pod, ClassAnswers& answers) {
  for (const std::int32_t node : nominations_.changed_nodes().subspan(answers.nominations_seen)) {
    note_counts(pod, node, answers);
    ask_once(pod, node, answers);
  }
  if (answers.own_node >= 0) ask_once(pod, answers.own_node, answers);
  if (answers.log_seen == log_.position()) return;
  for (const LogEntry& entry : log_.since(answers.log_seen))
    if (nominations_.is_nominated(entry.node)) ask_once(pod, entry.node, answers);
  for (const std::int32_t node : answers.reads_counts.members()) ask_once(pod, node, answers);
}

void NominationAnswers::note_counts(const PodToPlace& pod, std::int32_t node, ClassAnswers& answers) const {
  if (nominations_.change_counts(table_[pod.class_index], node)) {
    answers.reads_counts.insert(node);
  } else {
    answers.reads_counts.erase(node);
  }
}

void NominationAnswers::ask_once(const PodToPlace& pod, std::int32_t node, ClassAnswers& answers) {
  std::uint64_t& asked_at = asked_at_[static_cast<std::size_t>(node)];
  if (asked_at == call_) return;
  asked_at = call_;
  const bool refuses_now = refuses(pod, node, answers.reads_counts.contains(node));
  if (refuses_now == answers.refused.contains(node)) return;
  if (refuses_now) {
    answers.refused.insert(node);
  } else {
    answers.refused.erase(node);
  }
  answers.changed.push_back(node);
}

/// Where the nominated pods change no count that the class reads, the topology rules say the same in both passes.
bool NominationAnswers::refuses(const PodToPlace& pod, std::int32_t node, bool reads_counts) {
  const PodClass& pod_class = table_[pod.class_index];
  const CompiledProfile& profile = table_.profile_of(pod.class_index);
  if (!nominations_.is_nominated(node)) return false;
  overlay_.reset(node);
  if (!reads_counts && pod_class.host.is_idle())
    return nominations_.add_loads_against(*pod.pod, overlay_) && !load_accepts(pod_class, profile, overlay_);
  if (!nominations_.any_against(*pod.pod, node)) return false;
  nominations_.add_against(*pod.pod, pod_class, affinity_skips_, overlay_);
  return !verdict_of_node(pod_class, profile, sides_.of(pod.class_index), overlay_, affinity_skips_).accepts();
}

bool NominationAnswers::refuses_after(const PodToPlace& pod, std::int32_t node, std::int64_t copies) {
  const PodClass& pod_class = table_[pod.class_index];
  overlay_.read_for(pod_class);
  overlay_.reset(node);
  if (!nominations_.add_loads_against(*pod.pod, overlay_)) return false;
  for (std::int64_t copy = 0; copy < copies; ++copy) overlay_.add({pod_class.delta, {}, {}});
  return !load_accepts(pod_class, table_.profile_of(pod.class_index), overlay_);
}

}  // namespace berth
