// SPDX-License-Identifier: Apache-2.0
#include "host/kube/http/curl_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <new>
#include <string_view>
#include <system_error>

namespace berth {
namespace {

constexpr std::size_t kRefusedBytesMax = std::size_t{1} << 20;  ///< of a stream's answer that is not 200

void append_header(HeaderList& list, const std::string& header) {
  curl_slist* const longer = curl_slist_append(list.get(), header.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  if (list == nullptr) list.reset(longer);  // the first one stays the list's head
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

std::string port_of(const UrlParts& url) {
  const std::size_t colon = url.authority.rfind(':');
  const std::size_t bracket = url.authority.rfind(']');
  const bool has_port = colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  if (has_port) return url.authority.substr(colon + 1);
  return url.scheme == "http" ? "80" : "443";
}

std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  const std::string_view line(bytes, size * count);
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    self.response.retry_after_s.reset();  // of an answer before: 100 Continue, or a proxy's
  } else if (colon != std::string_view::npos && equal_ignoring_case(line.substr(0, colon), "retry-after")) {
    const std::string_view value = trimmed(line.substr(colon + 1));
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error == std::errc() && end == value.data() + value.size() && seconds >= 0)
      self.response.retry_after_s = seconds;
  }
  return line.size();
}

std::size_t take_body(Transfer& self, std::string_view piece) {
  if (self.response.status == 0) {
    long status = 0;
    curl_easy_getinfo(self.easy, CURLINFO_RESPONSE_CODE, &status);
    self.response.status = static_cast<int>(status);
  }
  if (self.is_closed) return 0;
  if (self.reader != nullptr && self.response.status == 200) {
    self.ends_here = !self.reader->on_bytes(piece);
    return self.ends_here ? 0 : piece.size();
  }
  if (self.reader != nullptr) {
    self.response.body.append(piece.substr(0, kRefusedBytesMax - self.response.body.size()));
    return piece.size();
  }
  if (piece.size() > self.request.answer_bytes_max - self.response.body.size()) {
    self.own_problem = fmt::format("the answer is longer than {} bytes", self.request.answer_bytes_max);
    return 0;
  }
  self.response.body.append(piece);
  return piece.size();
}

/// No exception may pass through libcurl.
std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  try {
    return take_body(self, {bytes, size * count});
  } catch (const std::bad_alloc&) {
    self.own_problem = "out of memory";
    return 0;
  }
}

void set_tls(Transfer& transfer, const ServerAccess& access) {
  const auto as_blob = [](const std::string& pem) {
    // libcurl copies nothing: access and identity live as long as the transfer.
    return curl_blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
  };
  CURL* const easy = transfer.easy;
  if (access.skips_verification) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  } else if (!access.ca_pem.empty()) {
    const curl_blob ca = as_blob(access.ca_pem);
    curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &ca);
  }
  if (transfer.identity.certificate_pem.empty()) return;
  const curl_blob certificate = as_blob(transfer.identity.certificate_pem);
  const curl_blob key = as_blob(transfer.identity.key_pem);
  curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &certificate);
  curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key);
}

void set_method(Transfer& transfer) {
  const HttpRequest& request = transfer.request;
  CURL* const easy = transfer.easy;
  const bool has_body = !request.content_type.empty();
  if (has_body) {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    append_header(transfer.headers, "Content-Type: " + request.content_type);
    append_header(transfer.headers, "Expect:");  // do not wait for 100 Continue
  }
  if (request.method != (has_body ? "POST" : "GET"))
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  append_header(transfer.headers, "Accept: " + request.accept);
  if (!transfer.identity.authorization.empty())
    append_header(transfer.headers, "Authorization: " + transfer.identity.authorization);
}

}  // namespace

UrlParts parts_of(const std::string& url) {
  const std::size_t scheme_end = url.find("://");
  const std::size_t begin = scheme_end == std::string::npos ? 0 : scheme_end + 3;
  const std::size_t slash = std::min(url.find('/', begin), url.size());
  return {scheme_end == std::string::npos ? "https" : url.substr(0, scheme_end), url.substr(begin, slash - begin),
          url.substr(slash)};
}

/// The problems of a connection that came to nothing: no byte of the request has left.
bool is_before_sending(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_URL_MALFORMAT:
      return true;
    default:
      return false;
  }
}

void set_up(Transfer& transfer, const CurlClientOptions& options, const UrlParts& url) {
  CURL* const easy = transfer.easy;
  const bool has_server_name = !options.access.server_name.empty();
  const std::string host = has_server_name ? options.access.server_name + ":" + port_of(url) : url.authority;
  curl_easy_setopt(easy, CURLOPT_URL, (url.scheme + "://" + host + url.base + transfer.request.path).c_str());
  if (has_server_name) {
    append_header(
        transfer.connect_to,
        fmt::format("{}:{}", host,
                    url.authority.find(':') == std::string::npos ? url.authority + ":" + port_of(url) : url.authority));
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer.connect_to.get());
    append_header(transfer.headers, "Host: " + url.authority);
  }
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, options.shares_connections ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 15L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_us / 1000));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(transfer.request.timeout_us / 1000));
  if (transfer.reader != nullptr && options.silent_stream_us > 0) {
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.silent_stream_us / 1'000'000));
  }
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  if (!options.access.proxy_url.empty()) curl_easy_setopt(easy, CURLOPT_PROXY, options.access.proxy_url.c_str());
  set_tls(transfer, options.access);
  set_method(transfer);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
}

}  // namespace berth
