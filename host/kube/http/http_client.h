// SPDX-License-Identifier: Apache-2.0
#pragma once

// Requests to one API server. Nothing waits: whoever asks is called back with the answer.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

struct HttpRequest {
  std::string method = "GET";
  std::string path;  ///< begins with "/"; with its query, escaped
  std::string body = {};
  std::string content_type = {};  ///< of the body; empty: no body
  std::string accept = "application/json";
  std::int64_t timeout_us = 0;                          ///< of all of it; 0: none
  std::size_t answer_bytes_max = std::size_t{4} << 20;  ///< a longer answer is a problem; streams have no limit
};

struct HttpResponse {
  int status = 0;  ///< 0: there was no answer
  std::string body = {};
  std::optional<std::int64_t> retry_after_s = {};  ///< header Retry-After, where it is a number
  std::string problem = {};                        ///< why there was no answer; empty where there is one
  bool was_not_sent = false;                       ///< of a problem: the server has surely not seen the request

  bool is_success() const { return status >= 200 && status < 300; }
};

/// Is told of an answer as it comes, on the client's thread.
class HttpStreamReader {
 public:
  virtual ~HttpStreamReader() = default;
  /// A piece of the body of an answer of status 200. @return false to end the stream
  virtual bool on_bytes(std::string_view bytes) = 0;
  /// The stream is over, and the reader is not called again. @param response  body: of an answer of another status than
  /// 200, at most 1 MiB of it
  virtual void on_end(HttpResponse response) = 0;
};

/// Any thread may call. Callbacks come on one thread of the client, one at a time; they may call the client, must not
/// block, and must not throw. Destroying the client ends what is under way without a callback.
class HttpClient {
 public:
  using Done = std::function<void(HttpResponse)>;
  using StreamId = std::uint64_t;

  virtual ~HttpClient() = default;
  virtual void start(HttpRequest request, Done done) = 0;
  virtual StreamId open_stream(HttpRequest request, std::shared_ptr<HttpStreamReader> reader) = 0;
  /// Ends a stream without on_end(); nothing where it is over already.
  virtual void close_stream(StreamId id) = 0;
};

/// Waits for the answer. Not on the client's thread.
HttpResponse call(HttpClient& client, HttpRequest request);

}  // namespace berth
