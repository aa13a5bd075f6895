// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/framework/clock.h"
#include "host/serving/guard.h"
#include "host/serving/route.h"
#include "host/serving/serving_certificate.h"
#include "host/serving/tls_stream.h"

namespace berth {

struct ServerOptions {
  std::string address = "0.0.0.0";  ///< "0.0.0.0" and "::": all addresses of both families, as upstream
  int port = 10259;                 ///< 0: any free one, see port()
  bool shares_port = false;         ///< --permit-port-sharing
  TlsOptions tls;
  ServingLimits limits;
};

/// Serves routes over TLS (HTTP/1.1). Every path, also one without a route, asks the guard first.
class HttpsServer {
 public:
  /// @param guard, clock  outlive this. @param log  may be called until the end of stop()
  HttpsServer(ServerOptions options, std::vector<Route> routes, AccessGuard& guard, const Clock& clock, ServingLog log);
  ~HttpsServer();  ///< stop()
  HttpsServer(const HttpsServer&) = delete;
  HttpsServer& operator=(const HttpsServer&) = delete;

  /// Listens. Once.
  /// @throws std::runtime_error naming the address that cannot be had, or the certificate that cannot be used
  void start();
  int port() const;
  /// No new connections; requests that are answered now end, within the limits. Then nothing runs any more.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth
