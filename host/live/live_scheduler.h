// SPDX-License-Identifier: Apache-2.0
#pragma once

// The scheduler of a real cluster: a SchedulingLoop whose events come from the watches of an API server, and whose
// calls go there.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/framework/clock.h"
#include "host/kube/calls/kube_client.h"
#include "host/kube/http/http_client.h"
#include "host/kube/http/io_loop.h"
#include "host/kube/http/timers.h"
#include "host/kube/watch/informers.h"
#include "host/live/live_log.h"
#include "host/scheduler/loop/loop_options.h"
#include "host/scheduler/loop/scheduling_loop.h"

namespace berth {

/// Whether this process may decide, as the lease says.
class Leadership {
 public:
  virtual ~Leadership() = default;
  virtual bool is_leading() const = 0;
  virtual bool is_lost() const = 0;  ///< it was leading, and must not write any more
};

/// Gets what a scheduler records: events about pods. Called on the scheduler's thread.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void add(const SchedulerEvent& event) = 0;
  /// What there was at first, and what the watches told since: before the loop takes it in.
  virtual void note_contents(const StoreContents& contents) = 0;
  virtual void note_events(std::span<const WatchEvent> events) = 0;
};

struct LiveOptions {
  LoopOptions loop;
  KubeClientOptions calls;
  InformerOptions informers;
  std::int64_t drain_us = 5'000'000;  ///< how long calls in flight may take once the process is asked to end
};

enum class LiveEnd : std::uint8_t { kStopped, kLostLease };

class LiveScheduler {
 public:
  /// Outlive the scheduler, as its options do. The clients, which may run on `io`, end before it does.
  struct Parts {
    HttpClient& watches;
    Timers& watch_timers;  ///< of the same client
    HttpClient& calls;
    const Clock& clock;
    LiveLog& log;
    const Leadership* leadership = nullptr;  ///< null: this process decides
    EventSink* events = nullptr;             ///< null: nobody records
    IoLoop& io;                              ///< the scheduler's thread runs it between two steps
  };
  LiveScheduler(const Parts& parts, LiveOptions options);
  ~LiveScheduler();

  /// On the thread that becomes the scheduler's. Returns when it was asked to, or the lease is lost.
  /// @throws InputError when the configuration asks for what is not built
  LiveEnd run();

  // Any thread
  void stop();
  /// Every watch has brought its first list, and the loop has taken it in.
  bool is_synced() const;
  std::vector<ResourceState> resources() const;
  /// All that the watches know now.
  StoreContents contents() const;
  /// Informers::version_of(). On the thread of the watches' client.
  std::uint64_t watched_version(const Pod& pod) const;
  /// Runs `read` on the scheduler's thread, between two steps, and waits for it. @return false: the scheduler does not
  /// run (yet, or any more)
  bool read(const std::function<void(const SchedulingLoop&)>& read);

 private:
  struct State;
  class ReadableLoop;
  std::unique_ptr<State> state_;
};

}  // namespace berth
