// SPDX-License-Identifier: Apache-2.0
#include "episode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace berth_python {
namespace {

/// splitmix64: the same numbers on every machine, which the standard library's distributions do not promise.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  /// Below `bound`, which is small beside 2^64, so that the bias of the remainder is of no account.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

/// A result that is freed at the end of its block.
struct Answered {
  berth_result* result = nullptr;
  Answered() = default;
  Answered(const Answered&) = delete;
  Answered& operator=(const Answered&) = delete;
  ~Answered() { berth_result_free(&result); }
};

/// Of the first element of a column of texts.
berth_status first_text(const berth_result* result, std::uint32_t column, std::string& text, berth_error* error) {
  berth_column numbers{};
  berth_str told{};
  berth_status status = berth_result_column(result, column, &numbers, error);
  if (status >= 0) status = berth_result_text(result, *static_cast<const std::uint32_t*>(numbers.data), &told, error);
  if (status >= 0) text.assign(told.data, told.size);
  return status;
}

}  // namespace

Episode::Episode(const Scenario& scenario, std::shared_ptr<berth_fork> fork)
    : scenario_(&scenario), fork_(std::move(fork)) {
  if (scenario.has_kube_queue) {
    waiting_ = std::make_unique<KubeWaitingPods>(scenario, scenario.cluster, fork_);
  } else {
    waiting_ = std::make_unique<PlainWaitingPods>(scenario);
  }
}

berth_status Episode::reset(std::uint64_t seed, Shown& shown, berth_error* error) {
  const std::size_t pods = scenario_->pods.size();
  berth_status status = berth_fork_revert(fork_.get(), error);
  if (status < 0) return status;
  order_.resize(pods);
  std::iota(order_.begin(), order_.end(), 0u);
  if (scenario_->is_shuffled) {
    Draws draws(seed);
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[draws.below(i)]);
  }
  where_.assign(pods, Where::kOut);
  for (std::size_t i = 0; i < pods; ++i)
    if (scenario_->arrivals[i] < kNever) where_[order_[i]] = Where::kToCome;
  runs_.assign(pods, 0);
  arrived_ = 0;
  current_ = -1;
  status = waiting_->reset(error);
  if (status < 0) return status;
  endings_ = {};
  events_.clear();
  time_ = 0;
  placed_ = evicted_ = 0;
  shown.node = -1;
  shown.is_illegal = 0;
  status = go_on(error);
  return status < 0 ? status : show(shown, error);
}

berth_status Episode::step(std::int32_t action, Shown& shown, berth_error* error) {
  shown.node = -1;
  shown.is_illegal = 0;
  berth_status status = current_ < 0 ? BERTH_OK : decide(action, shown, error);
  if (status >= 0) status = go_on(error);
  return status < 0 ? status : show(shown, error);
}

berth_status Episode::submit(std::span<const std::int32_t> pods, Shown& shown, berth_error* error) {
  shown.node = -1;
  shown.is_illegal = 0;
  for (const std::int32_t each : pods) {
    const auto pod = static_cast<std::uint32_t>(each);
    where_[pod] = Where::kPending;
    const berth_status status = waiting_->add(pod, error);
    if (status < 0) return status;
    say(EventKind::kSubmitted, pod, -1);
  }
  const berth_status status = waiting_->next(current_, error);
  return status < 0 ? status : show(shown, error);
}

berth_status Episode::advance(double until, Shown& shown, berth_error* error) {
  shown.node = -1;
  shown.is_illegal = 0;
  berth_status status = BERTH_OK;
  for (bool has_happened = true; has_happened && status >= 0;) {
    if (current_ >= 0 && next_event_at() > time_) {
      status = decide_as_kube_scheduler(shown, error);
    } else {
      status = to_next(std::max(until, time_), has_happened, error);
    }
  }
  time_ = std::max(time_, until);
  if (status >= 0) status = waiting_->advance(time_, error);
  if (status >= 0) status = waiting_->next(current_, error);
  while (status >= 0 && current_ >= 0) status = decide_as_kube_scheduler(shown, error);
  return status < 0 ? status : show(shown, error);
}

berth_status Episode::decide_as_kube_scheduler(Shown& shown, berth_error* error) {
  const berth_status status = decide(kSchedule, shown, error);
  return status < 0 || next_event_at() <= time_ ? status : waiting_->next(current_, error);
}

