// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keeps a copy of one resource up to date: docs/behaviour/scheduler-core.md 8.3.

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "host/framework/clock.h"
#include "host/kube/http/http_client.h"
#include "host/kube/http/timers.h"
#include "host/kube/watch/watch_frame.h"
#include "host/kube/watch/watch_text.h"
#include "host/kube/watch/watched_resource.h"

namespace berth {

/// Holds the copy. Called on the client's thread.
class ReflectedObjects {
 public:
  virtual ~ReflectedObjects() = default;
  /// Objects of a list follow, by add_listed(), and replace all that there is at end_list(). A list that was begun and
  /// not ended is dropped by the next begin_list().
  virtual void begin_list() = 0;
  /// @param json     one object, with kSlicePaddingBytes readable bytes behind it
  /// @param version  its own; null: not read yet
  virtual void add_listed(std::string_view json, const ObjectVersion* version) = 0;
  virtual void end_list() = 0;
  /// Of a watch: kAdded, kModified or kDeleted.
  virtual void apply(WatchLineType type, std::string_view json, const ObjectVersion& version) = 0;
  /// What was applied may be looked at: a piece of the stream is read.
  virtual void flush() = 0;
  /// Why the copy is not up to date; empty: it is. Told when that changes.
  virtual void note_problem(const std::string& problem) = 0;
  /// The server has no answer in what ReflectorOptions::accept names; JSON is asked for from now on.
  virtual void note_json_only() = 0;
};

inline constexpr std::string_view kJsonType = "application/json";

struct ReflectorOptions {
  bool streams_lists = true;            ///< asks for lists as watches first; falls back where the server has none
  std::int64_t page_objects_max = 500;  ///< of a list that is no stream
  /// Of lists and watches: JSON, protobuf or both. What comes is told from its first byte.
  std::string accept{kJsonType};
  std::uint64_t seed = 1;  ///< of the jitter
};

/// Runs on the client's thread from start() on.
class Reflector : public std::enable_shared_from_this<Reflector> {
 public:
  /// All must outlive the client's thread.
  struct Parts {
    HttpClient& client;
    Timers& timers;
    const Clock& clock;
    ReflectedObjects& objects;
    WatchedResource resource;
  };
  Reflector(Parts parts, const ReflectorOptions& options);

  /// Once. Goes on until the client is destroyed.
  void start();

  struct Counts {
    std::uint64_t lists = 0;    ///< that were begun
    std::uint64_t watches = 0;  ///< that were opened
    std::uint64_t expired = 0;  ///< answers 410
  };
  const Counts& counts() const { return counts_; }

 private:
  class Stream;
  friend class Stream;
  enum class Listing : std::uint8_t { kStream, kPages };

  void list_again();
  void open_list_stream();
  void request_page();
  void take_page(HttpResponse response);
  bool read_page(std::string_view text);
  bool read_protobuf_page(std::string_view body);
  void open_watch();
  void open(const std::string& query, bool is_listing);
  bool take_line(std::string_view text);
  bool take_frame(std::string_view frame);
  bool take_event(const WatchLine& event);
  bool end_with(const std::string& problem);
  void take_end(const HttpResponse& response, bool is_listing);
  void end_listing();
  void fail_listing(const ApiStatus& status);
  void end_watch(const HttpResponse& response);
  void expire();
  void problem(const std::string& text);
  void retry(void (Reflector::*step)(), std::int64_t at_least_us = 0);
  std::string path_with(const std::string& query) const;
  std::int64_t watch_seconds();

  Parts parts_;
  ReflectorOptions options_;
  std::mt19937_64 random_;
  WatchTextReader reader_;
  WatchFrameReader frame_reader_;
  ObjectVersion version_;
  std::string resource_version_;  ///< of what is there; empty: nothing yet
  bool lists_newest_ = false;     ///< the version that is known is too old or too new for the server
  bool is_synced_ = false;        ///< the list that was asked for last is complete
  Listing listing_ = Listing::kStream;
  std::string continue_;               ///< of the next page
  bool has_ended_with_error_ = false;  ///< an ERROR event came
  ApiStatus error_;                    ///< that it brought
  std::int64_t opened_us_ = 0;         ///< the watch
  bool has_events_ = false;            ///< the watch brought one
  std::int64_t backoff_us_ = 0;        ///< the next wait
  std::int64_t failed_us_ = 0;         ///< the last failure
  std::string problem_;
  Counts counts_;
};

}  // namespace berth
