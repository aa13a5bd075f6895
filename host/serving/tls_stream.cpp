// SPDX-License-Identifier: Apache-2.0
#include "host/serving/tls_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <climits>
#include <functional>
#include <string_view>
#include <utility>

namespace berth {
namespace {

std::int64_t steady_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

bool is_token(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

/// Printable, with blanks inside: nothing that ends a line or that a terminal acts on.
bool is_header_value(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) { return c == '\t' || (c >= ' ' && c != '\x7f'); });
}

bool is_request_line(std::string_view line) {
  const std::size_t method_end = line.find(' ');
  const std::size_t target_end = line.rfind(' ');
  if (method_end == line.npos || target_end <= method_end) return false;
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  const std::string_view version = line.substr(target_end + 1);
  const bool has_plain_target = std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  return is_token(line.substr(0, method_end)) && target.starts_with('/') && has_plain_target &&
         (version == "HTTP/1.1" || version == "HTTP/1.0");
}

void address_of(const sockaddr_storage& address, std::string& ip, int& port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    port = ntohs(v6.sin6_port);
  }
  ip = text.data();
}

}  // namespace

TlsStream::TlsStream(int socket, std::shared_ptr<SSL_CTX> context, const ServingLimits& limits)
    : socket_(socket), context_(std::move(context)), limits_(limits), ssl_(SSL_new(context_.get())) {
  if (!ssl_ || SSL_set_fd(ssl_.get(), socket) != 1) is_broken_ = true;
}

TlsStream::Wait TlsStream::wait(int ssl_error) const {
  const std::int64_t left_us = deadline_us_ - steady_us();
  if (left_us <= 0) return Wait::kTooLate;
  pollfd asked{socket_, static_cast<short>(ssl_error == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN), 0};
  ::poll(&asked, 1, static_cast<int>(std::min<std::int64_t>(left_us / 1000 + 1, INT_MAX)));
  return steady_us() < deadline_us_ ? Wait::kReady : Wait::kTooLate;
}

bool TlsStream::handshake() {
  if (is_broken_) return false;
  deadline_us_ = steady_us() + limits_.handshake_us;
  for (;;) {
    ERR_clear_error();
    const int result = SSL_accept(ssl_.get());
    if (result == 1) return true;
    const int error = SSL_get_error(ssl_.get(), result);
    const bool may_go_on = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    if (may_go_on && wait(error) == Wait::kReady) continue;
    is_broken_ = true;
    return false;
  }
}

bool TlsStream::wait_for_request(std::int64_t limit_us, const std::function<bool()>& gives_up) {
  constexpr int kAskEveryMs = 50;
  if (handed_out_ < received_.size() || SSL_pending(ssl_.get()) > 0) return true;
  const std::int64_t end_us = steady_us() + limit_us;
  do {
    pollfd asked{socket_, POLLIN, 0};
    if (::poll(&asked, 1, kAskEveryMs) > 0) return true;
    if (gives_up()) return false;
  } while (steady_us() < end_us);
  return false;
}

ssize_t TlsStream::receive(char* data, std::size_t size) {
  while (!is_broken_) {
    ERR_clear_error();
    const int count = SSL_read(ssl_.get(), data, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
    if (count > 0) return count;
    const int error = SSL_get_error(ssl_.get(), count);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    const bool may_go_on = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    if (!may_go_on) {
      is_broken_ = true;
    } else if (wait(error) == Wait::kTooLate) {
      return -1;
    }
  }
  return -1;
}

HeadProblem TlsStream::read_head() {
  deadline_us_ = steady_us() + limits_.read_us;
  received_.erase(0, handed_out_);
  handed_out_ = 0;
  std::size_t looked = 0;
  for (;;) {
    const std::size_t end = received_.find("\r\n\r\n", looked);
    if (end != received_.npos && end + 4 <= limits_.head_bytes) return check_head(end + 4);
    if (received_.size() >= limits_.head_bytes) return HeadProblem::kTooLarge;
    looked = received_.size() < 3 ? 0 : received_.size() - 3;
    std::array<char, 4096> piece{};
    const ssize_t count = receive(piece.data(), piece.size());
    if (count <= 0) {
      const bool is_late = count < 0 && !is_broken_ && !received_.empty();
      return is_late ? HeadProblem::kTooSlow : HeadProblem::kClosed;
    }
    received_.append(piece.data(), static_cast<std::size_t>(count));
  }
}

HeadProblem TlsStream::check_head(std::size_t end) {
  const std::string head = received_.substr(0, end);
  std::string kept;
  std::size_t headers = 0;
  std::size_t lengths = 0;
  bool is_chunked = false;
  for (std::size_t at = 0; at + 2 < head.size();) {
    const std::size_t line_end = head.find("\r\n", at);
    const std::string_view line = std::string_view(head).substr(at, line_end - at);
    if (at == 0) {
      if (!is_request_line(line)) return HeadProblem::kMalformed;
      kept = std::string(line) + "\r\n";
    } else {
      if (++headers > limits_.header_count) return HeadProblem::kTooLarge;
      const std::size_t colon = line.find(':');
      const std::string_view name = line.substr(0, colon);
      if (colon == line.npos || !is_token(name) || !is_header_value(line.substr(colon + 1)))
        return HeadProblem::kMalformed;
      if (equals_ignoring_case(name, "Content-Length")) ++lengths;
      is_chunked = is_chunked || equals_ignoring_case(name, "Transfer-Encoding");
      if (!equals_ignoring_case(name, "Range") && !equals_ignoring_case(name, "Expect"))
        kept += std::string(line) + "\r\n";
    }
    at = line_end + 2;
  }
  if (lengths > 1 || (lengths == 1 && is_chunked)) return HeadProblem::kMalformed;
  has_body_ = lengths > 0 || is_chunked;
  kept += "\r\n";
  received_.replace(0, end, kept);
  return HeadProblem::kNone;
}

void TlsStream::start_answer() { deadline_us_ = steady_us() + limits_.write_us; }

ssize_t TlsStream::read(char* data, std::size_t size) {
  if (handed_out_ == received_.size()) return receive(data, size);
  const std::size_t count = std::min(size, received_.size() - handed_out_);
  received_.copy(data, count, handed_out_);
  handed_out_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t TlsStream::write(const char* data, std::size_t size) {
  // All of it: the library takes a part for the whole.
  std::size_t written = 0;
  while (!is_broken_ && written < size) {
    ERR_clear_error();
    const int count =
        SSL_write(ssl_.get(), data + written, static_cast<int>(std::min<std::size_t>(size - written, INT_MAX)));
    if (count > 0) {
      written += static_cast<std::size_t>(count);
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), count);
    const bool may_go_on = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    if (!may_go_on || wait(error) == Wait::kTooLate) is_broken_ = true;
  }
  return written == size ? static_cast<ssize_t>(size) : -1;
}

void TlsStream::close() {
  if (!is_broken_) SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

void TlsStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) address_of(address, ip, port);
}

void TlsStream::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0) address_of(address, ip, port);
}

}  // namespace berth
