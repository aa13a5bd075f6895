// SPDX-License-Identifier: Apache-2.0
#include "host/kube/election/leader_elector.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "host/kube/access/surroundings.h"
#include "host/kube/events/event_object.h"
#include "host/kube/watch/watch_text.h"

namespace berth {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr double kJitterFactor = 1.2;
/// What kube-scheduler tolerates beyond leaseDuration before it calls itself unhealthy.
constexpr std::int64_t kHealthToleranceUs = 20 * kSecondUs;
constexpr std::int64_t kRequestTimeoutMinUs = kSecondUs;
constexpr std::size_t kReasonBytesMax = 500;
/// What take_messages() and take_events() hold at most; nobody who does not take them misses them.
constexpr std::size_t kKeptMax = 1000;

std::string reason_of(const HttpResponse& response) {
  if (response.status == 0) return response.problem.empty() ? "no answer" : response.problem;
  return "status " + std::to_string(response.status) + ": " +
         escaped_for_message(read_api_status(response.body).message, kReasonBytesMax);
}

}  // namespace

std::string make_election_identity() { return host_name() + "_" + random_uuid(); }

LeaderElector::LeaderElector(ElectionOptions options, const Clock& clock, std::function<std::int64_t()> wall_time_us,
                             std::uint64_t seed)
    : options_(std::move(options)),
      clock_(&clock),
      wall_time_us_(std::move(wall_time_us)),
      dice_(seed),
      next_try_us_(clock.now_us()) {
  say("attempting to acquire leader lease " + lease_name());
}

std::string LeaderElector::lease_name() const {
  return options_.settings.resource_namespace + "/" + options_.settings.resource_name;
}

// ---- what is to be done when

std::optional<ElectionRequest> LeaderElector::next_request() {
  const std::int64_t now_us = clock_->now_us();
  if (state_ == State::kLeading && now_us >= round_end_us_) lose("not renewed within renewDeadline");
  if (is_ending() && !is_done() && now_us >= release_end_us_) {
    say("failed to release lease " + lease_name() + " within renewDeadline");
    finish();
  }
  if (step_ == Step::kWait && now_us >= next_try_us_) begin_attempt();
  if (!is_to_send_) return std::nullopt;
  is_to_send_ = false;
  is_awaited_ = true;
  return ElectionRequest{++request_id_, request_of(step_)};
}

std::int64_t LeaderElector::next_wake_us() const {
  if (step_ == Step::kDone) return kNever;
  if (is_to_send_) return clock_->now_us();
  if (is_ending()) return release_end_us_;
  const std::int64_t try_us = step_ == Step::kWait ? next_try_us_ : kNever;
  return state_ == State::kLeading ? std::min(try_us, round_end_us_) : try_us;
}

void LeaderElector::begin_attempt() {
  attempt_us_ = clock_->now_us();
  attempt_wall_us_ = wall_time_us_();
  if (is_holder() && is_lease_valid() && lease_) {
    LeaseRecord record = own_record();
    record.acquire_time = observed_.acquire_time;
    record.transitions = observed_.transitions;
    send(Step::kFastUpdate, std::move(record));
  } else {
    send(Step::kGet);
  }
}

void LeaderElector::send(Step step, LeaseRecord record) {
  step_ = step;
  sent_record_ = std::move(record);
  is_to_send_ = true;
  is_awaited_ = false;
}

HttpRequest LeaderElector::request_of(Step step) const {
  const std::string leases =
      "/apis/coordination.k8s.io/v1/namespaces/" + options_.settings.resource_namespace + "/leases";
  HttpRequest request;
  request.timeout_us = std::max(options_.settings.renew_deadline_us / 2, kRequestTimeoutMinUs);
  request.path = step == Step::kCreate ? leases : leases + "/" + options_.settings.resource_name;
  if (step == Step::kGet || step == Step::kReleaseGet) return request;
  request.method = step == Step::kCreate ? "POST" : "PUT";
  request.content_type = "application/json";
  const std::string metadata =
      step == Step::kCreate ? lease_metadata_json(options_.settings.resource_namespace, options_.settings.resource_name)
                            : lease_->metadata_json;
  request.body = lease_json(metadata, sent_record_);
  return request;
}

