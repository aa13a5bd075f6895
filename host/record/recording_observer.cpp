// SPDX-License-Identifier: Apache-2.0
#include "host/record/recording_observer.h"

namespace berth {
namespace {

/// @param made  holds a uid that the pod does not store
RecordedPodView name_of(const Pod& pod, std::string& made) {
  if (!pod.stored_uid.empty()) return {pod.namespace_, pod.name, pod.stored_uid};
  made = pod.uid();
  return {pod.namespace_, pod.name, made};
}

}  // namespace

void RecordingObserver::on_attempt(const Attempt& attempt) {
  const Pod& pod = *attempt.info.pod;
  std::string uid;
  RecordedEventView event;
  event.kind = RecordedKind::kDecision;
  event.time_us = clock_.now_us();
  event.pod = name_of(pod, uid);
  event.profile = pod.spec->scheduler_name;
  event.attempt = attempt.info.attempts;
  event.result = to_string(attempt.result);
  event.node = attempt.node_name;
  event.score = attempt.score;
  event.message = attempt.message;
  writer_.add(event);
}

void RecordingObserver::on_bound(const QueuedPodInfo& info, std::string_view node_name) {
  std::string uid;
  RecordedEventView event;
  event.kind = RecordedKind::kBinding;
  event.time_us = clock_.now_us();
  event.pod = name_of(*info.pod, uid);
  event.node = node_name;
  writer_.add(event);
}

void RecordingObserver::on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) {
  std::string uid;
  std::string preemptor_uid;
  RecordedEventView event;
  event.kind = RecordedKind::kEviction;
  event.time_us = clock_.now_us();
  event.pod = name_of(*victim, uid);
  event.preemptor = name_of(*preemptor, preemptor_uid);
  event.node = node_name;
  writer_.add(event);
}

}  // namespace berth
