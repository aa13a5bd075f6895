// SPDX-License-Identifier: Apache-2.0
#include "host/kube/watch/reflector.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "host/kube/http/url.h"
#include "host/kube/protobuf/frame_buffer.h"
#include "host/objects/text/text_limits.h"

namespace berth {
namespace {

constexpr std::int64_t kFirstBackoffUs = 800'000;
constexpr std::int64_t kLongestBackoffUs = 30'000'000;
constexpr std::int64_t kBackoffForgottenUs = 120'000'000;  ///< after so long without a failure
constexpr std::int64_t kShortWatchUs = 1'000'000;          ///< one that brings nothing and ends sooner has failed
constexpr std::size_t kPageBytesMax = std::size_t{1} << 30;
constexpr int kGone = 410;
constexpr int kNotAcceptable = 406;
constexpr int kTooManyRequests = 429;

/// The version that a client asked for is newer than what the server has seen: NewTooLargeResourceVersionError() of
/// apimachinery.
bool is_too_large(const ApiStatus& status) {
  return status.code == 504 && status.message.find("Too large resource version") != std::string::npos;
}

ApiStatus status_of(const HttpResponse& response) {
  if (response.status == 0) return {0, "", response.problem, 0};
  ApiStatus status = read_api_status(response.body);
  status.code = response.status;
  if (response.retry_after_s) status.retry_after_s = *response.retry_after_s;
  return status;
}

std::string text_of(const ApiStatus& status) {
  return status.code == 0 ? status.message : fmt::format("{} ({})", status.message, status.code);
}

}  // namespace

/// The answer to a watch. Ends when the reflector has opened another one.
class Reflector::Stream : public HttpStreamReader {
 public:
  Stream(std::shared_ptr<Reflector> owner, bool is_listing) : owner_(std::move(owner)), is_listing_(is_listing) {}
  bool on_bytes(std::string_view bytes) override {
    if (bytes.empty()) return true;
    if (!has_begun_) is_protobuf_ = bytes.front() == '\0';
    has_begun_ = true;
    const bool goes_on = is_protobuf_
                             ? frames_.add(bytes, [this](std::string_view frame) { return owner_->take_frame(frame); })
                             : lines_.add(bytes, [this](std::string_view line) { return owner_->take_line(line); });
    owner_->parts_.objects.flush();
    return goes_on;
  }
  void on_end(HttpResponse response) override { owner_->take_end(response, is_listing_); }

