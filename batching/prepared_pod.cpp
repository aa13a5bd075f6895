// SPDX-License-Identifier: Apache-2.0
#include "batching/prepared_pod.h"

#include <stdexcept>

namespace berth {
namespace {

[[noreturn]] void throw_not_prepared(const Pod& pod) {
  throw std::logic_error("pod " + pod.full_name() + " is not prepared: call Backend::prepare()");
}

}  // namespace

PreparedPod::PreparedPod(const PodToPlace& pod, const ClassTable& table, const Nominations& nominations)
    : pod_(*pod.pod), class_index_(pod.class_index) {
  if (class_index_ == -1 || table.is_stale(pod)) throw_not_prepared(pod_);
  if (ClassTable::is_error(class_index_)) {
    error_ = table.error(class_index_);
    return;
  }
  pod_class_ = &table[class_index_];
  profile_ = &table.profile_of(class_index_);
  row_ = table.built_node_side(class_index_);
  if (row_ == nullptr) throw_not_prepared(pod_);
  pre_filter_ = table.pre_filter(class_index_, *row_);
  error_ = pre_filter_.error;
  own_node_ = nominations.node_of(pod_);
  if (own_node_ < 0 || !row_->is_outside_node_set(own_node_)) return;
  open_row_ = table.built_node_side(class_index_, NodeSet::kIgnored);
  if (open_row_ == nullptr) throw_not_prepared(pod_);
}

NodeVerdict PreparedPod::pre_filter_verdict() const {
  return {StatusCode::kUnschedulableAndUnresolvable,
          is_refused() ? pre_filter_.plugin : row_->refusals[row_->outside_node_set].plugin};
}

}  // namespace berth
