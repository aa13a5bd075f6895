// SPDX-License-Identifier: Apache-2.0
#include "host/live/live_scheduler.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include "host/live/live_observer.h"

namespace berth {
namespace {

constexpr std::size_t kPodsOfStep = 256;          ///< between two looks at events, calls and the lease
constexpr std::int64_t kLongestWaitUs = 100'000;  ///< then the lease is looked at again

/// Problems of watches, in the log.
class ResourceLog : public InformerLog {
 public:
  explicit ResourceLog(LiveLog& log) : log_(log) {}
  void on_resource_problem(std::string_view resource, std::string_view problem) override {
    if (problem.empty()) {
      log_.detail(1, "Watch goes on", {{"resource", std::string(resource)}});
    } else {
      log_.error("Watch is interrupted", {{"resource", std::string(resource)}, {"err", std::string(problem)}});
    }
  }
  void on_unreadable_object(std::string_view resource, std::string_view problem) override {
    log_.error("Object cannot be read and is left out",
               {{"resource", std::string(resource)}, {"err", std::string(problem)}});
  }
  void on_json_only(std::string_view resource) override {
    log_.warning("API server has no protobuf form of a resource, JSON is used", {{"resource", std::string(resource)}});
  }

 private:
  LiveLog& log_;
};

}  // namespace

struct LiveScheduler::State {
  State(const Parts& given, LiveOptions chosen)
      : parts(given),
        options(std::move(chosen)),
        resource_log(given.log),
        observer(given.log, given.events),
        events([this] { parts.io.wake(); }),
        client({given.calls, given.clock, [this] { parts.io.wake(); },
                [this](std::string_view what, const Pod& pod, const StoreStatus& status) {
                  parts.log.error("API call failed",
                                  {{"call", std::string(what)}, {"pod", pod.full_name()}, {"err", status.message}});
                },
                [this] { parts.log.warning("API server refuses bindings in protobuf, JSON is used"); }},
               options.calls) {
    informers.emplace(Informers::Parts{given.watches, given.watch_timers, given.clock, events, resource_log},
                      watched_resources(options.loop.config), options.informers,
                      [this](StoreContents given_contents) { take_contents(std::move(given_contents)); });
  }

  Parts parts;
  LiveOptions options;
  ResourceLog resource_log;
  LiveObserver observer;
  EventQueue events;
  KubeClient client;
  std::optional<SchedulingLoop> loop;
  std::optional<Informers> informers;

  std::mutex mutex;
  std::optional<StoreContents> contents;  ///< until the scheduler's thread takes it
  bool is_reading = false;                ///< the loop is there, and what is posted gets done
  std::vector<std::function<void()>> posted;
  std::atomic<bool> is_synced = false;
  std::atomic<bool> is_stopping = false;

  // The watches' thread
  void take_contents(StoreContents&& given) {
    {
      const std::lock_guard lock(mutex);
      contents = std::move(given);
    }
    parts.io.wake();
  }

