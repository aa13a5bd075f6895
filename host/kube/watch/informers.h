// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cluster as the API server tells it: a copy of each watched resource, and the events that change it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/scheduler_config.h"
#include "host/framework/clock.h"
#include "host/kube/http/http_client.h"
#include "host/kube/http/timers.h"
#include "host/kube/watch/event_queue.h"
#include "host/kube/watch/reflector.h"
#include "host/objects/declared_paths.h"
#include "host/store/object_store.h"

namespace berth {

/// What a resource lacks. Any thread reads a copy.
struct ResourceState {
  std::string name;                      ///< "pods"
  bool is_synced = false;                ///< its first list is there
  std::string problem;                   ///< empty: none
  std::uint64_t unreadable_objects = 0;  ///< since the start
};

/// Is told of what an operator should know, on the client's thread.
class InformerLog {
 public:
  virtual ~InformerLog() = default;
  /// @param problem  empty: it is over
  virtual void on_resource_problem(std::string_view resource, std::string_view problem) = 0;
  virtual void on_unreadable_object(std::string_view resource, std::string_view problem) = 0;
  /// The server does not have what was asked for instead of JSON.
  virtual void on_json_only(std::string_view resource) = 0;
};

struct InformerOptions {
  ReflectorOptions reflectors;
  /// Paths whose values are kept; null: none. What is declared of a kind is in JSON alone: it is asked for in that
  /// form.
  DeclaredPathsPtr declared = nullptr;
};

struct InformersState;

class Informers {
 public:
  struct Parts {
    HttpClient& client;  ///< whose thread also calls the timers
    Timers& timers;
    const Clock& clock;
    EventQueue& events;  ///< gets what happens after the contents were taken
    InformerLog& log;
  };
  /// Lists begin. All parts, and this, outlive the client's thread.
  /// @param on_synced  called once on the client's thread, with all that the first lists brought; events follow it
  Informers(Parts parts, const std::vector<WatchedResource>& resources, const InformerOptions& options,
            std::function<void(StoreContents)> on_synced);
  ~Informers();

  std::vector<ResourceState> states() const;
  /// All that is known now, in no order. Any thread but the client's, on which it waits.
  StoreContents contents() const;
  /// The resourceVersion of a pod that is known under that name and UID; 0: there is none. On the client's thread.
  std::uint64_t version_of(const Pod& pod) const;

 private:
  std::unique_ptr<InformersState> state_;
};

}  // namespace berth