 private:
  std::shared_ptr<Reflector> owner_;
  LineBuffer lines_;
  FrameBuffer frames_;
  bool is_listing_;
  bool has_begun_ = false;
  bool is_protobuf_ = false;
};

Reflector::Reflector(Parts parts, const ReflectorOptions& options)
    : parts_(std::move(parts)),
      options_(options),
      random_(options.seed),
      frame_reader_(parts_.resource),
      listing_(options.streams_lists ? Listing::kStream : Listing::kPages) {
  if (!has_protobuf_form(parts_.resource)) options_.accept = kJsonType;
}

void Reflector::start() {
  parts_.timers.after(0, [self = shared_from_this()] { self->list_again(); });
}

void Reflector::list_again() {
  is_synced_ = false;
  ++counts_.lists;
  continue_.clear();
  parts_.objects.begin_list();
  if (listing_ == Listing::kStream) return open_list_stream();
  request_page();
}

std::string Reflector::path_with(const std::string& query) const {
  std::string path = fmt::format("{}?{}", parts_.resource.path, query);
  if (!parts_.resource.query.empty()) path += fmt::format("&{}", parts_.resource.query);
  return path;
}

/// Between five and ten minutes, so that the watches of many clients do not end together.
std::int64_t Reflector::watch_seconds() { return std::uniform_int_distribution<std::int64_t>(300, 599)(random_); }

void Reflector::open_list_stream() {
  open(fmt::format("watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                   "&resourceVersion={}&timeoutSeconds={}",
                   lists_newest_ ? "" : resource_version_, watch_seconds()),
       true);
}

void Reflector::open_watch() {
  ++counts_.watches;
  open(fmt::format("watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}", resource_version_,
                   watch_seconds()),
       false);
}

void Reflector::open(const std::string& query, bool is_listing) {
  has_ended_with_error_ = false;
  has_events_ = false;
  opened_us_ = parts_.clock.now_us();
  HttpRequest request;
  request.path = path_with(query);
  request.accept = options_.accept;
  parts_.client.open_stream(std::move(request), std::make_shared<Stream>(shared_from_this(), is_listing));
}

/// The stream ends here. @return false
bool Reflector::end_with(const std::string& problem) {
  has_ended_with_error_ = true;
  error_ = {0, "", problem, 0};
  return false;
}

/// @return false: the stream is of no more use
bool Reflector::take_line(std::string_view text) {
  WatchLine line;
  return reader_.read_line(text, line) ? take_event(line) : end_with(reader_.problem());
}

bool Reflector::take_frame(std::string_view frame) {
  WatchLine event;
  return frame_reader_.read_frame(frame, event) ? take_event(event) : end_with(frame_reader_.problem());
}

bool Reflector::take_event(const WatchLine& event) {
  if (event.type == WatchLineType::kError) {
    has_ended_with_error_ = true;
    error_ = read_api_status(event.object);
    return false;
  }
  has_events_ = true;
  problem({});
  if (!reader_.read_version(event.object, version_)) return end_with(reader_.problem());
  if (event.type != WatchLineType::kBookmark) {
    if (is_synced_) {
      parts_.objects.apply(event.type, event.object, version_);
      resource_version_ = std::to_string(version_.resource_version);
    } else {
      parts_.objects.add_listed(event.object, &version_);
    }
    return true;
  }
  if (is_synced_ || version_.ends_initial_events) resource_version_ = std::to_string(version_.resource_version);
  if (!is_synced_ && version_.ends_initial_events) end_listing();
  return true;
}

void Reflector::end_listing() {
  is_synced_ = true;
  lists_newest_ = false;
  listing_ = options_.streams_lists ? Listing::kStream : Listing::kPages;
  parts_.objects.end_list();
  problem({});
}

void Reflector::take_end(const HttpResponse& response, bool is_listing) {
  if (!is_listing || is_synced_) return end_watch(response);
  if (has_ended_with_error_) return fail_listing(error_);
  if (response.status == 200) return fail_listing({0, "", "the list ended before it was complete", 0});
  fail_listing(status_of(response));
}

/// 8.3: a refused connection or 429 is tried again; an old or a too large version, with the newest one; what cannot be
/// given in protobuf, in JSON; anything else without the stream.
void Reflector::fail_listing(const ApiStatus& status) {
  const bool is_stream = listing_ == Listing::kStream;
  if (status.code == kNotAcceptable && options_.accept != kJsonType) {
    options_.accept = kJsonType;
    parts_.objects.note_json_only();
    return list_again();
  }
  if (status.code == kGone || is_too_large(status)) {
    counts_.expired += status.code == kGone ? 1 : 0;
    const bool is_new = !lists_newest_;
    lists_newest_ = true;
    if (is_new && is_stream) return list_again();
  } else if (is_stream && status.code != 0 && status.code != kTooManyRequests) {
    listing_ = Listing::kPages;
    return list_again();
  }
  if (!is_stream && options_.streams_lists) listing_ = Listing::kStream;
  problem(fmt::format("cannot list {}: {}", parts_.resource.name, text_of(status)));
  retry(&Reflector::list_again, status.retry_after_s * 1'000'000);
}

void Reflector::end_watch(const HttpResponse& response) {
  const bool was_short = parts_.clock.now_us() - opened_us_ < kShortWatchUs && !has_events_;
  ApiStatus status = status_of(response);
  if (has_ended_with_error_) status = error_;
  if (status.code == kGone) return expire();
  if (has_ended_with_error_) {
    problem(fmt::format("cannot watch {}: {}", parts_.resource.name, text_of(status)));
    return retry(&Reflector::list_again);
  }
  const bool was_open = !response.was_not_sent && (status.code == 0 || status.code == 200);
  if (was_open && !was_short) return open_watch();
  if (status.code == 200) status = {0, "", "the watch ended within a second and brought nothing", 0};
  problem(fmt::format("cannot watch {}: {}", parts_.resource.name, text_of(status)));
  const bool keeps_version = response.was_not_sent || status.code == kTooManyRequests;
  retry(keeps_version ? &Reflector::open_watch : &Reflector::list_again, status.retry_after_s * 1'000'000);
}

/// The server has forgotten what came behind the version that is known.
void Reflector::expire() {
  ++counts_.expired;
  list_again();
}

void Reflector::request_page() {
  std::string query = fmt::format("limit={}", options_.page_objects_max);
  if (!continue_.empty()) query += "&continue=" + url_escaped(continue_);
  HttpRequest request;
  request.path = path_with(query);
  request.accept = options_.accept;
  request.answer_bytes_max = kPageBytesMax;
  request.timeout_us = 60'000'000;
  parts_.client.start(std::move(request),
                      [self = shared_from_this()](HttpResponse response) { self->take_page(std::move(response)); });
}

void Reflector::take_page(HttpResponse response) {
  if (response.status != 200) return fail_listing(status_of(response));
  response.body.reserve(response.body.size() + kSlicePaddingBytes);
  if (is_protobuf(response.body)) {
    if (!read_protobuf_page(response.body)) {
      const std::string& problem = frame_reader_.problem();
      return fail_listing({0, "", problem.empty() ? "the list has no resourceVersion" : problem, 0});
    }
  } else if (!read_page(response.body)) {
    return fail_listing({0, "", "the answer is no list", 0});
  }
  if (!continue_.empty()) return request_page();
  end_listing();
  open_watch();
}

bool Reflector::read_protobuf_page(std::string_view body) {
  ProtoListMeta meta;
  if (!frame_reader_.read_list(body, meta, [this](std::string_view json) { parts_.objects.add_listed(json, nullptr); }))
    return false;
  if (meta.resource_version.empty()) return false;
  continue_ = meta.next_page;
  resource_version_ = meta.resource_version;
  return true;
}

bool Reflector::read_page(std::string_view text) {
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object fields;
  if (parser.iterate(text.data(), text.size(), text.size() + kSlicePaddingBytes).get(document)) return false;
  if (document.get_object().get(fields)) return false;
  continue_.clear();
  bool has_version = false;
  for (auto field : fields) {
    std::string_view key;
    if (field.unescaped_key().get(key)) return false;
    if (key == "metadata") {
      simdjson::ondemand::object metadata;
      if (field.value().get_object().get(metadata)) return false;
      for (auto part : metadata) {
        std::string_view name;
        std::string_view value;
        if (part.unescaped_key().get(name)) return false;
        if (part.value().get_string().get(value)) continue;
        if (name == "resourceVersion") resource_version_ = value, has_version = true;
        if (name == "continue") continue_ = value;
      }
    } else if (key == "items") {
      simdjson::ondemand::array items;
      if (field.value().get_array().get(items)) continue;  // null
      for (auto item : items) {
        simdjson::ondemand::object object;
        std::string_view json;
        if (item.get_object().get(object) || object.raw_json().get(json)) return false;
        parts_.objects.add_listed(json, nullptr);
      }
    }
  }
  return has_version;
}

void Reflector::problem(const std::string& text) {
  if (text == problem_) return;
  problem_ = text;
  parts_.objects.note_problem(text);
}

/// @param at_least_us  what the server asked for
void Reflector::retry(void (Reflector::*step)(), std::int64_t at_least_us) {
  const std::int64_t now_us = parts_.clock.now_us();
  if (backoff_us_ == 0 || now_us - failed_us_ > kBackoffForgottenUs) backoff_us_ = kFirstBackoffUs;
  failed_us_ = now_us;
  const double jitter = std::uniform_real_distribution<double>(1.0, 2.0)(random_);
  const auto wait_us = static_cast<std::int64_t>(static_cast<double>(backoff_us_) * jitter);
  backoff_us_ = std::min(backoff_us_ * 2, kLongestBackoffUs);
  parts_.timers.after(std::max(wait_us, at_least_us), [self = shared_from_this(), step] { ((*self).*step)(); });
}

}  // namespace berth