  // The scheduler's thread
  bool is_leading() const { return parts.leadership == nullptr || parts.leadership->is_leading(); }
  bool is_lost() const { return parts.leadership != nullptr && parts.leadership->is_lost(); }
  void do_posted() {
    std::vector<std::function<void()>> now;
    {
      const std::lock_guard lock(mutex);
      now.swap(posted);
    }
    for (const auto& work : now) work();
  }
  bool open_loop();
  bool take_events();
  LiveEnd schedule();
  std::int64_t idle_us() const;
  LiveEnd drain();
  void set_reading(bool now) {
    const std::lock_guard lock(mutex);
    is_reading = now;
  }
};

/// @return false: the first lists are not all there
bool LiveScheduler::State::open_loop() {
  std::optional<StoreContents> start;
  {
    const std::lock_guard lock(mutex);
    start.swap(contents);
  }
  if (!start) return false;
  client.note_contents(*start);
  if (parts.events != nullptr) parts.events->note_contents(*start);
  loop.emplace(*start, options.loop, parts.clock, client, observer);
  parts.log.info("Caches are synced", {{"nodes", std::to_string(start->of<Node>().size())},
                                       {"pods", std::to_string(start->of<Pod>().size())},
                                       {"backend", std::string(loop->backend().name())},
                                       {"why", loop->why_backend()}});
  return true;
}

bool LiveScheduler::State::take_events() {
  const std::vector<WatchEvent> batch = events.take();
  if (batch.empty() && !loop->awaits_events()) return false;
  client.note_events(batch);
  if (parts.events != nullptr) parts.events->note_events(batch);
  loop->take(batch);
  return !batch.empty();
}

LiveEnd LiveScheduler::State::schedule() {
  while (!is_stopping) {
    do_posted();
    if (is_lost()) return LiveEnd::kLostLease;
    const bool had_events = take_events();
    const std::size_t tried = is_leading() ? loop->run(kPodsOfStep) : 0;
    parts.io.run_once(had_events || tried > 0 ? 0 : idle_us());
  }
  return drain();
}

/// How long nothing is to be done, unless something comes.
std::int64_t LiveScheduler::State::idle_us() const {
  const std::int64_t next_us = is_leading() ? loop->next_wake_us() : ApiClient::kNeverUs;
  const std::int64_t left_us = next_us == ApiClient::kNeverUs ? kLongestWaitUs : next_us - parts.clock.now_us();
  return std::clamp<std::int64_t>(left_us, 0, kLongestWaitUs);
}

/// No new decisions; what is in flight ends.
LiveEnd LiveScheduler::State::drain() {
  const std::int64_t end_us = parts.clock.now_us() + options.drain_us;
  while (is_leading() && loop->calls().size() > 0 && parts.clock.now_us() < end_us) {
    if (is_lost()) return LiveEnd::kLostLease;
    do_posted();
    take_events();
    loop->run(0);
    if (loop->calls().size() > 0) parts.io.run_once(10'000);
  }
  if (loop->calls().size() > 0)
    parts.log.warning("Calls are left unanswered", {{"calls", std::to_string(loop->calls().size())}});
  return LiveEnd::kStopped;
}

/// While it lives, others may read the loop. Nobody waits for ever when it goes, whatever ends the scheduler.
class LiveScheduler::ReadableLoop {
 public:
  explicit ReadableLoop(State& state) : state_(state) {
    state_.set_reading(true);
    state_.is_synced = true;
  }
  ~ReadableLoop() {
    state_.set_reading(false);
    state_.do_posted();
  }
  ReadableLoop(const ReadableLoop&) = delete;
  ReadableLoop& operator=(const ReadableLoop&) = delete;

 private:
  State& state_;
};

LiveScheduler::LiveScheduler(const Parts& parts, LiveOptions options)
    : state_(std::make_unique<State>(parts, std::move(options))) {}
LiveScheduler::~LiveScheduler() = default;

LiveEnd LiveScheduler::run() {
  State& state = *state_;
  while (!state.open_loop()) {
    if (state.is_stopping) return LiveEnd::kStopped;
    if (state.is_lost()) return LiveEnd::kLostLease;
    state.parts.io.run_once(kLongestWaitUs);
  }
  const ReadableLoop readable(state);
  return state.schedule();
}

void LiveScheduler::stop() {
  state_->is_stopping = true;
  state_->parts.io.wake();
}

bool LiveScheduler::is_synced() const { return state_->is_synced; }

std::vector<ResourceState> LiveScheduler::resources() const { return state_->informers->states(); }

StoreContents LiveScheduler::contents() const { return state_->informers->contents(); }

std::uint64_t LiveScheduler::watched_version(const Pod& pod) const { return state_->informers->version_of(pod); }

bool LiveScheduler::read(const std::function<void(const SchedulingLoop&)>& read) {
  std::promise<void> done;
  std::future<void> future = done.get_future();
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->is_reading) return false;
    state_->posted.push_back([&] {
      read(*state_->loop);
      done.set_value();
    });
  }
  state_->parts.io.wake();
  future.wait();
  return true;
}

}  // namespace berth
