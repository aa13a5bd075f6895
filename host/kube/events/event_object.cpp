// SPDX-License-Identifier: Apache-2.0
#include "host/kube/events/event_object.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "host/objects/json_out.h"
#include "host/objects/json_writer.h"

namespace berth {
namespace {

constexpr std::int64_t kWholeSecondUs = 1'000'000;

/// Names of one field in the two APIs.
struct FieldNames {
  std::string_view regarding;
  std::string_view note;
  std::string_view controller;
};

FieldNames names_of(EventApi api) {
  if (api == EventApi::kEventsV1) return {"regarding", "note", "reportingController"};
  return {"involvedObject", "message", "reportingComponent"};
}

std::string_view version_of(EventApi api) { return api == EventApi::kEventsV1 ? "events.k8s.io/v1" : "v1"; }

/// Whole seconds before `time_us`, also before 1970.
std::int64_t floor_second_us(std::int64_t time_us) {
  const std::int64_t rest = (time_us % kWholeSecondUs + kWholeSecondUs) % kWholeSecondUs;
  return time_us - rest;
}

void write_reference(JsonWriter& out, std::string_view name, const ObjectReference& reference) {
  out.object(name, [&] {
    out.text("kind", reference.kind);
    out.text("namespace", reference.namespace_);
    out.text("name", reference.name);
    out.text("uid", reference.uid);
    out.text("apiVersion", reference.api_version);
    out.text("resourceVersion", reference.resource_version);
  });
}

void write_series(JsonWriter& out, const EventSeries& series) {
  out.object("series", [&] {
    out.field("count", series.count);
    out.field("lastObservedTime", format_micro_time(series.last_observed_us));
  });
}

void write_head(JsonWriter& out, const EventObject& event, EventApi api) {
  out.field("kind", std::string_view("Event"));
  out.field("apiVersion", version_of(api));
  out.object("metadata", [&] {
    out.field("name", event.name);
    out.field("namespace", event.namespace_);
  });
}

std::string path_of(const EventObject& event, EventApi api) {
  // Names of namespaces and events are DNS names: nothing in them needs an escape.
  const std::string_view prefix = api == EventApi::kEventsV1 ? "/apis/events.k8s.io/v1" : "/api/v1";
  return std::string(prefix) + "/namespaces/" + event.namespace_ + "/events";
}

HttpRequest post(const EventObject& event, EventApi api, std::string body) {
  return {.method = "POST", .path = path_of(event, api), .body = std::move(body), .content_type = "application/json"};
}

bool is_name_end(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// RFC 1123 subdomain.
bool is_dns_name(std::string_view name) {
  if (name.empty() || name.size() > 253 || !is_name_end(name.front()) || !is_name_end(name.back())) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (is_name_end(c)) continue;
    if (c == '-') continue;
    if (c != '.' || !is_name_end(name[i - 1]) || !is_name_end(name[i + 1])) return false;
  }
  return true;
}

}  // namespace

std::string format_micro_time(std::int64_t time_us) {
  const std::int64_t second_us = floor_second_us(time_us);
  std::string text = format_time(second_us);
  text.pop_back();
  char fraction[16];
  std::snprintf(fraction, sizeof(fraction), ".%06dZ", static_cast<int>(time_us - second_us));
  return text + fraction;
}

std::string random_uuid() {
  std::random_device device;
  std::array<std::uint32_t, 4> words = {};
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(device());
  words[1] = (words[1] & 0xffff0fffu) | 0x4000u;
  words[2] = (words[2] & 0x3fffffffu) | 0x80000000u;
  char text[40];
  std::snprintf(text, sizeof(text), "%08x-%04x-%04x-%04x-%04x%08x", words[0], words[1] >> 16, words[1] & 0xffffu,
                words[2] >> 16, words[2] & 0xffffu, words[3]);
  return text;
}

std::string event_name(std::string_view object_name, std::int64_t time_ns) {
  char number[24];
  std::snprintf(number, sizeof(number), ".%llx", static_cast<unsigned long long>(time_ns));
  std::string name = std::string(object_name) + number;
  return is_dns_name(name) ? name : random_uuid();
}

HttpRequest create_event_request(const EventObject& event, EventApi api) {
  const FieldNames names = names_of(api);
  std::string body;
  JsonWriter out(body);
  out.open('{');
  write_head(out, event, api);
  out.field("eventTime", format_micro_time(event.time_us));
  if (event.series) write_series(out, *event.series);
  out.text(names.controller, event.reporting_controller);
  out.text("reportingInstance", event.reporting_instance);
  out.text("action", event.action);
  out.text("reason", event.reason);
  write_reference(out, names.regarding, event.regarding);
  if (event.related) write_reference(out, "related", *event.related);
  out.text(names.note, event.note);
  out.field("type", std::string_view(event.is_warning ? "Warning" : "Normal"));
  out.close('}');
  return post(event, api, std::move(body));
}

HttpRequest patch_series_request(const EventObject& event, EventApi api) {
  std::string body;
  JsonWriter out(body);
  out.open('{');
  write_series(out, *event.series);
  out.close('}');
  return {.method = "PATCH",
          .path = path_of(event, api) + "/" + event.name,
          .body = std::move(body),
          .content_type = "application/strategic-merge-patch+json"};
}

HttpRequest create_legacy_event_request(const EventObject& event) {
  const std::string time = format_time(floor_second_us(event.time_us));
  std::string body;
  JsonWriter out(body);
  out.open('{');
  write_head(out, event, EventApi::kCoreV1);
  write_reference(out, "involvedObject", event.regarding);
  out.text("reason", event.reason);
  out.text("message", event.note);
  out.object("source", [&] { out.text("component", event.reporting_controller); });
  out.field("firstTimestamp", time);
  out.field("lastTimestamp", time);
  out.field("count", std::int32_t{1});
  out.field("type", std::string_view(event.is_warning ? "Warning" : "Normal"));
  out.text("reportingComponent", event.reporting_controller);
  out.field("reportingInstance", event.reporting_instance);
  out.close('}');
  return post(event, EventApi::kCoreV1, std::move(body));
}

}  // namespace berth