LeaseRecord LeaderElector::own_record() const {
  LeaseRecord record;
  record.holder = options_.identity;
  record.duration_s = static_cast<std::int32_t>(std::min<std::int64_t>(options_.settings.lease_duration_us / kSecondUs,
                                                                       std::numeric_limits<std::int32_t>::max()));
  record.renew_time = format_micro_time(attempt_wall_us_);
  record.acquire_time = record.renew_time;
  return record;
}

void LeaderElector::observe(const LeaseRecord& record) {
  observed_ = record;
  observed_us_ = clock_->now_us();
}

bool LeaderElector::is_lease_valid() const { return observed_us_ + observed_.duration_s * kSecondUs > attempt_us_; }

// ---- answers

void LeaderElector::on_response(std::uint64_t id, const HttpResponse& response) {
  if (!is_awaited_ || id != request_id_) return;
  is_awaited_ = false;
  switch (step_) {
    case Step::kWait:
    case Step::kDone:
      return;
    case Step::kGet:
      return on_get(response);
    case Step::kFastUpdate:
    case Step::kCreate:
    case Step::kUpdate:
      return on_write(response);
    case Step::kReleaseGet:
      return on_release_get(response);
    case Step::kReleaseUpdate:
      if (response.is_success()) {
        observe(sent_record_);
        say("released lease " + lease_name());
      } else {
        say("failed to release lease " + lease_name() + ": " + reason_of(response));
      }
      return finish();
  }
}

void LeaderElector::on_get(const HttpResponse& response) {
  if (is_ending()) return end_attempt(false);
  if (response.status == 404) return send(Step::kCreate, own_record());
  std::optional<Lease> lease = response.is_success() ? parse_lease(response.body) : std::nullopt;
  if (!lease) {
    say("error retrieving lease " + lease_name() + ": " +
        (response.is_success() ? "the answer is no Lease" : reason_of(response)));
    return end_attempt(false);
  }
  lease_ = std::move(lease);
  const LeaseRecord& read = lease_->record;
  if (read_record_ != read) {
    observe(read);
    read_record_ = read;
  }
  if (!read.holder.empty() && is_lease_valid() && !is_holder()) return end_attempt(false);
  LeaseRecord record = own_record();
  if (is_holder()) {
    record.acquire_time = read.acquire_time;
    record.transitions = read.transitions;
    ++slow_path_count_;
  } else {
    record.transitions = read.transitions + (read.transitions < std::numeric_limits<std::int32_t>::max() ? 1 : 0);
  }
  send(Step::kUpdate, std::move(record));
}

void LeaderElector::on_write(const HttpResponse& response) {
  std::optional<Lease> lease = response.is_success() ? parse_lease(response.body) : std::nullopt;
  if (lease) {
    lease_ = std::move(lease);
    observe(sent_record_);
    return end_attempt(true);
  }
  say("failed to write lease " + lease_name() + ": " +
      (response.is_success() ? "the answer is no Lease" : reason_of(response)));
  if (step_ == Step::kFastUpdate && !is_ending()) return send(Step::kGet);
  end_attempt(false);
}

void LeaderElector::end_attempt(bool has_lease) {
  report_leader();
  step_ = Step::kWait;
  const std::int64_t now_us = clock_->now_us();
  if (has_lease) renewed_us_ = attempt_us_;
  if (is_ending()) return begin_release();
  if (state_ == State::kLeading) {
    if (has_lease) {
      next_try_us_ = now_us + options_.settings.retry_period_us;
      round_end_us_ = next_try_us_ + options_.settings.renew_deadline_us;
    } else if (!is_holder()) {
      lose("it is held by " + observed_.holder);
    } else {
      next_try_us_ = std::max(now_us, attempt_us_ + options_.settings.retry_period_us);
    }
  } else if (has_lease) {
    become_leader();
  } else {
    const double factor = 1 + kJitterFactor * std::uniform_real_distribution<double>(0, 1)(dice_);
    const double wait_us = static_cast<double>(options_.settings.retry_period_us) * factor;
    next_try_us_ = now_us + static_cast<std::int64_t>(std::min(wait_us, 4e18));
  }
}

