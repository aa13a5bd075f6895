// SPDX-License-Identifier: Apache-2.0
#pragma once

// A scheduler's calls to an API server: bindings, status patches, deletions, and the binding of volumes.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/framework/clock.h"
#include "host/kube/http/http_client.h"
#include "host/kube/protobuf/api_formats.h"
#include "host/scheduler/loop/api_client.h"
#include "host/store/event_log.h"
#include "host/store/object_store.h"
#include "host/store/object_table.h"

namespace berth {

class KubeCall;

struct KubeClientOptions {
  std::int64_t bind_timeout_us = 600'000'000;  ///< VolumeBindingArgs.bindTimeoutSeconds: how long claims may take
  /// How long a call is repeated whose outcome is not known, or that the server has put off.
  std::int64_t call_deadline_us = 60'000'000;
  /// Of bindings. A server that refuses protobuf (415) is sent JSON from then on.
  BodyFormat bind_format = BodyFormat::kJson;
};

/// One thread, but for the callbacks of the HTTP client, which leave answers in a list.
///
/// A binding is sent again only where the server said when, or has surely not seen it. After a lost answer, a time
/// limit or a conflict the pod is read: what it says is what became of the binding.
class KubeClient : public ApiClient {
 public:
  struct Parts {
    HttpClient& client;
    const Clock& clock;
    std::function<void()> wake;  ///< any thread: there are answers to take
    /// A call has failed, on the caller's thread. @param what  "bind", "patch status", "delete", "bind volumes". Empty:
    /// nobody is told
    std::function<void(std::string_view what, const Pod&, const StoreStatus&)> on_failure = {};
    /// The server refuses protobuf, on the caller's thread; once. Empty: nobody is told
    std::function<void()> on_json_only = {};
  };
  /// The parts outlive the HTTP client's thread, and this outlives it too.
  KubeClient(Parts parts, const KubeClientOptions& options);
  ~KubeClient() override;

  void start(std::uint64_t id, const ApiCall& call) override;
  std::vector<ApiAnswer> take_answers() override;
  std::int64_t next_answer_us() const override;

  /// What there was at first, and what happened since: volumes, claims and conditions of pods are read.
  void note_contents(const StoreContents& contents);
  void note_events(std::span<const WatchEvent> events);

  /// Calls that are sent and not answered.
  std::size_t in_flight() const { return calls_.size(); }

  struct Counts {
    std::uint64_t repeated = 0;     ///< requests that were sent again
    std::uint64_t read_back = 0;    ///< bindings whose outcome had to be read
    std::uint64_t found_bound = 0;  ///< of these, that had been bound to the node
  };
  const Counts& counts() const { return counts_; }

 private:
  friend class KubeCall;
  struct Response {
    std::uint64_t id;
    std::uint64_t request;
    HttpResponse response;
  };

  void send(std::uint64_t id, std::uint64_t request_number, HttpRequest request);
  void note(const StoredPtr<Pod>& before, const StoredPtr<Pod>& after);
  template <class T>
  void note_version(ObjectTable<T>& table, const StoredPtr<T>& before, const StoredPtr<T>& after);
  /// The pod has the condition with the status of the patch, whose time stays.
  bool keeps_transition_time(const Pod& pod, const PodStatusPatch& patch) const;
  std::unique_ptr<KubeCall> make_call(std::uint64_t id, const ApiCall& call);

  Parts parts_;
  KubeClientOptions options_;
  std::mt19937_64 random_{std::random_device()()};
  std::unordered_map<std::uint64_t, std::unique_ptr<KubeCall>> calls_;  ///< [id]
  std::multimap<std::int64_t, std::uint64_t> wakes_;                    ///< [time] calls that go on then
  std::unordered_set<std::uint64_t> wait_for_claims_;                   ///< calls
  std::vector<std::uint64_t> touched_;                                  ///< calls that may be over
  std::unordered_set<std::string> unscheduled_;  ///< uids of pods whose condition PodScheduled is False
  ObjectTable<PersistentVolume> volumes_;
  ObjectTable<VolumeClaim> claims_;
  Counts counts_;

  std::mutex mutex_;
  std::vector<Response> responses_;
};

}  // namespace berth
