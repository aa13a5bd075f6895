// SPDX-License-Identifier: Apache-2.0
#include "host/binding/binding_cycle.h"

#include <stdexcept>
#include <utility>

#include "host/framework/plugin_calls.h"

namespace berth {
namespace {

/// Reserve and Permit reject the pod on its one selected node.
std::string fit_error_of_one_node(const Status& status) {
  Diagnosis diagnosis;
  diagnosis.node_count = 1;
  for (const std::string& reason : status.reasons) ++diagnosis.reason_counts[reason];
  return fit_error_text(diagnosis);
}

bool is_fit_stage(BindingStage stage) {
  return stage == BindingStage::kReserve || stage == BindingStage::kPermit || stage == BindingStage::kPermitWait;
}

std::string assume_error_text(const Pod& pod, const std::string& node_name, CacheResult why) {
  const std::string who = "pod " + pod.uid() + "(" + pod.full_name() + ")";
  switch (why) {
    case CacheResult::kAlreadyPresent:
      return who + " is in the cache, so can't be assumed";
    case CacheResult::kNodeMismatch:
      return who + " names node \"" + pod.node_name + "\", so it can't be assumed on node \"" + node_name + "\"";
    default:
      return who + " can't be assumed on node \"" + node_name + "\"";
  }
}

StatusCode code_of(const Status& status) { return status.code; }
StatusCode code_of(const PermitOutcome& outcome) { return outcome.status.code; }

}  // namespace

BindingCycle::BindingCycle(Parts parts, PodPtr pod, std::string node_name, CycleState state)
    : parts_(parts), pod_(std::move(pod)), node_name_(std::move(node_name)), state_(std::move(state)) {}

/// Runs a point that gives its answer at once.
template <class Run>
auto BindingCycle::metered(MeteredPoint point, Run run) {
  const MeterWatch watch(parts_.framework.meter());
  auto result = run();
  tell(point, code_of(result), watch);
  return result;
}

/// The point goes on later, by the clock.
void BindingCycle::note_wait() {
  if (parts_.framework.meter() == nullptr || waits_since_us_) return;
  waits_since_us_ = parts_.waiting_pods.clock().now_us();
}

/// A point is over: its last call, and the wait before that.
void BindingCycle::tell(SchedulingMeter& meter, MeteredPoint point, StatusCode code, const MeterWatch& watch) {
  double seconds = watch.seconds();
  if (waits_since_us_) {
    seconds += seconds_between(*waits_since_us_, parts_.waiting_pods.clock().now_us());
    if (!binder_.empty() && meter.wants_plugins(point)) meter.on_plugin(binder_, point, code, seconds);
    waits_since_us_.reset();
  }
  meter.on_point(point, code, parts_.framework.profile_name(), seconds);
}

BindingOutcome BindingCycle::reserve() {
  if (next_ != Next::kReserve) throw std::logic_error("BindingCycle::reserve() is called once");
  const CacheResult assumed = parts_.cache.assume_pod(pod_, node_name_);
  if (assumed != CacheResult::kOk) return refuse_to_assume(assumed);
  if (parts_.hooks.delete_nomination) parts_.hooks.delete_nomination(*pod_);

  Status reserved = metered(MeteredPoint::kReserve, [&] { return parts_.framework.run_reserve(placed()); });
  if (!reserved.ok()) return fail(BindingStage::kReserve, std::move(reserved));
  PermitOutcome permit = metered(MeteredPoint::kPermit, [&] { return parts_.framework.run_permit(placed()); });
  if (permit.status.code == StatusCode::kWait) {
    parts_.waiting_pods.add(pod_, permit.waits);
  } else if (!permit.status.ok()) {
    return fail(BindingStage::kPermit, std::move(permit.status));
  }
  drain_pods_to_activate();
  return reached(BindingResult::kReserved, BindingStage::kPermit, Next::kPreFlight);
}

BindingOutcome BindingCycle::proceed(PermitWait wait) {
  if (!can_proceed()) {
    throw std::logic_error("BindingCycle::proceed() follows a good reserve() and ends with the cycle");
  }
  if (next_ == Next::kPreBind) return pre_bind();
  if (next_ == Next::kPreFlight) {
    BindingOutcome outcome = pre_flight();
    if (outcome.result == BindingResult::kError) return outcome;
  }
  BindingOutcome outcome = await_permit(wait);
  if (outcome.result != BindingResult::kReserved) return outcome;
  if (parts_.hooks.done) parts_.hooks.done(*pod_);
  return pre_bind();
}

BindingOutcome BindingCycle::pre_flight() {
  const MeterWatch watch(parts_.framework.meter());
  Status status = parts_.framework.run_pre_bind_pre_flight(placed());
  if (parts_.hooks.nominate)
    tell(MeteredPoint::kPreBindPreFlight, status.code, watch);  // upstream runs it for that only
  if (!status.ok() && status.code != StatusCode::kSkip) return fail(BindingStage::kPreFlight, std::move(status));
  const bool takes_time = status.ok() || parts_.waiting_pods.is_waiting(pod_->uid());
  if (takes_time && parts_.hooks.nominate) parts_.hooks.nominate(*pod_, node_name_);
  return reached(BindingResult::kReserved, BindingStage::kPreFlight, Next::kPermitWait);
}

BindingOutcome BindingCycle::await_permit(PermitWait wait) {
  const std::string uid = pod_->uid();
  SchedulingMeter* const meter = parts_.framework.meter();
  const auto since_us = meter != nullptr ? parts_.waiting_pods.waits_since_us(uid) : std::nullopt;
  std::optional<Status> decision =
      wait == PermitWait::kBlock ? parts_.waiting_pods.wait(uid) : parts_.waiting_pods.decision(uid);
  if (!decision.has_value()) return reached(BindingResult::kWaiting, BindingStage::kPermitWait, Next::kPermitWait);
  if (since_us) meter->on_permit_wait(decision->code, seconds_between(*since_us, parts_.waiting_pods.clock().now_us()));
  parts_.waiting_pods.remove(uid);
  if (!decision->ok()) return fail(BindingStage::kPermitWait, *std::move(decision));
  return reached(BindingResult::kReserved, BindingStage::kPermitWait, Next::kPermitWait);
}

BindingOutcome BindingCycle::pre_bind() {
  const MeterWatch watch(parts_.framework.meter());
  Status prepared;
  if (cancelled_) {
    prepared = {StatusCode::kError, waits_in_, {"running PreBind plugin " + quoted(waits_in_) + ": " + *cancelled_}};
  } else {
    prepared = parts_.framework.run_pre_bind(placed());
  }
  if (prepared.code == StatusCode::kWait) {
    waits_in_ = prepared.plugin;
    note_wait();
    return reached(BindingResult::kWaiting, BindingStage::kPreBind, Next::kPreBind);
  }
  tell(MeteredPoint::kPreBind, prepared.code, watch);
  if (!prepared.ok()) return fail(BindingStage::kPreBind, std::move(prepared));
  next_ = Next::kAnswer;
  const MeterWatch bind_watch(parts_.framework.meter());
  Status bound = parts_.framework.run_bind(placed());
  if (bound.code == StatusCode::kWait) {
    binder_ = std::move(bound.plugin);
    note_wait();
    return reached(BindingResult::kBinding, BindingStage::kBind, Next::kAnswer);
  }
  tell(MeteredPoint::kBind, bound.code, bind_watch);
  return finish(std::move(bound));
}

bool BindingCycle::cancel_pre_bind(std::string why) {
  if (next_ != Next::kPreBind || cancelled_) return false;
  cancelled_ = std::move(why);
  parts_.waiting_pods.wake(pod_->uid());
  return true;
}

/// Upstream's cache is told here that the pod may expire from now on. It never does:
/// docs/behaviour/scheduler-core.md 2.2.
BindingOutcome BindingCycle::finish(Status bound) {
  if (next_ != Next::kAnswer) throw std::logic_error("BindingCycle::finish() follows a binding that was started");
  if (waits_since_us_) tell(MeteredPoint::kBind, bound.code, MeterWatch(parts_.framework.meter()));
  if (!bound.ok()) return fail(BindingStage::kBind, std::move(bound));
  const MeterWatch watch(parts_.framework.meter());
  parts_.framework.run_post_bind(placed());
  tell(MeteredPoint::kPostBind, StatusCode::kSuccess, watch);
  drain_pods_to_activate();
  return reached(BindingResult::kBound, BindingStage::kBound, Next::kNothing);
}

BindingOutcome BindingCycle::reached(BindingResult result, BindingStage stage, Next next) {
  next_ = next;
  BindingOutcome outcome;
  outcome.result = result;
  outcome.stage = stage;
  return outcome;
}

BindingOutcome BindingCycle::refuse_to_assume(CacheResult why) {
  BindingOutcome outcome = reached(BindingResult::kError, BindingStage::kAssume, Next::kNothing);
  outcome.message = assume_error_text(*pod_, node_name_, why);
  outcome.status = {StatusCode::kError, "", {outcome.message}};
  return outcome;
}

BindingOutcome BindingCycle::fail(BindingStage stage, Status status) {
  const MeterWatch watch(parts_.framework.meter());
  waits_since_us_.reset();
  parts_.framework.run_unreserve(placed());
  tell(MeteredPoint::kUnreserve, StatusCode::kSuccess, watch);
  parts_.waiting_pods.remove(pod_->uid());
  const bool rejected = is_rejected(status.code);
  BindingOutcome outcome =
      reached(rejected ? BindingResult::kUnschedulable : BindingResult::kError, stage, Next::kNothing);
  outcome.forgot_pod = parts_.cache.forget_pod(pod_->uid()) == CacheResult::kOk;
  const bool is_fit_error = rejected && is_fit_stage(stage);
  outcome.message = is_fit_error ? fit_error_of_one_node(status) : status.message();
  if (is_fit_error && !status.plugin.empty()) outcome.rejectors.push_back(status.plugin);
  outcome.status = std::move(status);
  return outcome;
}

void BindingCycle::drain_pods_to_activate() {
  PodsToActivate* pods = state_.read(kPodsToActivate);
  if (pods == nullptr || pods->empty()) return;
  if (parts_.hooks.activate) parts_.hooks.activate(*pods);
  pods->clear();
}

}  // namespace berth