berth_status Episode::decide(std::int32_t action, Shown& shown, berth_error* error) {
  const auto pod = static_cast<std::uint32_t>(current_);
  const auto node_count = static_cast<std::int32_t>(scenario_->nodes.size());
  const auto fits_nowhere = [&] { return std::ranges::find(mask_, 1) == mask_.end(); };
  if (action == kSetAside) return leave(EventKind::kSetAside, fits_nowhere(), nullptr, error);
  std::int32_t position = action;
  if (action == kSchedule) {
    Rejectors rejectors;
    const berth_status status = schedule(pod, position, waiting_->asks_for_rejectors() ? &rejectors : nullptr, error);
    if (status < 0) return status;
    if (position < 0) return leave(EventKind::kSetAside, true, &rejectors, error);
  } else if (action < 0 || action >= node_count || mask_[static_cast<std::size_t>(action)] == 0) {
    shown.is_illegal = 1;
    return leave(EventKind::kIllegal, fits_nowhere(), nullptr, error);
  } else {
    const berth_status status = berth_fork_add_pod(fork_.get(), scenario_->pods[pod].get(),
                                                   scenario_->nodes[static_cast<std::size_t>(action)], error);
    if (status < 0) return status;
  }
  berth_status status = waiting_->done(pod, error);
  if (status >= 0) status = waiting_->came(scenario_->uids[pod], error);
  if (status < 0) return status;
  current_ = -1;
  where_[pod] = Where::kRunning;
  ++runs_[pod];
  ++placed_;
  shown.node = position;
  say(EventKind::kPlaced, pod, position);
  if (scenario_->durations[pod] < kNever) endings_.push({time_ + scenario_->durations[pod], pod, runs_[pod]});
  return BERTH_OK;
}

std::int32_t Episode::position_of(std::uint32_t node) const {
  const auto found = std::ranges::lower_bound(scenario_->nodes, node);
  return static_cast<std::int32_t>(found - scenario_->nodes.begin());
}

/// Where kube-scheduler puts the pod; -1: nowhere.
berth_status Episode::schedule(std::uint32_t pod, std::int32_t& position, Rejectors* rejectors,
                               berth_error* error) const {
  const berth_pod* const pods[1] = {scenario_->pods[pod].get()};
  berth_schedule_options options = BERTH_SCHEDULE_OPTIONS_INIT;
  if (rejectors != nullptr) options.flags = BERTH_WITH_REJECTORS;
  Answered answer;
  berth_column nodes{};
  berth_status status = berth_fork_schedule(fork_.get(), pods, 1, &options, &answer.result, error);
  if (status >= 0) status = berth_result_column(answer.result, BERTH_COLUMN_NODE, &nodes, error);
  if (status < 0) return status;
  const std::uint32_t number = *static_cast<const std::uint32_t*>(nodes.data);
  position = number == BERTH_NO_NODE ? -1 : position_of(number);
  if (position >= 0 || rejectors == nullptr) return BERTH_OK;
  status = first_text(answer.result, BERTH_COLUMN_REJECTORS, rejectors->all, error);
  return status < 0 ? status : first_text(answer.result, BERTH_COLUMN_PENDING_REJECTORS, rejectors->pending, error);
}

/// The current pod gets no node. It stays the current one where others were evicted for it.
/// @param known  null: who rejects it is to be asked, where no node takes it
berth_status Episode::leave(EventKind why, bool fits_nowhere, const Rejectors* known, berth_error* error) {
  const auto pod = static_cast<std::uint32_t>(current_);
  Rejectors rejectors;
  if (known == nullptr && fits_nowhere && waiting_->asks_for_rejectors()) {
    std::int32_t nowhere = -1;
    const berth_status status = schedule(pod, nowhere, &rejectors, error);
    if (status < 0) return status;
    known = &rejectors;
  }
  bool evicts = false;
  if (scenario_->preempts && fits_nowhere) {
    const berth_status status = preempt(pod, evicts, error);
    if (status < 0) return status;
  }
  say(why, pod, -1);
  if (evicts) return BERTH_OK;
  current_ = -1;
  if (known == nullptr) return waiting_->put_back(pod, nullptr, nullptr, error);
  return waiting_->put_back(pod, known->all.c_str(), known->pending.c_str(), error);
}

/// Evicts the victims of the first of the best candidates.
berth_status Episode::preempt(std::uint32_t pod, bool& evicts, berth_error* error) {
  Answered answer;
  berth_status status = berth_fork_preempt(fork_.get(), scenario_->pods[pod].get(), 0, &answer.result, error);
  berth_column columns[4] = {};
  const std::uint32_t wanted[4] = {BERTH_COLUMN_NODE, BERTH_COLUMN_BEST, BERTH_COLUMN_VICTIM_BEGIN,
                                   BERTH_COLUMN_VICTIM};
  for (std::size_t i = 0; i < 4 && status >= 0; ++i)
    status = berth_result_column(answer.result, wanted[i], &columns[i], error);
  if (status == BERTH_E_UNSUPPORTED) return BERTH_OK;  // the pod is not judged
  if (status < 0) return status;
  const auto* const nodes = static_cast<const std::uint32_t*>(columns[0].data);
  const auto* const best = static_cast<const std::uint8_t*>(columns[1].data);
  const auto* const begins = static_cast<const std::uint32_t*>(columns[2].data);
  const auto* const victims = static_cast<const std::uint32_t*>(columns[3].data);
  const auto chosen = static_cast<std::size_t>(std::find(best, best + columns[1].length, 1) - best);
  if (chosen == columns[1].length) return BERTH_OK;
  for (std::uint32_t v = begins[chosen]; v < begins[chosen + 1]; ++v) {
    berth_str uid{};
    status = berth_result_text(answer.result, victims[v], &uid, error);
    if (status >= 0) status = evict({uid.data, uid.size}, position_of(nodes[chosen]), error);
    if (status < 0) return status;
  }
  evicts = true;
  return BERTH_OK;
}

