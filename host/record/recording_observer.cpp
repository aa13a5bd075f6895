// SPDX-License-Identifier: Apache-2.0
#include "host/record/recording_observer.h"

namespace berth {
namespace {

void name(const Pod& pod, RecordedPod& out) {
  out.name_space = pod.namespace_;
  out.name = pod.name;
  if (pod.stored_uid.empty()) {
    out.uid = pod.uid();
  } else {
    out.uid = pod.stored_uid;  // no copy of it is made on the way
  }
}

}  // namespace

void RecordingObserver::on_attempt(const Attempt& attempt) {
  const Pod& pod = *attempt.info.pod;
  decision_.time_us = clock_.now_us();
  name(pod, decision_.pod);
  decision_.profile = pod.spec->scheduler_name;
  decision_.attempt = attempt.info.attempts;
  decision_.result = to_string(attempt.result);
  decision_.node = attempt.node_name;
  decision_.score = attempt.score;
  decision_.message = attempt.message;
  writer_.add(decision_);
}

void RecordingObserver::on_bound(const QueuedPodInfo& info, std::string_view node_name) {
  binding_.time_us = clock_.now_us();
  name(*info.pod, binding_.pod);
  binding_.node = node_name;
  writer_.add(binding_);
}

void RecordingObserver::on_preempted(const PodPtr& victim, const PodPtr& preemptor, std::string_view node_name) {
  eviction_.time_us = clock_.now_us();
  name(*victim, eviction_.pod);
  name(*preemptor, eviction_.preemptor);
  eviction_.node = node_name;
  writer_.add(eviction_);
}

}  // namespace berth