// ---- changes of state

void LeaderElector::become_leader() {
  state_ = State::kLeading;
  has_led_ = true;
  // client-go begins its first round of renewal at once.
  next_try_us_ = clock_->now_us();
  round_end_us_ = next_try_us_ + options_.settings.renew_deadline_us;
  record_event("became leader");
  say("successfully acquired lease " + lease_name());
}

void LeaderElector::lose(const std::string& why) {
  state_ = State::kLost;
  say("failed to renew lease " + lease_name() + ": " + why);
  begin_release();
}

void LeaderElector::stop() {
  if (is_ending()) return;
  state_ = State::kStopped;
  release_end_us_ = clock_->now_us() + options_.settings.renew_deadline_us;
  // What is under way may take or renew the lease, so the release comes after its answer.
  if (!is_awaited_) begin_release();
}

void LeaderElector::begin_release() {
  release_end_us_ = clock_->now_us() + options_.settings.renew_deadline_us;
  if (!is_holder()) return finish();
  send(Step::kReleaseGet);
}

void LeaderElector::on_release_get(const HttpResponse& response) {
  std::optional<Lease> lease = response.is_success() ? parse_lease(response.body) : std::nullopt;
  if (!lease) {
    say("failed to release lease " + lease_name() + ": " +
        (response.is_success() ? "the answer is no Lease" : reason_of(response)));
    return finish();
  }
  lease_ = std::move(lease);
  if (lease_->record.holder != options_.identity) return finish();
  LeaseRecord record;
  record.duration_s = 1;
  record.transitions = lease_->record.transitions;
  record.renew_time = format_micro_time(wall_time_us_());
  record.acquire_time = record.renew_time;
  send(Step::kReleaseUpdate, std::move(record));
}

void LeaderElector::finish() {
  if (has_led_) record_event("stopped leading");
  step_ = Step::kDone;
  is_to_send_ = false;
  is_awaited_ = false;
}

// ---- what others see

bool LeaderElector::may_write() const {
  // Others go by the seconds that the lease says.
  const std::int64_t bound_us = std::min(options_.settings.renew_deadline_us, observed_.duration_s * kSecondUs);
  return state_ == State::kLeading && is_holder() && clock_->now_us() < renewed_us_ + bound_us;
}

std::string LeaderElector::health_problem() const {
  const bool is_overdue = clock_->now_us() - observed_us_ > options_.settings.lease_duration_us + kHealthToleranceUs;
  if (!is_holder() || !is_overdue) return {};
  return "failed election to renew leadership on lease " + options_.settings.resource_name;
}

void LeaderElector::report_leader() {
  if (observed_.holder == reported_leader_) return;
  reported_leader_ = observed_.holder;
  if (reported_leader_.empty()) return;
  say("new leader elected: " + reported_leader_);
}

void LeaderElector::record_event(std::string_view what) {
  if (!lease_ || events_.size() >= kKeptMax) return;
  const std::int64_t time_us = wall_time_us_();
  EventObject event;
  event.name = event_name(options_.settings.resource_name, time_us * 1000);
  event.namespace_ = options_.settings.resource_namespace;
  event.time_us = time_us;
  event.reason = "LeaderElection";
  event.note = options_.identity + " " + std::string(what);
  event.reporting_controller = options_.component;
  event.regarding.kind = "Lease";
  event.regarding.api_version = "coordination.k8s.io/v1";
  event.regarding.namespace_ = options_.settings.resource_namespace;
  event.regarding.name = options_.settings.resource_name;
  event.regarding.uid = lease_->uid;
  event.regarding.resource_version = lease_->resource_version;
  events_.push_back(create_legacy_event_request(event));
}

void LeaderElector::say(std::string message) {
  if (messages_.size() < kKeptMax) messages_.push_back(std::move(message));
}

std::vector<std::string> LeaderElector::take_messages() { return std::exchange(messages_, {}); }

std::vector<HttpRequest> LeaderElector::take_events() { return std::exchange(events_, {}); }

}  // namespace berth
