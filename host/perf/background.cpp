// SPDX-License-Identifier: Apache-2.0
#include "host/perf/background.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace berth {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// runChurnOp() of upstream: a refused creation is ignored there, too.
class Churn final : public BackgroundTask {
 public:
  Churn(ObjectStore& store, const ChurnOp& op, std::vector<ObjectSeries> series, std::string name_space)
      : store_(store),
        recreates_(op.recreates),
        number_(op.number),
        series_(std::move(series)),
        namespace_(std::move(name_space)),
        names_(series_.size(), std::vector<std::string>(recreates_ ? static_cast<std::size_t>(number_) : 1)) {}

  void run_once(BackgroundCounts& counts) override {
    for (std::size_t i = 0; i < series_.size(); ++i) {
      const std::size_t turn = recreates_ ? static_cast<std::size_t>(done_ % number_) : 0;
      change(series_[i].at(0), names_[i][turn], counts);
    }
    ++done_;
  }
  bool is_over() const override { return !recreates_ && number_ > 0 && done_ >= number_; }

 private:
  void change(const PerfObject& object, std::string& name, BackgroundCounts& counts) {
    if (recreates_ && !name.empty()) {
      // Somebody else may have deleted it: a pod that was preempted.
      if (remove_object(store_, object, namespace_, name).is_success()) ++counts.churned;
      name.clear();
    } else if (create_object(store_, object, name).is_success()) {
      ++counts.churned;
    }
  }

  ObjectStore& store_;
  bool recreates_;
  std::int64_t number_;
  std::vector<ObjectSeries> series_;
  std::string namespace_;
  std::vector<std::vector<std::string>> names_;  ///< of what exists; empty: nothing
  std::int64_t done_ = 0;
};

class Deletion final : public BackgroundTask {
 public:
  Deletion(ObjectStore& store, std::vector<PodPtr> pods) : store_(store), pods_(std::move(pods)) {}

  void run_once(BackgroundCounts& counts) override {
    const PodPtr& pod = pods_[next_++];
    const StoreStatus status = store_.remove<Pod>(key_of(*pod)).status;
    if (!status.is_success()) throw WorkloadError("deletePods: " + status.message);
    ++counts.deleted;
  }
  bool is_over() const override { return next_ >= pods_.size(); }

 private:
  ObjectStore& store_;
  std::vector<PodPtr> pods_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<BackgroundTask> make_churn(ObjectStore& store, const ChurnOp& op, std::vector<ObjectSeries> series,
                                           std::string name_space) {
  return std::make_unique<Churn>(store, op, std::move(series), std::move(name_space));
}

std::unique_ptr<BackgroundTask> make_deletion(ObjectStore& store, std::vector<PodPtr> pods) {
  return std::make_unique<Deletion>(store, std::move(pods));
}

void Background::start(std::unique_ptr<BackgroundTask> task, double interval_us, std::int64_t now_us) {
  tasks_.push_back({std::move(task), interval_us, static_cast<double>(now_us), 0, 0});
}

std::int64_t Background::due_by_time(const Running& running, std::int64_t now_us) const {
  return static_cast<std::int64_t>((static_cast<double>(now_us) - running.last_us) / scaled_us(running));
}

std::int64_t Background::due_by_pods(const Running& running, std::int64_t scheduled) const {
  const auto wanted = static_cast<std::int64_t>(static_cast<double>(scheduled) / pods_each(running));
  return wanted - (running.done - running.done_before);
}

bool Background::repeat(Running& running, std::int64_t times) {
  std::int64_t i = 0;
  for (; i < times && !running.task->is_over(); ++i) running.task->run_once(counts_);
  running.done += i;
  return i > 0;
}

bool Background::run_due(std::int64_t now_us, std::int64_t scheduled) {
  bool has_run = false;
  for (Running& running : tasks_) {
    if (counts_pods()) {
      if (!repeat(running, due_by_pods(running, scheduled))) continue;
      running.last_us = static_cast<double>(now_us);
    } else {
      const std::int64_t due = due_by_time(running, now_us);
      if (!repeat(running, due)) continue;
      running.last_us += static_cast<double>(due) * scaled_us(running);
    }
    has_run = true;
  }
  return has_run;
}

void Background::run_idle(std::int64_t now_us) {
  if (!counts_pods()) return;  // run_due() counts the time
  for (Running& running : tasks_) {
    if (due_by_time(running, now_us) < 1) continue;
    repeat(running, 1);
    running.last_us = static_cast<double>(now_us);
  }
}

void Background::begin_measurement() {
  is_measuring_ = true;
  counts_ = {};
  for (Running& running : tasks_) running.done_before = running.done;
}

std::int64_t Background::missing(std::int64_t scheduled) const {
  if (policy_.threshold <= 0) return 0;
  std::int64_t missing = 0;
  for (const Running& running : tasks_) {
    if (running.task->is_over()) continue;  // everything that the file asks for has come
    const auto expected = static_cast<std::int64_t>(static_cast<double>(scheduled) / pods_each(running));
    missing += std::max<std::int64_t>(0, expected - (running.done - running.done_before));
  }
  return missing;
}

std::int64_t Background::next_due_us() const {
  std::int64_t next = kNever;
  for (const Running& running : tasks_) {
    if (running.task->is_over()) continue;
    next = std::min(next, static_cast<std::int64_t>(std::ceil(running.last_us + scaled_us(running))));
  }
  return next;
}

std::int64_t Background::pods_until_due(std::int64_t scheduled) const {
  std::int64_t pods = kNever;
  if (!is_measuring_ || !policy_.follows_pods()) return pods;
  for (const Running& running : tasks_) {
    if (running.task->is_over()) continue;
    const auto next = static_cast<double>(running.done - running.done_before + 1) * pods_each(running);
    pods = std::min(pods, static_cast<std::int64_t>(std::ceil(next)) - scheduled);
  }
  return std::max<std::int64_t>(pods, 1);
}

}  // namespace berth
