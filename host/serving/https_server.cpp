// SPDX-License-Identifier: Apache-2.0
#include "host/serving/https_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <httplib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "host/serving/connection_pool.h"
#include "host/serving/foreign_text.h"

namespace berth {
namespace {

constexpr std::string_view kNotFound = "404 page not found\n";

/// The request that the calling thread serves.
thread_local TlsStream* current_stream = nullptr;
/// Of a request whose body is read now.
thread_local ServedUser current_user;

RequestIdentity identity_of(const httplib::Request& request, SSL* ssl) {
  RequestIdentity identity;
  for (const auto& [name, value] : request.headers) identity.headers.emplace(name, value);
  if (X509* const leaf = SSL_get0_peer_certificate(ssl)) {
    X509_up_ref(leaf);
    identity.certificates.emplace_back(leaf);
    const STACK_OF(X509)* const chain = SSL_get_peer_cert_chain(ssl);
    for (int i = 0; chain != nullptr && i < sk_X509_num(chain); ++i) {
      X509* const more = sk_X509_value(chain, i);
      X509_up_ref(more);
      identity.certificates.emplace_back(more);
    }
  }
  return identity;
}

ServedRequest served(const httplib::Request& request) {
  return {request.method, request.path, {request.params.begin(), request.params.end()}, request.body, {}};
}

void write_answer(const ServedAnswer& answer, httplib::Response& response) {
  response.status = answer.status;
  response.set_header("Cache-Control", "no-cache, private");
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_content(answer.body, answer.content_type);
}

ServedAnswer plain(int status, std::string_view text) { return {.status = status, .body = std::string(text)}; }

}  // namespace

bool HeaderNameLess::operator()(std::string_view a, std::string_view b) const {
  const int order = ::strncasecmp(a.data(), b.data(), std::min(a.size(), b.size()));
  return order != 0 ? order < 0 : a.size() < b.size();
}

class HttpsServer::Impl : public httplib::Server {
 public:
  Impl(ServerOptions options, std::vector<Route> routes, AccessGuard& guard, const Clock& clock, ServingLog log)
      : options_(std::move(options)), guard_(guard), log_(std::move(log)), certificate_(options_.tls, clock, log_) {
    for (Route& route : routes) routes_.emplace(route.path, std::move(route));
    new_task_queue = [this] {
      auto* const pool = new ConnectionPool(options_.limits.threads, options_.limits.waiting_connections);
      pool_ = pool;
      return pool;  // the library's
    };
    set_payload_max_length(options_.limits.body_bytes);
    set_tcp_nodelay(true);
    set_socket_options([shares = options_.shares_port](int socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
      if (shares) ::setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
    });
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return before_body(request, response);
    });
    for (const auto& [path, route] : routes_) add_body_route(path, route);
  }

  void start() {
    const bool is_any = options_.address == "0.0.0.0" || options_.address == "::";
    if (!bind_to(is_any ? "::" : options_.address) && !(is_any && bind_to("0.0.0.0"))) {
      const std::string why = std::error_code(errno, std::generic_category()).message();
      throw std::runtime_error(
          fmt::format("cannot listen on {} port {}: {}", foreign_text(options_.address), options_.port, why));
    }
    ::listen(svr_sock_, SOMAXCONN);  // the library asks for five
    thread_ = std::thread([this] { listen_after_bind(); });
    while (!is_running()) std::this_thread::yield();
  }

  int port() const { return port_; }

  void stop_all() {
    stops_ = true;
    if (!thread_.joinable()) return;
    stop();
    thread_.join();
  }

 private:
  bool bind_to(const std::string& address) {
    errno = 0;
    if (options_.port != 0) {
      port_ = options_.port;
      return bind_to_port(address, options_.port);
    }
    port_ = bind_to_any_port(address);
    return port_ > 0;
  }

  /// Instead of the library's: with limits on every wait, and a certificate that may change.
  bool process_and_close_socket(socket_t socket) override {
    try {
      if (!ConnectionPool::is_refused()) serve(socket);
    } catch (const std::exception& error) {
      log_(fmt::format("a connection was given up: {}", foreign_text(error.what())));
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return false;
  }

  void serve(socket_t socket) {
    ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL, 0) | O_NONBLOCK);
    TlsStream stream(socket, certificate_.current(), options_.limits);
    if (!stream.handshake()) return;
    current_stream = &stream;
    while (serve_request(stream)) {
    }
    current_stream = nullptr;
    stream.close();
  }

  /// @return whether another one may follow on the connection
  bool serve_request(TlsStream& stream) {
    const auto gives_up = [this] { return stops_.load() || pool_.load()->others_wait(); };
    if (!stream.wait_for_request(options_.limits.idle_us, gives_up)) return false;
    const HeadProblem problem = stream.read_head();
    if (problem != HeadProblem::kNone) {
      refuse_head(stream, problem);
      return false;
    }
    const bool closes = stops_.load() || stream.has_body();
    bool is_closed = false;
    const bool is_done = process_request(stream, closes, is_closed, [](httplib::Request&) {});
    return is_done && !closes && !is_closed;
  }

  static void refuse_head(TlsStream& stream, HeadProblem problem) {
    if (problem == HeadProblem::kClosed) return;
    const std::string_view status = problem == HeadProblem::kTooSlow    ? "408 Request Timeout"
                                    : problem == HeadProblem::kTooLarge ? "431 Request Header Fields Too Large"
                                                                        : "400 Bad Request";
    stream.start_answer();
    const std::string text = fmt::format(
        "HTTP/1.1 {0}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: "
        "{1}\r\n\r\n{0}",
        status, status.size());
    stream.write(text.data(), text.size());
  }

  HandlerResponse before_body(const httplib::Request& request, httplib::Response& response) {
    ServedRequest asked = served(request);
    std::optional<ServedAnswer> answer;
    if (request.is_multipart_form_data()) {
      answer = plain(415, "415 unsupported media type\n");
    } else {
      answer = answered(asked.path, [&] { return guard_.check(identity_of(request, current_stream->ssl()), asked); });
    }
    if (!answer) {
      const auto found = routes_.find(asked.path);
      if (found == routes_.end()) {
        answer = plain(404, kNotFound);
      } else if (request.method == "GET" || request.method == "HEAD") {
        answer = answered(asked.path, [&] { return std::optional(found->second.handler(asked)); });
      } else if (request.method != found->second.body_method) {
        answer = plain(405, "405 method not allowed\n");
      } else {
        current_user = std::move(asked.user);
        return HandlerResponse::Unhandled;  // the library reads the body and calls the route
      }
    }
    current_stream->start_answer();
    write_answer(*answer, response);
    return HandlerResponse::Handled;
  }

  /// Paths hold no character that a regular expression reads another way but ".", which before_body() has compared.
  void add_body_route(const std::string& path, const Route& route) {
    if (route.body_method.empty()) return;
    const auto handle = [this, &route](const httplib::Request& request, httplib::Response& response) {
      ServedRequest asked = served(request);
      asked.user = std::move(current_user);
      std::optional<ServedAnswer> answer = answered(asked.path, [&] { return std::optional(route.handler(asked)); });
      current_stream->start_answer();
      write_answer(*answer, response);
    };
    if (route.body_method == "PUT") {
      Put(path, handle);
    } else {
      Post(path, handle);
    }
  }

  /// What `ask` answers; 500 where it throws, with the reason in the log alone.
  std::optional<ServedAnswer> answered(const std::string& path,
                                       const std::function<std::optional<ServedAnswer>()>& ask) const {
    try {
      return ask();
    } catch (const std::exception& error) {
      log_(fmt::format("{} could not be answered: {}", foreign_text(path), foreign_text(error.what())));
      return plain(500, "500 internal server error\n");
    }
  }

  ServerOptions options_;
  AccessGuard& guard_;
  ServingLog log_;
  ServingCertificate certificate_;
  std::map<std::string, Route, std::less<>> routes_;
  std::atomic<ConnectionPool*> pool_{nullptr};
  std::atomic<bool> stops_{false};
  int port_ = 0;
  std::thread thread_;
};

HttpsServer::HttpsServer(ServerOptions options, std::vector<Route> routes, AccessGuard& guard, const Clock& clock,
                         ServingLog log)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(routes), guard, clock, std::move(log))) {}

HttpsServer::~HttpsServer() { stop(); }

void HttpsServer::start() { impl_->start(); }
int HttpsServer::port() const { return impl_->port(); }
void HttpsServer::stop() { impl_->stop_all(); }

}  // namespace berth
