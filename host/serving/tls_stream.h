// SPDX-License-Identifier: Apache-2.0
#pragma once

// One connection over TLS, with a limit on all that a client may make the server wait for or keep.

#include <httplib.h>
#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "host/serving/openssl_owner.h"

namespace berth {

struct ServingLimits {
  std::size_t threads = 32;              ///< connections served at once
  std::size_t waiting_connections = 64;  ///< accepted beyond those; more are closed at once
  std::size_t head_bytes = 65'536;       ///< request line and headers together
  std::size_t header_count = 100;
  std::size_t body_bytes = 65'536;
  std::int64_t handshake_us = 5'000'000;
  std::int64_t read_us = 5'000'000;    ///< from a request's first byte to its last
  std::int64_t write_us = 20'000'000;  ///< of an answer
  std::int64_t idle_us = 10'000'000;   ///< between two requests of a connection; none where others wait for a thread
};

/// Why a request's head cannot be read.
enum class HeadProblem : std::uint8_t { kNone, kClosed, kTooSlow, kTooLarge, kMalformed };

/// Used by one thread. Speaks on a socket that does not block; closing it is the owner's.
class TlsStream : public httplib::Stream {
 public:
  /// @param limits  outlive this
  TlsStream(int socket, std::shared_ptr<SSL_CTX> context, const ServingLimits& limits);

  /// @return false when there is none within the limit
  bool handshake();
  /// Waits for the first byte of a request. @param gives_up  asked every 50 ms
  bool wait_for_request(std::int64_t limit_us, const std::function<bool()>& gives_up);
  /// Reads a request's head as a whole and hands a checked one to read(): without the headers that the library reads by
  /// regular expression (Range) or answers by itself (Expect), and never with two ways to tell the body's length.
  HeadProblem read_head();
  bool has_body() const { return has_body_; }
  void start_answer();  ///< from here on, the limit of an answer holds
  void close();         ///< says so to the client, without waiting

  SSL* ssl() const { return ssl_.get(); }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* data, std::size_t size) override;
  ssize_t write(const char* data, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  /// Not the socket: the library refuses those that select() could not take, and nothing here selects.
  socket_t socket() const override { return -1; }

 private:
  enum class Wait : std::uint8_t { kReady, kTooLate };
  Wait wait(int ssl_error) const;
  ssize_t receive(char* data, std::size_t size);  ///< @return 0 at the end, -1 for an error or when it is too late
  HeadProblem check_head(std::size_t end);

  int socket_;
  std::shared_ptr<SSL_CTX> context_;
  const ServingLimits& limits_;
  SslOwner ssl_;
  std::int64_t deadline_us_ = 0;
  std::string received_;  ///< not handed out yet: a checked head, then what came behind it
  std::size_t handed_out_ = 0;
  bool has_body_ = false;
  bool is_broken_ = false;
};

}  // namespace berth