/// A pod of the scenario waits again, as its controller would make it anew; another one is gone.
berth_status Episode::evict(const std::string& uid, std::int32_t node, berth_error* error) {
  berth_status status = waiting_->leaves(uid, true, error);
  if (status >= 0) status = berth_fork_remove_pod(fork_.get(), uid.c_str(), error);
  if (status < 0) return status;
  ++evicted_;
  const auto known = scenario_->pod_of_uid.find(uid);
  say(EventKind::kEvicted, known != scenario_->pod_of_uid.end() ? static_cast<std::int32_t>(known->second) : -1, node);
  if (known == scenario_->pod_of_uid.end()) return BERTH_OK;
  where_[known->second] = Where::kPending;
  return waiting_->add(known->second, error);
}

double Episode::next_event_at() {
  while (!endings_.empty() &&
         (where_[endings_.top().pod] != Where::kRunning || runs_[endings_.top().pod] != endings_.top().run))
    endings_.pop();
  const double ends = endings_.empty() ? kNever : endings_.top().time;
  return std::min(ends, arrived_ < order_.size() ? scenario_->arrivals[arrived_] : kNever);
}

/// Of equal times endings come first, so that the pods that come find their room. Call after next_event_at(), which
/// says that there is one.
berth_status Episode::next_event(berth_error* error) {
  const double comes = arrived_ < order_.size() ? scenario_->arrivals[arrived_] : kNever;
  if (!endings_.empty() && endings_.top().time <= comes) {
    const std::uint32_t pod = endings_.top().pod;
    time_ = endings_.top().time;
    berth_status status = waiting_->advance(time_, error);
    if (status >= 0) status = waiting_->leaves(scenario_->uids[pod], false, error);
    if (status >= 0) status = berth_fork_remove_pod(fork_.get(), scenario_->uids[pod].c_str(), error);
    if (status < 0) return status;
    endings_.pop();
    where_[pod] = Where::kOut;
    say(EventKind::kFinished, pod, -1);
    return BERTH_OK;
  }
  const std::uint32_t pod = order_[arrived_];
  time_ = comes;
  berth_status status = waiting_->advance(time_, error);
  if (status >= 0) status = waiting_->add(pod, error);
  if (status < 0) return status;
  where_[pod] = Where::kPending;
  say(EventKind::kSubmitted, pod, -1);
  ++arrived_;
  return BERTH_OK;
}

/// One thing, not later than `until`, and then who is to be decided about.
berth_status Episode::to_next(double until, bool& has_happened, berth_error* error) {
  has_happened = false;
  const double outside = next_event_at();
  double ready = kNever;
  berth_status status = waiting_->next_at(ready, error);
  const double at = std::min(outside, ready);
  if (status < 0 || at == kNever || at > until || (outside == kNever && waiting_->is_stuck())) return status;
  has_happened = true;
  if (ready < outside) {
    time_ = std::max(time_, ready);
    status = waiting_->advance(time_, error);
  } else {
    status = next_event(error);
  }
  return status < 0 || next_event_at() <= time_ ? status : waiting_->next(current_, error);
}

/// Moves the clock until a pod is to be decided about, or nothing more happens. All that happens at that time comes
/// before the decision.
berth_status Episode::go_on(berth_error* error) {
  berth_status status = next_event_at() <= time_ ? BERTH_OK : waiting_->next(current_, error);
  for (bool has_happened = true; has_happened && status >= 0;) {
    if (current_ >= 0 && next_event_at() > time_) return BERTH_OK;
    status = to_next(kNever, has_happened, error);
  }
  return status;
}

berth_status Episode::show(Shown& shown, berth_error* error) {
  shown.time = time_;
  shown.placed = placed_;
  shown.pending = static_cast<std::int32_t>(waiting_->count());
  shown.evicted = evicted_;
  shown.is_done = current_ < 0 && next_event_at() == kNever && waiting_->is_stuck() ? 1 : 0;
  shown.pod = current_;
  const berth_status status = show_mask(shown.mask, error);
  return status < 0 ? status : show_use(shown.use, error);
}

berth_status Episode::show_mask(std::uint8_t* mask, berth_error* error) {
  mask_.resize(scenario_->nodes.size());
  if (mask_.empty()) return BERTH_OK;
  if (current_ < 0) {
    std::ranges::fill(mask_, 0);
  } else {
    std::size_t length = 0;
    const berth_status status = berth_fork_mask(fork_.get(), scenario_->pods[static_cast<std::size_t>(current_)].get(),
                                                nullptr, 0, mask_.data(), mask_.size(), &length, error);
    if (status < 0) return status;
  }
  std::memcpy(mask, mask_.data(), mask_.size());
  return BERTH_OK;
}

berth_status Episode::show_use(std::int64_t* use, berth_error* error) const {
  const std::vector<const char*>& names = scenario_->names_of_resources;
  std::size_t length = 0;
  return berth_fork_use(fork_.get(), names.data(), names.size(), use, nullptr, names.size() * scenario_->nodes.size(),
                        &length, error);
}

}  // namespace berth_python
