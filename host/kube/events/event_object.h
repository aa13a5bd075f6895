// SPDX-License-Identifier: Apache-2.0
#pragma once

// Event objects of both APIs, as JSON. The API server stores one kind of object and shows it under two names.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/kube/http/http_client.h"

namespace berth {

/// As client-go's reference.GetReference() makes it.
struct ObjectReference {
  std::string kind = "Pod";
  std::string namespace_ = {};
  std::string name = {};
  std::string uid = {};
  std::string api_version = "v1";
  std::string resource_version = {};
  friend bool operator==(const ObjectReference&, const ObjectReference&) = default;
};

enum class EventApi : std::uint8_t {
  kEventsV1,  ///< events.k8s.io/v1
  kCoreV1,    ///< v1: what servers had before, and what leader election still writes
};

struct EventSeries {
  std::int32_t count = 0;
  std::int64_t last_observed_us = 0;  ///< wall time
};

struct EventObject {
  std::string name;
  std::string namespace_;
  std::int64_t time_us = 0;  ///< wall time
  bool is_warning = false;
  std::string reason;
  std::string action;
  std::string note;
  std::string reporting_controller;
  std::string reporting_instance;
  ObjectReference regarding;
  std::optional<ObjectReference> related = {};
  std::optional<EventSeries> series = {};
};

/// "2026-01-02T03:04:05.000006Z", as metav1.MicroTime: always with six digits, which its reader requires.
std::string format_micro_time(std::int64_t time_us);

/// "web-0.17f3a...": the name of what the event is about and the nanoseconds in hexadecimal. Where that is no DNS name,
/// a random UUID.
std::string event_name(std::string_view object_name, std::int64_t time_ns);

/// A random UUID of version 4.
std::string random_uuid();

/// POST of an event. Its namespace must not be empty.
HttpRequest create_event_request(const EventObject& event, EventApi api);
/// PATCH of an event's series, which must be there.
HttpRequest patch_series_request(const EventObject& event, EventApi api);

/// POST of a core/v1 event as client-go's older recorder makes it: leader election's.
HttpRequest create_legacy_event_request(const EventObject& event);

}  // namespace berth
